"""Where the project is, and the environment of a command without what is the user's."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]
OF_THE_USER = ("LODESTAR_", "NEO4J_", "OPENAI_")


def clean_environment(**given: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(OF_THE_USER)} | given
