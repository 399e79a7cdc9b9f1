"""Wall time by stage."""

from __future__ import annotations

import time


class Stopwatch:
    """Collects the seconds that pass between laps, by the lap's name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._since = time.perf_counter()

    def lap(self, name: str) -> None:
        """Count the time since the last lap as `name`."""
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._since
        self._since = now

    def move(self, source: str, target: str, seconds: float) -> None:
        """Count some of the time of one lap as another's."""
        moved = min(max(seconds, 0.0), self.seconds.get(source, 0.0))
        self.seconds[source] = self.seconds.get(source, 0.0) - moved
        self.seconds[target] = self.seconds.get(target, 0.0) + moved
