"""The SQL of the stage, one file a statement or a group of them that belong together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import duckdb


@cache
def query(name: str) -> str:
    """Return the text of a file of `queries`, named by folder and file: ``reading/take``."""
    return resources.files(__name__.rpartition(".")[0]).joinpath(f"queries/{name}.sql").read_text(encoding="utf-8")


def set_variables(connection: duckdb.DuckDBPyConnection, values: Mapping[str, Any]) -> None:
    """Set variables of a connection, which are not those of its cursors."""
    for name, value in values.items():
        connection.execute(f"SET VARIABLE {name} = ?", [value])
