"""Hostile cases run the command line, as those of tests/e2e do."""

from __future__ import annotations

from tests.e2e.conftest import Lodestar, Ran, lodestar

__all__ = ["Lodestar", "Ran", "lodestar"]
