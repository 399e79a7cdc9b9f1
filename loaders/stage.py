"""Read, deduplicate and number what a source states, in DuckDB.

Memory stays bounded: DuckDB spills to the stage's folder.
"""

from __future__ import annotations

import os
import re
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
import pyarrow as pa

from ..engine import machine
from ..engine.errors import NO_ROOM, InputError, LoadInProgressError, StorageError
from ..engine.file_access import lock_file
from ..engine.progress import Progress, ignore_progress
from ..engine.writing import RelationMetadata, make_typed_value_macros
from ..models import quote_line
from ..models.atomic_files import atomic_write, make_private_folder
from ..models.wording import INDEX_STOP_WORDS, SMALL_WORDS
from .source import FileWithParser, Part, Source, Subset


@cache
def read_sql(name: str) -> str:
    return resources.files(__name__.rpartition(".")[0]).joinpath(f"sql/{name}.sql").read_text(encoding="utf-8")


_PARAMETER = re.compile(r"(\w+) :: (.+?)(?=, \w+ ::|$)", re.MULTILINE)


def prepare_sql_parser(connection: duckdb.DuckDBPyConnection, name: str, parameters: Mapping[str, object]) -> str:
    """Return the text of a parser of lines, for which macros are defined and parameters are set on a connection.

    A parser is a file of `parsers/`: a SELECT over the relation `lines` (see `reading.LINES`) that returns the columns
    of `source.ROWS`. Its header names its parameters: ``-- params: separator :: VARCHAR, columns :: INTEGER[]``.
    """
    folder = resources.files(__name__.rpartition(".")[0]).joinpath("parsers")
    terms, faults, text = (folder.joinpath(f"{of}.sql").read_text(encoding="utf-8") for of in ("terms", "faults", name))
    connection.execute(terms)
    connection.execute(faults)
    for line in (line for line in text.splitlines() if line.startswith("-- params:")):
        for parameter, type_ in _PARAMETER.findall(line):
            connection.execute(f"SET VARIABLE {parameter} = CAST($value AS {type_})", {"value": parameters[parameter]})
    return text


def _set_variables(connection: duckdb.DuckDBPyConnection, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        connection.execute(f"SET VARIABLE {name} = ?", [value])


def execute_with_batches_as_table(
    connection: duckdb.DuckDBPyConnection, text: str, table: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> None:
    """Run a statement that reads batches once, as a table.

    What they raise, an interrupt too, leaves as it was raised: DuckDB would make an error of its own of it.
    """
    failures: list[BaseException] = []

    def guard_batches() -> Iterator[Any]:
        try:
            yield  # a signal that came before the first batch is raised here, too
            yield from batches
        except BaseException as failure:  # noqa: BLE001 - raised again below, outside of DuckDB
            failures.append(failure)

    guarded = guard_batches()
    next(guarded)
    connection.register(table, pa.RecordBatchReader.from_batches(schema, guarded))
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


MIN_MEMORY_MB = 1_000  # the smallest default of DuckDB's buffers; blocks of lines and Arrow batches come on top
SHARE_OF_FREE_MEMORY = 0.25
"""The default of DuckDB's buffers as a share of the memory that is free: Neo4j runs beside the conversion."""
MOST_THREADS = 8
_MOST_PASSES = 256  # shares in which terms are collected, at most
_MAX_COMPARED = 5_000_000  # the most entities whose ids are compared with one another
_SEGMENT_BATCHES = 16  # batches of 16 MB and less between two looks at the rejects
_NODES_A_MB = 500
_REPORT_EVERY_S = 0.1  # A source of many files is long in adding up how far it is read
_BLANKS = "".join(map(chr, filter(lambda code: chr(code).isspace(), range(0x3001))))
OUTER_BLANKS = f"^[{_BLANKS}]+|[{_BLANKS}]+$"
"""What a searched name is trimmed of: a pattern, since DuckDB's trim of many characters takes seven times as long."""


@dataclass(frozen=True, slots=True)
class StageCounts:
    """What a stage holds. `categories` has the statements of a source by what became of them; they add up to all."""

    num_triples: int
    num_entities: int
    num_literals: int
    num_relations: int
    num_names: int
    num_duplicates: int
    num_names_ignored: int = 0  # name statements of ids that are in no triple, or that say what another one says
    checksum: int | str = 0
    num_values: int = 0
    """Triples whose tail is a literal because it is written as a value, and has neither a name nor triples."""
    num_unnamed: int = 0  # entities without a name
    num_kinds: int = 0
    num_alike: int = 0
    """Ids that differ from another only in case, spaces or Unicode's normal form; looked up where ids are names."""
    alike: Sequence[str] = ()  # two of these
    examples: Sequence[Sequence[str]] = ()
    """Relations, each with the name of an entity that it leads from to one other with a name."""
    num_rejects: int = 0
    categories: Mapping[str, int] = field(default_factory=dict)
    named_by: Mapping[str, int] = field(default_factory=dict)
    """How many entities have their name by which relation; "id" is their ids, an empty one a file of names."""


class Stage:
    """The tables of one source in a folder of their own, which goes at the end. Use it as a context manager.

    memory_mb: of the conversion; by default a share of what is free. The rest spills.
    """

    def __init__(self, folder: Path, *, memory_mb: int | None = None, threads: int | None = None) -> None:
        self.folder = folder
        self._memory_mb = memory_mb or max(MIN_MEMORY_MB, int(SHARE_OF_FREE_MEMORY * machine.free_memory_mb()))
        self._threads = threads or min(machine.num_cpus(), MOST_THREADS)
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._readers: WeakSet[pa.RecordBatchReader] = WeakSet()
        self._num_passes = 1
        self._parts: list[Part] = []
        self.share_read = 1.0
        self.relation_facts: Mapping[
            str, RelationMetadata
        ] = {}  # what the source knows of relations beyond their names

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.delete()

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
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def fill(
        self,
        source: Source,
        subset: Subset,
        max_rejects: int | None = None,
        rejects_file: Path | None = None,
        progress: Progress = ignore_progress,
        sample_batches: int | None = None,
    ) -> StageCounts:
        """Read a source to its end and number what it says; what the folder held before is gone.

        `sample_batches` ends the reading of every part after so many batches; `share_read` then has the share by bytes.
        Rejects are only counted where they have no file; where there are none, an earlier load's file goes.
        Raises `InputError` for a fault of the source or more rejects than allowed, `StorageError` for a full disk.
        """
        self.delete()
        with self.translate_errors():
            make_private_folder(self.folder)
            by_relation = {"by_relation": bool(subset.relations), "wanted_pattern": subset.relation_pattern}
            self._run("reading/statements", **by_relation)
            if subset.exact_relations:
                wanted = pa.table({"name": list(subset.exact_relations)})
                self._open().from_arrow(wanted).insert_into("wanted_relation")
            check = partial(
                self._check_rejects, source.max_rejects if max_rejects is None else max_rejects, rejects_file
            )
            self._read(source, check, progress, sample_batches)
            _set_variables(self._open(), {"languages": list(source.languages)})
            if not source.all_languages:
                self._run("reading/preferred_names")
            if self._run("reading/value_texts")[0][0]:
                self._run("reading/no_values")
            self._restrict(source, subset)
            counts = self._number(source, check, progress)
            self._write_rejects(rejects_file)
            self._run("numbering/forget_statements")
            self.relation_facts = source.relation_facts()
        return counts

    def rows(self, name: str, size: int, **variables: Any) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a query file, `size` a batch. Other queries may run meanwhile."""
        with self.translate_errors(), self._open().cursor() as cursor:
            _set_variables(cursor, variables)
            reader = cursor.sql(read_sql(name)).to_arrow_reader(size)
            self._readers.add(reader)
            try:
                yield from reader
            finally:
                reader.close()

    def node_rows(self, name: str, size: int, **variables: Any) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a query of nodes, by node; some are joined at a time, since DuckDB holds what it joins."""
        ((num_nodes,),) = self._fetch("numbering/num_nodes")
        for first in range(0, num_nodes, step := self._memory_mb * _NODES_A_MB):
            yield from self.rows(name, size, first=first, last=first + step - 1, **variables)

    def relations(self) -> dict[str, int]:
        return dict(self._fetch("results/relations"))

    def relation_words(self) -> list[tuple[str, list[str], str | None]]:
        """Return what the source says of relations: name, its names and aliases, and a comment."""
        return self._fetch("results/relation_words")

    def _fetch(self, name: str) -> list[Any]:
        with self.translate_errors():
            return self._open().cursor().execute(read_sql(name)).fetchall()

    def add_signatures(self) -> None:
        """Give the entities their signatures and degrees in a graph that has nothing else.

        A signature has the catalogue numbers of an entity's relations, positive for triples that leave it, negative for
        those that enter it, ascending, and how many triples each has. Relations are numbered as in a new graph.
        """
        with self.translate_errors():
            self._run_in_passes("numbering/no_signatures", "numbering/signatures")

    def _open(self) -> duckdb.DuckDBPyConnection:
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
            self._connection.execute(read_sql("reading/macros"))
            self._connection.execute(make_typed_value_macros())
        return self._connection

    def _run(self, name: str, parameters: Mapping[str, Any] | None = None, **variables: Any) -> list[Any]:
        _set_variables(self._open(), variables)
        return self._open().execute(read_sql(name), parameters).fetchall()

    def _run_in_passes(self, prepare: str, name: str) -> None:
        """Run a query a share at a time, in more shares where one does not fit into memory: DuckDB cannot spill what it
        groups texts or lists by.
        """
        while True:
            self._run(prepare)
            try:
                for number in range(self._num_passes):
                    _set_variables(self._open(), {"num_passes": self._num_passes, "pass": number})
                    self._run(name)
                return
            except duckdb.OutOfMemoryException:
                if self._num_passes == _MOST_PASSES:
                    raise
                self._num_passes *= 2

    def _run_with_fewer_threads(self, name: str) -> None:
        while True:
            try:
                self._run(name)
                return
            except duckdb.OutOfMemoryException:
                if self._threads == 1:
                    raise
                self._threads //= 2
                self._open().execute(f"SET threads = {self._threads}")

    def _read(self, source: Source, check: Callable[[], None], progress: Progress, sample_batches: int | None) -> None:
        total, is_cut, told_s = source.size_bytes or 0, False, float("-inf")
        self._parts = []
        for number, part in enumerate(source.parts()):
            self._parts.append(part)
            _set_variables(self._open(), {"part": number})
            text = "SELECT * FROM lines"
            unread: list[tuple[int, str, str]] = []
            if isinstance(part, FileWithParser):
                text = prepare_sql_parser(self._open(), part.parser, part.parameters)
                batches = part.file.batches(lambda *reject, to=unread: to.append(reject))
            else:
                batches = part.batches
            text = read_sql("reading/take").replace("{{parser}}", text)
            taken = islice(batches, sample_batches)
            for at, first in enumerate(chain(taken, (None,))):
                if time.monotonic() - told_s > _REPORT_EVERY_S:
                    progress("reading", min(source.position_bytes, total), total)
                    told_s = time.monotonic()
                if first is not None:
                    segment = chain((first,), islice(taken, _SEGMENT_BATCHES - 1))
                    execute_with_batches_as_table(self._open(), text, "lines", first.schema, segment)
                if unread:
                    self._open().executemany(read_sql("reading/reject_line"), unread)
                    unread.clear()
                if at and first is not None:  # of a folder with many files they are looked at once
                    check()
            is_cut |= sample_batches is not None and next(batches, None) is not None
        if is_cut and total:
            self.share_read = min(max(source.position_bytes / total, 1e-9), 1.0)
        check()
        progress("reading", total, total)

    def _check_rejects(self, most: int, file: Path | None) -> None:
        ((number,),) = self._run("reading/num_rejects")
        if number <= most:
            return
        ((part, line, reason, text),) = self._run("reading/rejects", {"limit": 1})
        first = f"{self._place(part, line)}: {reason}" + (f": {quote_line(text)}" if text else "")
        if not most:
            raise InputError(f"{first} (--max-rejects 1 or more passes over such lines)")
        self._write_rejects(file)
        found = f"{number:,} lines rejected, more than --max-rejects {most:,}: the first is {first}"
        raise InputError(f"{found}; all are in {file}" if file else found)

    def _place(self, part: int, line: int) -> str:
        of = self._parts[part]
        unit = "" if isinstance(of, FileWithParser) else of.unit
        return f"{of.shown}: {unit} {line}" if unit and line else f"{of.shown}:{line}" if line else of.shown

    def _write_rejects(self, file: Path | None) -> None:
        found = self._run("reading/rejects", {"limit": None}) if file else []
        if file and found:
            file.parent.mkdir(parents=True, exist_ok=True)
            lines = (f"{self._place(*at)}\t{reason}\t{quote_line(text or '')}\n" for *at, reason, text in found)
            with atomic_write(file) as draft:
                draft.write_text("".join(lines), encoding="utf-8")
        elif file:
            file.unlink(missing_ok=True)

    def _restrict(self, source: Source, subset: Subset) -> None:
        if subset.around:
            self._run("restricting/seeds", around=list(subset.around))
            if unknown := [id_ for (id_,) in self._run("restricting/unknown_seeds")]:
                raise InputError(
                    f"{source.name}: no triple has {unknown[0]!r}, which --around names"
                    + (f", nor {len(unknown) - 1:,} others that it names" if len(unknown) > 1 else "")
                    + ": give ids as the source has them"
                )
            for hop in range(1, subset.hops):
                self._run("restricting/next_hop", hop=hop)
            self._run("restricting/only_around")

    def _number(self, source: Source, check: Callable[[], None], progress: Progress) -> StageCounts:
        self._open().execute("SET force_compression = 'uncompressed'")  # what is made here is read once or twice
        progress("sorting", 0, 3)
        self._number_terms()
        if self._run("numbering/faults")[0][0]:
            self._run("numbering/reject_faults")
            check()
            self._number_terms()
        progress("sorting", 1, 3)
        naming = {
            "languages": list(source.languages),
            "name_relations": list(source.name_relations),
            "unnamed_ids": source.unnamed_ids,
            "outer_blanks": OUTER_BLANKS,
            "small_words": "|".join(sorted(SMALL_WORDS)),
            "stop_names": f"({(stop := '|'.join(sorted(INDEX_STOP_WORDS)))})( ({stop}))*",
        }
        _set_variables(self._open(), naming)
        if source.names_from_ids or not self._number_beside_naming(naming):
            self._run_with_fewer_threads("numbering/number_triples")
            if source.names_from_ids:
                self._run("numbering/name_by_properties")
            self._run_with_fewer_threads("numbering/name")
        progress("sorting", 2, 3)
        self._run_with_fewer_threads("numbering/name_relations")
        counts = self._count(source)
        self._run_with_fewer_threads("numbering/type_values")
        progress("sorting", 3, 3)
        return counts

    def _number_terms(self) -> None:
        self._run_in_passes("numbering/no_terms", "numbering/collect_terms")
        self._run_with_fewer_threads("numbering/number_terms")

    def _number_beside_naming(self, naming: Mapping[str, Any]) -> bool:
        """Number the triples and name the entities at the same time: naming leaves a core idle for most of it.

        Returns whether there was memory for both.
        """
        with self._open().cursor() as cursor, ThreadPoolExecutor(1) as beside:
            _set_variables(cursor, naming)
            named = beside.submit(cursor.execute, read_sql("numbering/name"))
            try:
                self._run("numbering/number_triples")
                named.result()
            except duckdb.OutOfMemoryException:
                cursor.interrupt()
                return False
            except BaseException:
                cursor.interrupt()  # an interrupt of ours need not wait for the names
                raise
        return True

    def _count(self, source: Source) -> StageCounts:
        def read(name: str) -> dict[str, Any]:
            return next(self.rows(name, 1)).to_pylist()[0]

        categories = dict(self._run("numbering/categories"))
        counted = read("numbering/counts") | read("results/kinds")
        if (source.unnamed_ids is not None or source.names_from_ids) and counted["num_entities"] <= _MAX_COMPARED:
            counted |= read("results/alike")
        named_by = dict(self._run("numbering/named_by"))
        num_rejects = categories.get("reject", 0)
        counts = StageCounts(**counted, num_rejects=num_rejects, categories=categories, named_by=named_by)
        if not counts.num_triples:
            listed = ", ".join(f"{number:,} {name}" for name, number in sorted(categories.items())) or "nothing"
            raise InputError(f"{source.name}: expected triples, found none to load ({listed})")
        return counts

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Raise what the disk or DuckDB lacks as `StorageError`."""
        no_room = StorageError(
            f"{self.folder}: no room left on the disk while the source was converted: "
            "make room or name another LODESTAR_HOME, then run the same command again"
        )
        try:
            with translate_interrupts():
                yield
        except duckdb.Error as error:
            if any(os.strerror(number) in str(error) for number in NO_ROOM):
                raise no_room from error
            if isinstance(error, duckdb.OutOfMemoryException):
                raise StorageError(
                    f"{self.folder}: the {self._memory_mb:,} MB of memory for converting a source are too little for "
                    "this one: free some, or load a part of it, by --relations or --around"
                ) from error
            if isinstance(error, duckdb.IOException):
                raise StorageError(f"{self.folder}: cannot be used: {str(error).splitlines()[0]}") from error
            raise
        except OSError as error:
            if error.errno in NO_ROOM:
                raise no_room from error
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise StorageError(f"{error.filename or self.folder}: cannot be written: {reason}") from error


ABANDONED_S = 7 * 24 * 3_600  # the age of a folder that a killed process left; a running load holds its lock


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
