"""Run parsers of line formats: one SQL file each, a SELECT over the relation `lines` (see `lines.LINES`).

A parser's header is the leading comment of its file::

    -- What it reads, in a line or more.
    -- params: separator :: VARCHAR, columns :: INTEGER[]

It returns the columns of `rows.ROWS`. Parameters are SQL variables of the connection. Macros that several formats share
are in `terms.sql` and `faults.sql`. A parser's text is executed alone or inside a statement, on the connection that was
prepared for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_PARAMETER = re.compile(r"(\w+) :: (.+?)(?=, \w+ ::|$)")
_PARAMS = "-- params:"
_MACROS = ("terms", "faults")


def prepare_parser(connection: duckdb.DuckDBPyConnection, name: str, parameters: Mapping[str, object]) -> str:
    """Return the text of a parser, for which macros are defined and parameters are set on a connection."""
    text = _text(name)
    for macros in _MACROS:
        connection.execute(_text(macros))
    for line in text.split("\n"):
        for parameter, type_ in _PARAMETER.findall(line.removeprefix(_PARAMS)) if line.startswith(_PARAMS) else ():
            value = {"value": parameters[parameter]}
            connection.execute(f"SET VARIABLE {parameter} = CAST($value AS {type_})", value)
    return text


def _text(name: str) -> str:
    return resources.files(__name__).joinpath(f"{name}.sql").read_text(encoding="utf-8")
