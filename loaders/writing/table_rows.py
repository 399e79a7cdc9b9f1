"""Rows of a stream of tables, as many at a time as are asked for."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa


class RowStream:
    """Rows of tables that have the same columns; at least one table comes."""

    def __init__(self, tables: Iterable[pa.Table]) -> None:
        self._tables = iter(tables)
        self._rest: pa.Table | None = None

    def take(self, num_rows: int) -> pa.Table:
        """Return the next rows; there have to be so many."""
        rest = next(self._tables) if self._rest is None else self._rest
        while rest.num_rows < num_rows:
            rest = pa.concat_tables([rest, next(self._tables)])
        self._rest = rest.slice(num_rows)
        return rest.slice(0, num_rows)
