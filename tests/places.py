"""Where the project is, and the real data beside it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "tests" / "kept"
DATA = ROOT.parent / "shared" / "data"
"""Not a part of the project: what needs it is skipped where it is not there."""
