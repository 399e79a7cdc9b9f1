"""Read tables into DuckDB: a folder of CSV, TSV or parquet, one such file, a SQLite or DuckDB file.

What they mean is found by `table_graph.py`.
"""

from __future__ import annotations

import csv
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from io import StringIO, TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from ...engine.errors import InputError
from ...models import quote_line
from ..mapping import PropertySample
from ..property_graph import (
    XSD,
    LiteralText,
)
from ..reading import PARQUET, RereadableFile, list_files, parquet_columns, unpacked_name, warn_of_others
from ..source import digest_of, split_batches
from ..stage import run_on_batches
from .delimited import columns_by_name, why_table

ENDINGS = (".csv", ".tsv", ".txt", ".parquet")
SQLITE = b"SQLite format 3\0"
DUCKDB = b"DUCK"
"""What a DuckDB file has after eight bytes."""
MAX_FIELD_BYTES = 256_000_000
_HEAD_BYTES = 1 << 16
_FETCHED_ROWS = 5_000


@dataclass(slots=True)
class Column:
    """A column: how many values it has, how many differ, their type in XSD (None: text), the mean length of texts."""

    name: str
    num: int = 0
    num_distinct: int = 0
    type: str | None = None
    num_chars: float = 0.0
    is_list: bool = False

    @property
    def is_number(self) -> bool:
        return self.type in ("integer", "decimal", "double")

    def sample(self) -> PropertySample:
        text = LiteralText("", f"{XSD}{self.type}" if self.type else None)
        type_ = "LIST<STRING>" if self.is_list else text.type
        return PropertySample(self.name, type_, self.num, self.num_distinct, 1 if self.is_list else 0, self.num_chars)


class Reference(NamedTuple):
    """Columns that refer to columns of another table, or of the same."""

    columns: tuple[str, ...]
    table: str
    target: tuple[str, ...]


@dataclass(slots=True)
class Table:
    """A table: its columns, its key (empty if none is known), what it refers to, and what it is in the graph.

    `view` is its name in DuckDB. The `root` is the table whose key it shares, itself where none.
    """

    name: str
    view: str
    columns: dict[str, Column] = field(default_factory=dict)
    num_rows: int = 0
    key: tuple[str, ...] = ()
    references: list[Reference] = field(default_factory=list)
    is_declared: bool = False
    label: str = ""
    root: str = ""
    joins: tuple[Reference, Reference] | None = None
    """The two ends where the table is a relationship."""
    relation_column: str = ""

    @property
    def properties(self) -> list[str]:
        """The columns that neither refer to a table nor are the key that is shared with another."""
        taken = {name for reference in self.references for name in reference.columns}
        taken |= {self.relation_column} | ({*self.key} if self.root != self.name or self.joins else set())
        return [name for name in self.columns if name not in taken]


# Reading into DuckDB


class Database:
    """Tables in DuckDB: all columns are texts, trimmed, without values that stand for none; lists stay lists."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="lodestar-tables-")
        self.connection = duckdb.connect(config={"temp_directory": self._folder.name, "threads": 2})
        self.connection.execute("SET preserve_insertion_order = true")
        self.tables: dict[str, Table] = {}
        self.notes: Counter[str] = Counter()
        """What was assumed when they were read, with counts."""
        self.digest: str | None = None
        """The SHA-256 of the files that they were read from, if any."""

    def add(self, name: str, relation: duckdb.DuckDBPyRelation, shown: str) -> Table:
        """Take over a table; raise `InputError` for two of one name and for what DuckDB cannot read."""
        with _translate_errors(shown):
            table, chosen = self._begin(name, dict(zip(relation.columns, map(str, relation.types), strict=True)), shown)
            relation.project(chosen).create(table.view)
            return self._end(table)

    def add_rows(self, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], shown: str) -> Table:
        """Like `add` for rows, which are read once, some at a time; what they raise leaves as it was raised."""
        table, chosen = self._begin(name, dict.fromkeys(columns, "VARCHAR"), shown)
        schema = pa.schema([(column, pa.string()) for column in columns])
        text = f"CREATE TABLE {table.view} AS SELECT {chosen} FROM given"
        run_on_batches(self.connection, text, "given", schema, _text_batches(schema, rows))
        return self._end(table)

    def _begin(self, name: str, types: Mapping[str, str], shown: str) -> tuple[Table, str]:
        """Return a new table and what is selected for it of columns of these types."""
        if name in self.tables:
            raise InputError(f"{shown}: a second table called {quote_line(name)}: rename one of them")
        table = Table(name, f"table_{len(self.tables)}")
        chosen = []
        for column, type_ in types.items():
            quoted, is_list = quote_name(column), type_.endswith("[]")
            if is_list:
                chosen.append(f"CAST({quoted} AS VARCHAR[]) AS {quoted}")
            elif "BLOB" not in type_:
                text = f"trim(CAST({quoted} AS VARCHAR))"
                chosen.append(f"CASE WHEN {text} NOT IN ('', 'NULL', '\\N') THEN {text} END AS {quoted}")
            else:
                continue
            table.columns[column] = Column(column, is_list=is_list)
        if not chosen:
            raise InputError(f"{shown}: expected columns of text or numbers, found none")
        return table, ", ".join(chosen)

    def _end(self, table: Table) -> Table:
        self.tables[table.name] = table
        self._look_at_columns(table)
        return table

    def rows(self, table: Table, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the number and the values of each row, by column; other queries may run meanwhile."""
        with self.connection.cursor() as cursor:
            cursor.execute(f"SELECT {', '.join(map(quote_name, columns))} FROM {table.view}")
            fetched = iter(lambda: cursor.fetchmany(_FETCHED_ROWS), [])
            for number, row in enumerate(chain.from_iterable(fetched), 1):
                yield number, dict(zip(columns, row, strict=True))

    def _look_at_columns(self, table: Table) -> None:
        """Count values, and find the type that all of a column have."""
        table.num_rows = self.value(f"SELECT count(*) FROM {table.view}")
        for name, column in table.columns.items():
            c = quote_name(name)
            if column.is_list:
                found = self.row(f"SELECT count({c}), count(DISTINCT {c}) FROM {table.view}")
                column.num, column.num_distinct = found
                continue
            tests = ", ".join(f"coalesce(bool_and(regexp_full_match({c}, '{form}')), false)" for _, form in _TYPES)
            counts = f"count({c}), count(DISTINCT {c}), coalesce(avg(length({c})), 0)"
            num, num_distinct, num_chars, *fits = self.row(f"SELECT {counts}, {tests} FROM {table.view}")
            column.num, column.num_distinct, column.num_chars = num, num_distinct, num_chars
            fitting = (type_ for (type_, _), fit in zip(_TYPES, fits, strict=True) if fit)
            self._give_type(table, column, next(fitting, ""))

    def _give_type(self, table: Table, column: Column, type_: str) -> None:
        c = quote_name(column.name)
        if type_ == "whole":  # whole numbers that pandas keeps as floats, since some are missing
            self.connection.execute(f"UPDATE {table.view} SET {c} = regexp_replace({c}, '\\.0$', '')")
        elif type_ == "midnight":
            self.connection.execute(f"UPDATE {table.view} SET {c} = left({c}, 10)")
        elif type_ == "dateTime":
            self.connection.execute(f"UPDATE {table.view} SET {c} = replace({c}, ' ', 'T')")
        elif type_ == "bytes":
            self.connection.execute(f"UPDATE {table.view} SET {c} = NULL")
            column.num = 0
        column.type = {"whole": "integer", "midnight": "date", "bytes": None, "": None}.get(type_, type_)

    def value(self, text: str) -> Any:
        return self.row(text)[0]

    def row(self, text: str) -> tuple[Any, ...]:
        return tuple(self.connection.execute(text).fetchall()[0])


_NUMBER = "((0|[1-9][0-9]*)(\\.[0-9]+)?|\\.[0-9]+)"
_TYPES = (
    ("bytes", "(0x|\\\\x)[0-9A-Fa-f]{16,}"),
    ("integer", "[-+]?(0|[1-9][0-9]*)"),
    ("whole", "[-+]?(0|[1-9][0-9]*)(\\.0)?"),
    ("decimal", f"[-+]?{_NUMBER}"),
    ("double", f"[-+]?{_NUMBER}([eE][-+]?[0-9]+)?"),
    ("boolean", "(?i)true|false"),
    ("date", "[0-9]{4}-[01][0-9]-[0-3][0-9]"),
    ("midnight", "[0-9]{4}-[01][0-9]-[0-3][0-9][ T]00:00(:00(\\.0+)?)?"),
    ("dateTime", "[0-9]{4}-[01][0-9]-[0-3][0-9][ T][0-9:.]{5,}(Z|[-+][0-9:]+)?"),
)
"""The types that texts of a column can all have, the first that fits; a zero that leads is no number's."""


def quote_name(name: str) -> str:
    """Return a name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def _quote_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def read_tables(path: str) -> Database:
    """Read all tables of a folder, a pattern or a file; raise `InputError` for what is none."""
    database = Database()
    listed = [each for each in list_files(path) if each == path or table_name(each)]
    warn_of_others(path, listed)
    files = [*map(RereadableFile, listed)]
    headers = {stem[: -len("-header")]: file for file in files if (stem := _stem(file)).endswith(_HEADERS)}
    for file in files:
        name = _stem(file)
        header = next((headers[start] for start in headers if name.startswith(start)), None)
        if header is file:
            continue
        start = file.first_bytes(16)
        if start.startswith(SQLITE):
            _read_sqlite(database, file.shown)
        elif start[8:12] == DUCKDB:
            _read_duckdb(database, file.shown)
        elif start.startswith(PARQUET):
            with _translate_errors(file.shown):
                database.add(name, database.connection.read_parquet(file.shown), file.shown)
        else:
            _read_csv(database, file, name, header)
    if not database.tables:
        raise InputError(f"{path}: expected tables (CSV, TSV, parquet, SQLite or DuckDB), found none")
    database.digest = digest_of("tables", {}, [f"{file.name} {file.digest()}" for file in files])
    return database


_HEADERS = ("-header", "_header")
"""How the stem of a file ends that has the header of others."""


_TRIPLES = {"relation", "predicate", "property", "rel", "edge", "relationship"}
"""What a column of triples is called that only such a file has."""


def looks_like_tables(path: str) -> bool:
    """Return whether a folder or a file holds tables, rather than triples or text."""
    files = [each for each in list_files(path) if each == path or table_name(each)]
    if not files:
        return False
    start = RereadableFile(files[0]).first_bytes(_HEAD_BYTES)
    if start.startswith(SQLITE) or start[8:12] == DUCKDB:
        return True
    if start.startswith(PARQUET):
        names = parquet_columns(RereadableFile(files[0]))
        return bool(names) and columns_by_name(names) is None and not {"graph", "subgraph"} & set(names)
    if not table_name(files[0]) or not start.strip():
        return False
    return _is_table(start.decode("utf-8", "replace"), len(files))


def _is_table(head: str, num_files: int) -> bool:
    """Return whether the first lines are a table's: they have a header, and that is not of triples."""
    try:
        separator, names = _read_header(head, "")
    except InputError:
        return False
    rows = [*islice(csv.reader(StringIO(head, newline=""), delimiter=separator), 1, 1_000)]
    rows = [row for row in (rows[:-1] if len(rows) > 1 and len(head) >= _HEAD_BYTES // 4 else rows) if any(row)]
    if {name.strip().lower() for name in names} & _TRIPLES:
        return False
    if len(names) < 2 or not rows:
        return not rows and len(names) > 1 and (num_files > 1 or len(names) != 3)
    is_triples = len(names) == 3 and why_table([names, *(row for row in rows if len(row) == 3)]) is None
    return not is_triples and _is_header(names, rows)


_HEADER = re.compile(
    r"(?:.*[\W_])?(?i:id|name|title|label|key|code|type|date|description|source|target)"
    r"|.+[\W_][Nn]o|.*[a-z](?:I[Dd]|Name|Title|Label|Key|Code|Type|Date|Description|No)|[a-z]+(?:id|name|title|label|description)"
)
"""Names of columns; a city may be called Madrid."""


def _has_numbers(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Return whether a column has nothing but numbers."""
    columns = [*zip(*(row for row in rows if len(row) == width), strict=True)]
    return any(all(re.fullmatch(r"[-+]?\d+(\.\d+)?", value) for value in column) for column in columns)


def _is_header(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a first line is a header: numbers are below what is none, or it is written as one."""
    plain = [name.strip().rstrip(":") for name in names]
    is_named = any(_HEADER.fullmatch(name) or ":" in name for name in plain)
    is_lower = all(re.fullmatch(r"[a-z][a-z0-9_ ]*", name.strip()) for name in names)
    return (
        _has_numbers(rows, len(names))
        or is_named
        or (is_lower and not {*plain} & {cell for row in rows for cell in row})
    )


def table_name(path: str) -> str:
    """Return the name of the table that a file by its name is, empty for another file."""
    stem = unpacked_name(Path(path).name)
    return _without(stem, ENDINGS) if stem.lower().endswith(ENDINGS) else ""


def _stem(file: RereadableFile) -> str:
    return table_name(file.name) or Path(file.name).stem


def _without(name: str, endings: Sequence[str]) -> str:
    return next((name[: -len(end)] for end in endings if name.lower().endswith(end)), name)


@contextmanager
def _translate_errors(shown: str) -> Iterator[None]:
    """Raise what DuckDB finds wrong with a table as `InputError` in one line."""
    try:
        yield
    except duckdb.Error as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = lines[0].removeprefix("Invalid Input Error: ").removeprefix("IO Error: ")
        raise InputError(f"{shown}: cannot be read as a table: {reason}") from error


def _read_csv(database: Database, file: RereadableFile, name: str, header: RereadableFile | None) -> None:
    """Read a file with a header, or whose header is in a file of its own, as `neo4j-admin` has them."""
    shown = file.shown
    head = file.first_bytes(_HEAD_BYTES)
    if not head.strip():
        raise InputError(f"{shown}: expected a table, found an empty file")
    separator, names = _read_header(
        (header.first_bytes(_HEAD_BYTES) if header else head).decode("utf-8", "replace"), shown
    )
    with file.open_buffered() as buffered:
        text = TextIOWrapper(buffered, "utf-8", newline="")
        csv.field_size_limit(MAX_FIELD_BYTES)
        reader = csv.reader(text, delimiter=separator, strict=True)
        try:
            if not header:
                next(reader)
            rows = _whole_rows(reader, len(names), separator, shown, database.notes)
            database.add_rows(name, names, rows, shown)
        except UnicodeDecodeError as error:
            raise InputError(
                f"{shown}: expected UTF-8, found byte 0x{error.object[error.start]:02x} after line {reader.line_num}: "
                "convert it, as by `iconv -f latin1 -t utf-8`"
            ) from error
        except csv.Error as error:
            raise InputError(f"{shown}:{reader.line_num}: cannot be read as a table: {error}") from error


def _whole_rows(reader: Any, width: int, separator: str, shown: str, notes: Counter[str]) -> Iterator[list[str]]:
    """Yield the rows but blank ones; raise `InputError` for one that has other than `width` fields.

    In a row that is too long, a field that begins with a blank continues the one before: `12,Rua do Paço, 67,Rio`.
    """
    for row in reader:
        if len(row) == width:
            yield row
        elif len(row) > width and len(mended := _join_fields(row, separator)) == width:
            notes["lines with a separator within a field, which are mended"] += 1
            yield mended
        elif any(row):
            raise InputError(f"{shown}:{reader.line_num}: expected {width} fields, found {len(row)}")


def _join_fields(row: Sequence[str], separator: str) -> list[str]:
    found: list[str] = []
    for each in row:
        if found and each.startswith(" "):
            found[-1] += separator + each
        else:
            found.append(each)
    return found


def _read_header(head: str, shown: str) -> tuple[str, list[str]]:
    """Return the separator, and the names of the columns in the first line; equal ones get numbers."""
    candidates = []
    for separator in (",", ";", "\t", "|"):
        rows = [*islice(csv.reader(StringIO(head, newline=""), delimiter=separator), 20)]
        widths = Counter(len(row) for row in rows[:-1] or rows)
        candidates.append((len(rows[0]) > 1, widths[len(rows[0])], len(rows[0]), separator, rows[0]))
    *_, separator, names = max(candidates, key=lambda each: each[:3])
    if numbers := [name for name in names if re.fullmatch(r"\s*[-+]?[\d.,]+\s*", name)]:
        raise InputError(f"{shown}: expected the names of columns in the first line, found {quote_line(numbers[0])}")
    found: dict[str, None] = {}
    for number, name in enumerate(map(str.strip, names), 1):
        called = name or f"column {number}"
        found[called if called.lower() not in map(str.lower, found) else f"{called} {number}"] = None
    return separator, list(found)


def _read_sqlite(database: Database, path: str) -> None:
    """Read SQLite by Python's own reader: DuckDB's is an extension that it fetches."""
    try:
        address = f"file:{Path(path).resolve()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=2, check_same_thread=False)) as source:
            source.text_factory = lambda raw: raw.decode("utf-8", "replace")
            listed = source.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
            for (name,) in listed.fetchall():
                rows = source.execute(f"SELECT * FROM {quote_name(name)}")
                columns = [column for column, *_ in rows.description]
                table = database.add_rows(name, columns, rows, path)
                info = source.execute(f"PRAGMA table_info({quote_name(name)})").fetchall()
                table.key = tuple(row[1] for row in sorted(info, key=lambda row: row[5]) if row[5])
                table.is_declared = bool(table.key)
                declared: dict[int, list[tuple[str, str, str]]] = {}
                for number, _, target, column, to, *_ in source.execute(f"PRAGMA foreign_key_list({quote_name(name)})"):
                    declared.setdefault(number, []).append((column, target, to or ""))
                for parts in declared.values():
                    target = tuple(to for _, _, to in parts if to)
                    table.references.append(Reference(tuple(column for column, *_ in parts), parts[0][1], target))
    except sqlite3.Error as error:
        raise InputError(f"{path}: the SQLite file cannot be read: {error}") from error


def _text_batches(schema: pa.Schema, rows: Iterable[Sequence[Any]]) -> Iterator[pa.RecordBatch]:
    for some in split_batches(rows, 10_000):
        texts = [[_text(value) for value in column] for column in zip(*some, strict=True)]
        yield pa.record_batch([pa.array(column, pa.string()) for column in texts], schema=schema)


def _text(value: object) -> str | None:
    return None if value is None or isinstance(value, bytes) else str(value)


def _read_duckdb(database: Database, path: str) -> None:
    connection = database.connection
    with _translate_errors(path):
        connection.execute(f"ATTACH {_quote_text(path)} AS source (READ_ONLY)")
        listed = connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'source' AND NOT internal"
        ).fetchall()
        for schema, name in listed:
            database.add(name, connection.sql(f"FROM source.{quote_name(schema)}.{quote_name(name)}"), path)
        constraints = connection.execute(
            "SELECT table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names "
            "FROM duckdb_constraints() WHERE database_name = 'source'"
        ).fetchall()
        for name, kind, columns, target, target_columns in constraints:
            table = database.tables[name]
            if kind == "PRIMARY KEY":
                table.key, table.is_declared = tuple(columns), True
            elif kind == "FOREIGN KEY":
                table.references.append(Reference(tuple(columns), target, tuple(target_columns)))
        connection.execute("DETACH source")
