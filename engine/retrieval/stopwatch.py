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
