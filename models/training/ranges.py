"""Ranges of options: a value outside is refused before anything is trained."""

from __future__ import annotations

from typing import Any


def check_ranges(options: Any, **ranges: tuple[float, float]) -> None:
    """Raise `ValueError` for the first option outside of its range, (least, most)."""
    for name, (least, most) in ranges.items():
        value = getattr(options, name)
        if not least <= value <= most:
            limit = f"{least:g} to {most:g}" if most < float("inf") else f"at least {least:g}"
            raise ValueError(f"expected {limit} for {name}, found {value:g}")
