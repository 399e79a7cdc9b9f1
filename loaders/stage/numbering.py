"""Number the terms and the triples of a stage, and name its entities, within the memory there is.

DuckDB spills what it sorts and joins, but some of it not: what runs out of memory is done again, terms in more passes
over the statements, the rest with fewer threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import duckdb

from ...engine.progress import Progress
from ...models.words import SMALL_WORDS
from ..source import Source
from .rejects import Rejects
from .sql import query, set_variables

MOST_PASSES = 256
"""Passes over the statements to collect their terms, at most."""
_BLANKS = "".join(map(chr, filter(lambda code: chr(code).isspace(), range(0x3001))))
OUTER_BLANKS = f"^[{_BLANKS}]+|[{_BLANKS}]+$"
"""What a searched name is trimmed of: a pattern, since DuckDB's trim of many characters takes seven times as long."""


class TermNumbering:
    """Numbers what the statements of a source have in them. `threads`: those of the connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, source: Source, threads: int) -> None:
        self._connection = connection
        self._source = source
        self._threads = threads
        self._num_passes = 1

    def number(self, rejects: Rejects, progress: Progress, *, side_by_side: bool) -> None:
        """Number everything. side_by_side: whether the names may be made while the triples are numbered.

        Triples with ids or relations that no graph can have become rejects. Raises `duckdb.OutOfMemoryException`.
        """
        self._connection.execute("SET force_compression = 'uncompressed'")  # what is made here is read once or twice
        progress("sorting", 0, 3)
        self._number_terms()
        if self._connection.execute(query("numbering/faults")).fetchall()[0][0]:
            rejects.take_over_faults(self._connection.execute(query("numbering/reject_faults")).fetchall())
            rejects.check()
            self._number_terms()
        progress("sorting", 1, 3)
        if not side_by_side or not self._number_beside_naming(progress):
            self.run_with_fewer_threads(partial(self._connection.execute, query("numbering/number_triples")))
            progress("sorting", 2, 3)
            self.run_with_fewer_threads(partial(_name_entities, self._connection, self._source))
        progress("sorting", 3, 3)

    def _number_terms(self) -> None:
        """Number each term once: DuckDB cannot spill what it deduplicates texts by, so many terms need many passes."""
        while True:
            self._connection.execute(query("numbering/no_terms"))
            try:
                for number in range(self._num_passes):
                    set_variables(self._connection, {"num_passes": self._num_passes, "pass": number})
                    self._connection.execute(query("numbering/collect_terms"))
                break
            except duckdb.OutOfMemoryException:
                if self._num_passes == MOST_PASSES:
                    raise
                self._num_passes *= 2
        self.run_with_fewer_threads(partial(self._connection.execute, query("numbering/number_terms")))

    def run_with_fewer_threads(self, work: Callable[[], object]) -> None:
        """Do what can be done again; where the memory is too little for all threads, with half as many."""
        while True:
            try:
                work()
            except duckdb.OutOfMemoryException:
                if self._threads == 1:
                    raise
                self._threads = max(1, self._threads // 2)
                self._connection.execute(f"SET threads = {self._threads}")
            else:
                return

    def _number_beside_naming(self, progress: Progress) -> bool:
        """Number the triples and name the entities at the same time: naming leaves a core idle for most of it.

        Returns whether there was memory for both.
        """
        with self._connection.cursor() as cursor, ThreadPoolExecutor(1) as beside:
            named = beside.submit(_name_entities, cursor, self._source)
            try:
                self._connection.execute(query("numbering/number_triples"))
                progress("sorting", 2, 3)
                named.result()
            except duckdb.OutOfMemoryException:
                cursor.interrupt()
                return False
            except BaseException:
                cursor.interrupt()  # an interrupt of ours need not wait for the names
                raise
        return True


def _name_entities(connection: duckdb.DuckDBPyConnection, source: Source) -> None:
    variables = {"languages": list(source.languages), "unnamed_ids": source.unnamed_ids}
    set_variables(connection, {**variables, "outer_blanks": OUTER_BLANKS, "small_words": "|".join(sorted(SMALL_WORDS))})
    connection.execute(query("numbering/name"))
