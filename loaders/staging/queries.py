"""The SQL of the stage, one file a statement or a group of them that belong together."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def query(name: str) -> str:
    """Return the text of ``<name>.sql``."""
    return resources.files(__name__.rpartition(".")[0]).joinpath(f"{name}.sql").read_text(encoding="utf-8")
