"""Deduplicate and number what a source states, in DuckDB.

Memory stays bounded: DuckDB spills to the stage's folder.
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import resources
from itertools import chain, islice
from pathlib import Path
from typing import Any, Self
from weakref import WeakSet

import duckdb
import numpy as np
import pyarrow as pa

from ..engine import machine
from ..engine.errors import InputError, LoadInProgressError, StorageError
from ..engine.progress import Progress, ignore_progress
from ..engine.whole_file import lock_file
from ..engine.writing import RelationFacts, RelationRow, typed_value_macros
from ..models import quote_line
from ..models.whole_file import atomic_write, make_private_folder
from ..models.wording import SMALL_WORDS
from .parsers import prepare_parser
from .source import LineFile, Part, Source, SourceRowBatches, Subset


@cache
def query(name: str) -> str:
    """Return the text of a file of `sql`, named by folder and file: ``reading/take``."""
    return resources.files(__name__.rpartition(".")[0]).joinpath(f"sql/{name}.sql").read_text(encoding="utf-8")


def set_variables(connection: duckdb.DuckDBPyConnection, values: Mapping[str, Any]) -> None:
    """Set variables of a connection, which are not those of its cursors."""
    for name, value in values.items():
        connection.execute(f"SET VARIABLE {name} = ?", [value])


def run_on_batches(
    connection: duckdb.DuckDBPyConnection, text: str, table: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> None:
    """Run a statement that reads batches once, as a table.

    What they raise, an interrupt too, leaves as it was raised: DuckDB would make an error of its own of it.
    """
    failures: list[BaseException] = []

    def guard_batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except BaseException as failure:  # noqa: BLE001 - raised again below, outside of DuckDB
            failures.append(failure)

    connection.register(table, pa.RecordBatchReader.from_batches(schema, guard_batches()))
    try:
        connection.execute(text)
    except Exception:
        if not failures:
            raise
    finally:
        connection.unregister(table)
    if failures:
        raise failures[0]


@contextmanager
def translate_interrupts() -> Iterator[None]:
    """Raise `KeyboardInterrupt` for what DuckDB makes of it in the middle of a query."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise


class Rejects:
    """The rejects of one source. Without a path they are counted only."""

    def __init__(self, path: Path | None, limit: int) -> None:
        self.next_row = 0
        """The first row of the statements that was not looked at yet."""
        self._path = path
        self._limit = limit
        self._parts: list[tuple[str, str]] = []
        self._found: list[tuple[str, str, str]] = []
        self._pending: list[tuple[int, str, str]] = []

    def add(self, line: int, reason: str, text: str) -> None:
        """Take a line that could not even be read as text."""
        self._pending.append((line, reason, text))

    def begin_part(self, shown: str, unit: str = "") -> None:
        """Take what follows as said of this file, as messages name it; faults are placed by the unit, or by lines."""
        self._parts.append((shown, unit))

    def take_over(self, found: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
        """Take rejects of the last part, in the order of their lines; return those of `add` since the last time."""
        lines, self._pending = self._pending, []
        for line, reason, text in sorted(found + lines):
            shown = self._parts[-1][0]
            self._found.append((f"{shown}:{line}" if line else shown, reason, text or ""))
        return lines

    def take_over_faults(self, found: list[tuple[int, int, str, str]]) -> None:
        """Take rejects that were found after all was read, by part and line."""
        for part, line, reason, text in found:
            shown, unit = self._parts[part]
            self._found.append((f"{shown}: {unit} {line}" if unit else f"{shown}:{line}", reason, text or ""))

    def check(self) -> None:
        """Raise `InputError` when there are more rejects than allowed."""
        if len(self._found) <= self._limit:
            return
        place, reason, text = self._found[0]
        first = f"{place}: {reason}" + (f": {quote_line(text)}" if text else "")
        if not self._limit:
            raise InputError(f"{first} (--max-rejects 1 or more passes over such lines)")
        found = f"{len(self._found):,} lines rejected, more than --max-rejects {self._limit:,}: the first is {first}"
        raise InputError(f"{found}; all are in {self._path}" if self._path else found)

    def write(self) -> None:
        """Write the file, in the place of an earlier load's; without rejects there is none."""
        if self._path and self._found:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            lines = (f"{place}\t{reason}\t{quote_line(text)}\n" for place, reason, text in self._found)
            with atomic_write(self._path) as draft:
                draft.write_text("".join(lines), encoding="utf-8")
        elif self._path:
            self._path.unlink(missing_ok=True)


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

    def number(self, rejects: Rejects, progress: Progress) -> None:
        """Number everything.

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
        if self._source.names_from_ids or not self._number_beside_naming(progress):
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
    set_variables(
        connection,
        {
            "languages": list(source.languages),
            "name_relations": list(source.name_relations),
            "unnamed_ids": source.unnamed_ids,
            "outer_blanks": OUTER_BLANKS,
            "small_words": "|".join(sorted(SMALL_WORDS)),
        },
    )
    if source.names_from_ids:
        connection.execute(query("numbering/name_by_properties"))
    connection.execute(query("numbering/name"))


ABANDONED_S = 7 * 24 * 3_600
"""The age of a folder that a killed process left; a running load holds its lock."""


def delete_abandoned_stages(staging: Path) -> None:
    """Delete the folders older than `ABANDONED_S` whose locks nobody holds."""
    for folder in staging.iterdir():
        if not folder.is_dir() or time.time() - folder.stat().st_mtime < ABANDONED_S:
            continue
        with (
            suppress(LoadInProgressError),
            lock_file(folder.with_suffix(".lock"), "", refusal=LoadInProgressError("its load is under way")),
        ):
            shutil.rmtree(folder, ignore_errors=True)


_log = logging.getLogger(__name__)

MIN_MEMORY_MB = 1_000
"""The smallest default of DuckDB's buffers; blocks of lines and Arrow batches come on top."""
SHARE_OF_FREE_MEMORY = 0.25
"""The default of DuckDB's buffers as a share of the memory that is free: Neo4j runs beside the conversion."""
MOST_THREADS = 8
MAX_COMPARED = 5_000_000
"""The most entities whose ids are compared with one another."""
SEGMENT_BATCHES = 16
"""Batches of 16 MB and less between two looks at the rejects."""
REPORT_EVERY_S = 0.1
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_PASSED_THROUGH = "SELECT * FROM lines"


@dataclass(frozen=True, slots=True)
class StageCounts:
    """What a stage holds. `categories` has the statements of a source by what became of them; they add up to all."""

    num_triples: int
    num_entities: int
    num_literals: int
    num_relations: int
    num_names: int
    num_duplicates: int
    num_names_ignored: int = 0
    """Name statements of ids that are in no triple, or that say what another one says."""
    checksum: int | str = 0
    num_values: int = 0
    """Triples whose tail is a literal because it is written as a value, and has neither a name nor triples."""
    num_unnamed: int = 0
    """Entities without a name."""
    num_unnamed_tails: int = 0
    """Those among them that are in no triple but as its tail; looked up where the source takes tails for values."""
    unnamed_tails: Sequence[str] = ()
    """The first of these."""
    num_kinds: int = 0
    num_alike: int = 0
    """Ids that differ from another only in case, spaces or Unicode's normal form; looked up where ids are names."""
    alike: Sequence[str] = ()
    """Two of these."""
    examples: Sequence[Sequence[str]] = ()
    """Relations, each with the name of an entity that it leads from to one other with a name."""
    num_rejects: int = 0
    categories: Mapping[str, int] = field(default_factory=dict)
    named_by: Mapping[str, int] = field(default_factory=dict)
    """How many entities have their name by which relation; "id" is their ids, an empty one a file of names."""


def default_memory_mb() -> int:
    """Return the memory of a conversion where the user gives none: a share of what is free. The rest spills."""
    return max(MIN_MEMORY_MB, int(SHARE_OF_FREE_MEMORY * machine.free_memory_mb()))


class Stage:
    """The tables of one source in a folder of their own. Use it as a context manager."""

    def __init__(
        self,
        folder: Path,
        *,
        memory_mb: int | None = None,
        threads: int | None = None,
    ) -> None:
        self.folder = folder
        self._memory_mb = memory_mb or default_memory_mb()
        self._threads = threads or min(machine.num_cpus(), MOST_THREADS)
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._readers: WeakSet[pa.RecordBatchReader] = WeakSet()
        self.share_read = 1.0
        self._is_cut = False
        self.relation_facts: Mapping[str, RelationFacts] = {}
        """What the source knows of relations beyond their names."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, which stays.

        Rows that somebody still holds, such as the traceback of an error, end here: DuckDB would wait for them for ever
        when the file is opened again.
        """
        for reader in list(self._readers):
            reader.close()
        if self._connection:
            self._connection.close()
            self._connection = None

    def delete(self) -> None:
        """Close and delete everything."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def fill(
        self,
        source: Source,
        *,
        subset: Subset,
        max_rejects: int,
        rejects_file: Path | None,
        progress: Progress = ignore_progress,
        sample_batches: int | None = None,
    ) -> StageCounts:
        """Read a source to its end and number what it says; what the folder held before is gone.

        `sample_batches` ends the reading of every part after so many batches; `share_read` then has the share by bytes.
        Rejects are only counted where they have no file.
        Raises `InputError` for a fault of the source or more rejects than allowed, `StorageError` for a full disk.
        """
        self.delete()
        try:
            with self._translate_errors():
                make_private_folder(self.folder)
                self._create(subset)
                rejects = Rejects(rejects_file, max_rejects)
                try:
                    self._read(source, rejects, progress, sample_batches)
                    self._choose_names(source)
                    self._decide_values()
                    self._restrict(source, subset)
                    counts = self._number(source, rejects, progress)
                finally:
                    rejects.write()
                self.relation_facts = source.relation_facts()
        except BaseException:
            self.delete()  # half a stage is of no use, and may be what fills the disk
            raise
        return counts

    def rows(
        self, name: str, size: int, *, tables: Mapping[str, pa.Table] | None = None, **parameters: Any
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a query file, which may use the tables given, `size` a batch.

        Other queries may run meanwhile.
        """
        with self._translate_errors(), self._open_database().cursor() as cursor:
            for table, content in (tables or {}).items():
                cursor.register(table, content)
            set_variables(cursor, parameters)
            reader = cursor.sql(query(name)).to_arrow_reader(size)
            self._readers.add(reader)
            try:
                yield from reader
            finally:
                reader.close()

    def relations(self) -> list[tuple[int, str, int]]:
        """Return number, name and number of triples of every relation, by number."""
        with self._translate_errors():
            return self._open_database().cursor().execute(query("results/relations")).fetchall()

    def relation_words(self) -> list[tuple[str, list[str], str | None]]:
        """Return what the source says of relations: name, its names and aliases, and a comment."""
        with self._translate_errors():
            return self._open_database().cursor().execute(query("results/relation_words")).fetchall()

    def _open_database(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            self._connection = duckdb.connect(
                str(self.folder / "stage.duckdb"),
                config={
                    "memory_limit": f"{self._memory_mb}MB",
                    "threads": self._threads,
                    "temp_directory": str(self.folder / "spilled"),
                    "max_temp_directory_size": "1000TB",  # a full disk is then told from memory that is too little
                    "preserve_insertion_order": False,
                },
            )
            self._connection.execute("SET enable_progress_bar = false")
            self._connection.execute(query("reading/macros"))
            self._connection.execute(typed_value_macros())
        return self._connection

    def _create(self, subset: Subset) -> None:
        connection = self._open_database()
        connection.execute(query("reading/statements"))
        if subset.exact_relations:
            connection.register("wanted", pa.table({"name": list(subset.exact_relations)}))
            connection.table("wanted").insert_into("wanted_relation")
            connection.unregister("wanted")
        set_variables(
            connection,
            {
                "by_relation": bool(subset.relations),
                "wanted_pattern": subset.relation_pattern,
            },
        )

    def _read(self, source: Source, rejects: Rejects, progress: Progress, sample_batches: int | None) -> None:
        total = source.size_bytes or 0
        report = _reporter(source, total, progress)
        for number, part in enumerate(source.parts()):
            set_variables(self._open_database(), {"part": number})
            rejects.begin_part(part.shown, "" if isinstance(part, LineFile) else part.unit)
            self._take(part, rejects, report, sample_batches)
        if self._is_cut and total:
            self.share_read = min(max(source.position_bytes / total, 1e-9), 1.0)
        progress("reading", total, total)

    def _take(self, part: Part, rejects: Rejects, report: Callable[[], None], sample_batches: int | None) -> None:
        """Take over the statements of a part."""
        text, batches = (
            _PASSED_THROUGH,
            part.batches if isinstance(part, SourceRowBatches) else part.file.batches(rejects.add),
        )
        if isinstance(part, LineFile):
            text = prepare_parser(self._open_database(), part.parser, part.parameters)
        text = query("reading/take").replace("{{parser}}", text)
        for segment in _segments(islice(batches, sample_batches), report):
            first = next(segment)
            run_on_batches(self._open_database(), text, "lines", first.schema, chain((first,), segment))
            self._put_aside(rejects)
        self._put_aside(rejects)
        self._is_cut |= sample_batches is not None and next(batches, None) is not None

    def _put_aside(self, rejects: Rejects) -> None:
        """Count the rejects since the last look; those that the line reader found become statements too."""
        connection = self._open_database()
        found = connection.execute(query("reading/rejects"), {"first": rejects.next_row}).fetchall()
        lines = rejects.take_over(found)
        if lines:
            connection.executemany(query("reading/reject_line"), lines)
        rejects.next_row = connection.execute(query("reading/num_statements")).fetchall()[0][0]
        rejects.check()

    def _choose_names(self, source: Source) -> None:
        set_variables(self._open_database(), {"languages": list(source.languages)})
        if not source.all_languages:
            self._open_database().execute(query("reading/preferred_names"))

    def _decide_values(self) -> None:
        """Leave those of the tails that are written as values literals that have neither a name nor triples."""
        connection = self._open_database()
        if connection.execute(query("reading/value_texts")).fetchall()[0][0]:
            connection.execute(query("reading/no_values"))

    def _restrict(self, source: Source, subset: Subset) -> None:
        """Leave out what the subset leaves out by the shape of the graph."""
        connection = self._open_database()
        if subset.around:
            set_variables(connection, {"around": list(subset.around)})
            connection.execute(query("restricting/seeds"))
            if unknown := [id_ for (id_,) in connection.execute(query("restricting/unknown_seeds")).fetchall()]:
                raise InputError(
                    f"{source.name}: no triple has {unknown[0]!r}, which --around names"
                    + (f", nor {len(unknown) - 1:,} others that it names" if len(unknown) > 1 else "")
                    + ": give ids as the source has them"
                )
        if subset.max_degree is not None:
            connection.execute(query("restricting/hubs"), {"max_degree": subset.max_degree})
            if not subset.around:
                connection.execute(query("restricting/without_hubs"))
        if subset.around:
            for hop in range(1, subset.hops):
                set_variables(connection, {"hop": hop})
                connection.execute(query("restricting/next_hop"))
            connection.execute(query("restricting/only_around"))

    def _number(self, source: Source, rejects: Rejects, progress: Progress) -> StageCounts:
        connection = self._open_database()
        numbering = TermNumbering(connection, source, self._threads)
        numbering.number(rejects, progress)
        categories = dict(connection.execute(query("numbering/categories")).fetchall())
        counted = next(self.rows("numbering/counts", 1)).to_pylist()[0]
        counted |= next(self.rows("results/kinds", 1)).to_pylist()[0]
        if (source.unnamed_ids is not None or source.names_from_ids) and counted["num_entities"] <= MAX_COMPARED:
            counted |= next(self.rows("results/alike", 1)).to_pylist()[0]
        counted["named_by"] = dict(connection.execute(query("numbering/named_by")).fetchall())
        if "values" in source.options() and counted["num_unnamed"]:
            counted |= next(self.rows("results/unnamed_tails", 1)).to_pylist()[0]
        counts = StageCounts(**counted, num_rejects=categories.get("reject", 0), categories=categories)
        if not counts.num_triples:
            found = ", ".join(f"{number:,} {name}" for name, number in sorted(categories.items())) or "nothing"
            raise InputError(f"{source.name}: expected triples, found none to load ({found})")
        numbering.run_with_fewer_threads(partial(connection.execute, query("numbering/type_values")))
        connection.execute(query("numbering/name_relations"))
        connection.execute(query("numbering/forget_statements"))
        return counts

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            with translate_interrupts():
                yield
        except duckdb.Error as error:
            if any(os.strerror(number) in str(error) for number in _NO_ROOM):
                raise self._no_room() from error
            if isinstance(error, duckdb.OutOfMemoryException):
                raise StorageError(
                    f"{self.folder}: the {self._memory_mb:,} MB of memory for converting a source are too little for "
                    "this one: free some, or load a part of it, by --relations or --around"
                ) from error
            if isinstance(error, duckdb.IOException):
                raise StorageError(f"{self.folder}: cannot be used: {str(error).splitlines()[0]}") from error
            raise
        except OSError as error:
            if error.errno in _NO_ROOM:
                raise self._no_room() from error
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise StorageError(f"{error.filename or self.folder}: cannot be written: {reason}") from error

    def _no_room(self) -> StorageError:
        return StorageError(
            f"{self.folder}: no room left on the disk while the source was converted: "
            "make room or name another LODESTAR_HOME, then run the same command again"
        )


def _reporter(source: Source, total: int, progress: Progress) -> Callable[[], None]:
    """Return what says how far the reading is, now and then: a source of many files is long in adding up."""
    said_s = float("-inf")

    def report() -> None:
        nonlocal said_s
        if time.monotonic() - said_s > REPORT_EVERY_S:
            progress("reading", min(source.position_bytes, total), total)
            said_s = time.monotonic()

    return report


def _segments(batches: Iterable[pa.RecordBatch], report: Callable[[], None]) -> Iterator[Iterator[pa.RecordBatch]]:
    """Yield the batches in groups that are read one after the other, and say how far their reading is."""
    remaining = iter(batches)
    for first in remaining:
        report()
        yield chain((first,), islice(remaining, SEGMENT_BATCHES - 1))


SIGNATURE_ROWS_A_BATCH = 500_000


def relation_table(rows: Sequence[RelationRow]) -> pa.Table:
    """Return the rows as the queries of the stage join them."""
    return pa.table(
        {
            "staged": pa.array([row.staged for row in rows], pa.int32()),
            "number": pa.array([row.number for row in rows], pa.int32()),
            "name": pa.array([row.name for row in rows], pa.string()),
            "type": pa.array([row.type for row in rows], pa.string()),
            "is_related": pa.array([row.stored_as is not None for row in rows], pa.bool_()),
        }
    )


def with_signatures(entities: Iterable[pa.RecordBatch], stage: Stage, relations: pa.Table) -> Iterator[pa.Table]:
    """Yield batches of all entities, which come in the order of their nodes, with signature and degree.

    A signature has the catalogue numbers of an entity's relations, positive for triples that leave it, negative for
    those that enter it, ascending, and how many triples each has. Every entity has triples.
    """
    rows = stage.rows("results/signature_rows", SIGNATURE_ROWS_A_BATCH, tables={"relation_row": relations})
    ahead = pa.Table.from_batches([next(rows)])
    first = 0
    for batch in entities:
        end = first + batch.num_rows
        while ahead.column("node")[-1].as_py() < end and (more := next(rows, None)) is not None:
            ahead = pa.concat_tables([ahead, pa.Table.from_batches([more])]).combine_chunks()
        starts = np.searchsorted(ahead.column("node").to_numpy(), np.arange(first, end + 1)).astype(np.int32)
        own, ahead = ahead.slice(0, int(starts[-1])).combine_chunks(), ahead.slice(int(starts[-1]))
        table, offsets = pa.Table.from_batches([batch]), pa.array(starts)
        for name, values in (("signature_relations", "relation"), ("signature_counts", "num_triples")):
            lists = pa.ListArray.from_arrays(offsets, own.column(values).chunk(0))
            table = table.append_column(name, lists)
        degrees = np.add.reduceat(own.column("num_triples").to_numpy(), starts[:-1])
        yield table.append_column("degree", pa.array(degrees))
        first = end
        if not ahead.num_rows and (more := next(rows, None)) is not None:
            ahead = pa.Table.from_batches([more])
