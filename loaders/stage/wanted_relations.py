"""Which relations a subset wants."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa

from ..reading.line_block import Chosen
from ..subset import Subset
from .query_files import query, set_variables


def restriction(subset: Subset) -> dict[str, object]:
    """Return the variables that the macro `is_wanted` reads."""
    return {
        "by_domain": bool(subset.domains),
        "by_relation": bool(subset.relations),
        "wanted_pattern": subset.relation_pattern,
    }


class WantedRelations:
    """Answers by relation, each asked for once, with a cursor of its own: another query may be under way meanwhile."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, subset: Subset) -> None:
        self._cursor = connection.cursor()
        self._known: dict[str, bool] = {}
        self._all = not (subset.domains or subset.relations)
        set_variables(self._cursor, restriction(subset))

    def among(self, relations: pa.StringArray) -> Chosen | None:
        """Return which of the relations are wanted, None when all relations are."""
        if self._all:
            return None
        names = relations.to_pylist()
        if unknown := [name for name in names if name not in self._known]:
            self._cursor.register("asked_relation", pa.table({"name": unknown}))
            self._known.update(self._cursor.execute(query("reading/wanted")).fetchall())
        return np.array([self._known[name] for name in names], np.bool_)
