"""Run the hostile cases alone: `python -m tests.hostile.run`, with pytest's options behind it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.exit(pytest.main([str(Path(__file__).parent), "-v", *sys.argv[1:]]))
