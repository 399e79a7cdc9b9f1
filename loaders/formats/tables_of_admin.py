"""Read the CSV files of `neo4j-admin database import`: what columns are is in the header, `personId:ID,name,:LABEL`.

APOC's export is the same in one file: `_id,_labels,name,_start,_end,_type`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..naming import XSD
from ..property_graph import Element, LiteralText, Node, PropertyGraph, Relationship
from .tables import Database, Table

_HEADER = re.compile(r"(?P<name>[^:]*):(?P<kind>[A-Za-z_]+)(?P<array>\[\])?(?:\((?P<group>[^)]*)\))?(?:\{.*\})?")
_BY_APOC = {"_id": ":ID", "_labels": ":LABEL", "_start": ":START_ID", "_end": ":END_ID", "_type": ":TYPE"}
_ENDS = {"ID", "START_ID", "END_ID", "LABEL", "TYPE", "IGNORE"}


class _Role(NamedTuple):
    """What a column is: one of `_ENDS`, or empty for a property; the group of its ids; whether it holds lists."""

    column: str
    name: str
    kind: str = ""
    group: str = ""
    is_list: bool = False


def is_admin_csv(database: Database) -> bool:
    """Return whether any table says in its header which of its columns have the ids of nodes or of ends."""
    return any(role.kind in ("ID", "START_ID") for table in database.tables.values() for role in _roles(table))


def _roles(table: Table) -> list[_Role]:
    found = []
    for column in table.columns:
        called = _BY_APOC.get(column, column)
        name, kind, array, group = parts.groups() if (parts := _HEADER.fullmatch(called)) else (called, "", "", "")
        found.append(_Role(column, name or "id", kind if kind in _ENDS else "", group or "", bool(array)))
    return found


class AdminGraph(PropertyGraph):
    kind = "tables"
    expected = "expected files of nodes with a column :ID, found none"

    def __init__(self, database: Database, name: str) -> None:
        super().__init__(name)
        self._database = database

    def elements(self) -> Iterator[Element]:
        self.notes = Counter(self._database.notes)
        tables = [(table, _roles(table)) for table in self._database.tables.values()]
        for table, roles in sorted(tables, key=lambda each: not any(role.kind == "ID" for role in each[1])):
            for number, row in self._database.rows(table, list(table.columns)):
                yield from self._element(table, number, {role: row[role.column] for role in roles})

    def _element(self, table: Table, number: int, row: Mapping[_Role, Any]) -> Iterator[Element]:
        special = {role.kind: value for role, value in row.items() if role.kind}
        ids = {role.kind: f"{role.group}/{value}".removeprefix("/") for role, value in row.items() if value}
        values = [
            (role.name, _value(table, role, value))
            for role, value in row.items()
            if value is not None and role.kind in ("", "ID")
        ]
        if "ID" not in ids and ("START_ID" in special or "END_ID" in special):
            type_ = special.get("TYPE", table.name)
            if "START_ID" in ids and "END_ID" in ids and type_:
                yield Relationship(f"{table.name}/{number}", type_, ids["START_ID"], ids["END_ID"], values)
            else:
                self.notes["rows without both ends"] += 1
        elif "ID" in ids:
            labels = [label for label in re.split("[;:]", special.get("LABEL", table.name) or "") if label]
            yield Node(ids["ID"], labels, values, next(role.name for role in row if role.kind == "ID"))
        else:
            self.notes["rows without an id"] += 1


def _value(table: Table, role: _Role, value: str) -> Any:
    if role.is_list:
        return [item for item in value.split(";") if item]
    type_ = table.columns[role.column].type
    return LiteralText(value, f"{XSD}{type_}") if type_ else value
