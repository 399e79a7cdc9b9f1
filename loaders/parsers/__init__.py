"""Run parsers of line formats: one SQL file each, a SELECT over the relation `lines` (see `lines.LINES`).

A parser's header is the leading comment of its file::

    -- What it reads, in a line or more.
    -- params: separator :: VARCHAR, columns :: INTEGER[]

It returns the columns of `rows.ROWS`. Parameters are SQL variables of the connection. Macros that several formats share
are in `terms.sql` and `faults.sql`. To run a parser, `prepare` the connection, then execute `text`, alone or inside a
statement, on the same connection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_PARAMETER = re.compile(r"(\w+) :: (.+?)(?=, \w+ ::|$)")
_USED = re.compile(r"getvariable\('(\w+)'\)")
_PARAMS = "-- params:"
_MACROS = ("terms", "faults")


class ParserError(Exception):
    """A parser and its parameters do not match: a bug of Lodestar, not the user's."""


@dataclass(frozen=True, slots=True)
class ParserScript:
    """One SQL file of this folder."""

    name: str
    text: str
    parameters: Mapping[str, str]
    """The SQL types, by name."""

    def prepare(self, connection: duckdb.DuckDBPyConnection, parameters: Mapping[str, object]) -> None:
        """Define the macros and set the parameters on a connection; all must be given, None is allowed."""
        if set(parameters) != set(self.parameters):
            raise ParserError(f"{self.name}.sql: expected {sorted(self.parameters)}, got {sorted(parameters)}")
        for macros in _MACROS:
            connection.execute(_text(macros))
        for name, value in parameters.items():
            connection.execute(f"SET VARIABLE {name} = CAST($value AS {self.parameters[name]})", {"value": value})


@cache
def read_parser(name: str) -> ParserScript:
    """Return a parser by its name; raise `ParserError` if its header and its text differ."""
    text = _text(name)
    header = [line for line in text.split("\n") if line.startswith(_PARAMS)]
    declared = dict(pair for line in header for pair in _PARAMETER.findall(line.removeprefix(_PARAMS)))
    if set(declared) != set(_USED.findall(text)):
        raise ParserError(f"{name}.sql: declares {sorted(declared)}, uses {sorted(set(_USED.findall(text)))}")
    return ParserScript(name, text, declared)


def _text(name: str) -> str:
    return resources.files(__name__).joinpath(f"{name}.sql").read_text(encoding="utf-8")
