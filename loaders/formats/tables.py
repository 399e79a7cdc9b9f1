"""Read tables into DuckDB: a folder of CSV, TSV or parquet, one such file, a SQLite or DuckDB file.

What they mean is found by `relational_tables.py`.
"""

from __future__ import annotations

import csv
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from ...engine.errors import InputError
from ...models import quote_line
from .. import reading
from ..reading import NOT_UTF8, PARQUET, RereadableFile
from ..source import record_batches
from ..stage import execute_with_batches_as_table
from .columns import find_triple_columns, has_importer_columns, is_table, read_header

_JSON_ENDINGS = (".json", ".jsonl", ".ndjson")
ENDINGS = (".csv", ".tsv", ".txt", ".parquet")
_SQLITE = b"SQLite format 3\0"
_DUCKDB = b"DUCK"  # what a DuckDB file has after eight bytes
_MAX_FIELD_BYTES = 256_000_000
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


class Reference(NamedTuple):
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
    joins: tuple[Reference, Reference] | None = None  # the two ends where the table is a relationship
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
        self.notes: Counter[str] = Counter()  # what was assumed when they were read, with counts

    def add(self, name: str, relation: duckdb.DuckDBPyRelation, shown: str) -> Table:
        """Take over a table; raise `InputError` for two of one name and for what DuckDB cannot read."""
        with _translate_errors(shown):
            types = dict(zip(relation.columns, map(str, relation.types), strict=True))
            return self._add(name, types, shown, lambda view, chosen: relation.project(chosen).create(view))

    def add_rows(
        self,
        name: str,
        columns: Sequence[str],
        rows: Iterable[Sequence[Any]],
        shown: str,
        lists: Collection[str] = (),
    ) -> Table:
        """Like `add` for rows, which are read once, some at a time; what they raise leaves as it was raised.

        lists: the columns that hold lists of texts.
        """
        types = {column: pa.list_(pa.string()) if column in lists else pa.string() for column in columns}
        schema = pa.schema(list(types.items()))

        def fill(view: str, chosen: str) -> None:
            text = f"CREATE TABLE {view} AS SELECT {chosen} FROM given"
            texts = ([_text(value, name in lists) for name, value in zip(columns, row, strict=True)] for row in rows)
            execute_with_batches_as_table(self.connection, text, "given", schema, record_batches(texts, schema))

        sql_types = {column: "VARCHAR[]" if column in lists else "VARCHAR" for column in columns}
        return self._add(name, sql_types, shown, fill)

    def _add(self, name: str, types: Mapping[str, str], shown: str, fill: Callable[[str, str], None]) -> Table:
        if name in self.tables:
            raise InputError(f"{shown}: a second table called {quote_line(name)}: rename one of them")
        table = Table(name, f"table_{len(self.tables)}")
        chosen = []
        for column, type_ in types.items():
            quoted, is_list = quote_name(column), type_.endswith("[]")
            if "BLOB" in type_:
                continue
            text = f"trim(CAST({quoted} AS VARCHAR))"
            if is_list:
                chosen.append(f"CAST({quoted} AS VARCHAR[]) AS {quoted}")
            else:
                chosen.append(f"CASE WHEN {text} NOT IN ('', 'NULL', '\\N') THEN {text} END AS {quoted}")
            table.columns[column] = Column(column, is_list=is_list)
        if not chosen:
            raise InputError(f"{shown}: expected columns of text or numbers, found none")
        fill(table.view, ", ".join(chosen))
        self.tables[table.name] = table
        table.num_rows = self.value(f"SELECT count(*) FROM {table.view}")
        for each in table.columns.values():
            self._look_at(table, each)
        self._read_thousands(table)
        return table

    def rows(self, table: Table, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        with self.connection.cursor() as cursor:
            cursor.execute(f"SELECT {', '.join(map(quote_name, columns))} FROM {table.view}")
            fetched = iter(lambda: cursor.fetchmany(_FETCHED_ROWS), [])
            for number, row in enumerate(chain.from_iterable(fetched), 1):
                yield number, dict(zip(columns, row, strict=True))

    def _look_at(self, table: Table, column: Column) -> None:
        c = quote_name(column.name)
        asked = [f"count({c})", f"count(DISTINCT {c})"]
        if not column.is_list:
            asked += [
                f"coalesce(avg(length({c})), 0)",
                *(f"bool_and(regexp_full_match({c}, '{form}'))" for _, form, _ in _TYPES),
            ]
        counted = self.connection.execute(f"SELECT {', '.join(asked)} FROM {table.view}").fetchall()[0]
        column.num, column.num_distinct, *of_texts = counted
        if column.is_list or not column.num:
            return
        column.num_chars, *fits = of_texts
        fitting = [each for each, fit in zip(_TYPES, fits, strict=True) if fit]
        if {_DAY_FIRST, _MONTH_FIRST} <= {*fitting}:
            fitting = []  # nothing tells the day from the month
        for type_, form, change in fitting:
            if form == _COMPACT_DATE and "date" not in column.name.lower():
                continue
            column.type = type_
            column.num = 0 if change == "NULL" else column.num
            if change:
                self.connection.execute(f"UPDATE {table.view} SET {c} = {change.replace('value', c)}")
            return

    def part_lists(self, table: Table) -> None:
        """Make lists of texts that are parted by bars or semicolons and share their parts, as `Crime|Drama` does."""
        for column in table.columns.values():
            if column.type is not None or column.is_list or not column.num or column.name in table.key:
                continue
            c = quote_name(column.name)
            marked = self.connection.execute(
                f"SELECT count_if(contains({c}, '|')), count_if(contains({c}, ';')) FROM {table.view}"
            ).fetchall()[0]
            mark = "|;"[marked.index(max(marked))]
            parts = f"string_split_regex({c}, '\\s*[{mark}]\\s*')"
            if max(marked) < _LEAST_LISTS * column.num:
                continue
            kept = f"list_filter({parts}, lambda part: part <> '')"
            is_shared, longest, is_whole = self.connection.execute(
                f"SELECT coalesce(bool_or(num > 1 AND is_list), false), max(length(part)), "
                f"(SELECT bool_and(len({kept}) > 0) FROM {table.view} WHERE {c} IS NOT NULL) "
                f"FROM (SELECT part, count(*) AS num, bool_or(is_list) AS is_list FROM "
                f"(SELECT unnest({kept}) AS part, len({kept}) > 1 AS is_list FROM {table.view}) GROUP BY part)"
            ).fetchall()[0]
            if is_shared and is_whole and longest <= _MOST_PART_CHARS:
                self.connection.execute(f"ALTER TABLE {table.view} ALTER {c} TYPE VARCHAR[] USING {kept}")
                column.is_list = True

    def _read_thousands(self, table: Table) -> None:
        """Take 1.200 for 1200 in a table that has decimal commas in another column."""
        columns = {name: quote_name(name) for name in table.columns}
        texts = [
            c for name, c in columns.items() if table.columns[name].type is None and not table.columns[name].is_list
        ]
        commas = " OR ".join(f"bool_and(regexp_full_match({c}, '{_DECIMAL_COMMA}'))" for c in texts)
        if not commas or not self.value(f"SELECT coalesce({commas}, false) FROM {table.view}"):
            return
        for name, c in columns.items():
            column = table.columns[name]
            fits = rf"bool_and(regexp_full_match({c}, '[-+]?[1-9][0-9]{{0,2}}((\.[0-9]{{3}})+|)|[-+]?[0-9]+'))"
            if column.type == "decimal" and self.value(f"SELECT {fits} FROM {table.view}"):
                self.connection.execute(f"UPDATE {table.view} SET {c} = replace({c}, '.', '')")
                column.type = "integer"

    def value(self, text: str) -> Any:
        return self.connection.execute(text).fetchall()[0][0]

    def count_distinct(self, table: Table, columns: Sequence[str], but: str = "") -> int:
        have = " AND ".join(f"{quote_name(name)} IS NOT NULL" for name in columns)
        chosen = f"SELECT DISTINCT {quote_column_names(columns)} FROM {table.view} WHERE {have}"
        return int(self.value(f"SELECT count(*) FROM ({chosen} {but})"))


def quote_column_names(columns: Sequence[str]) -> str:
    return ", ".join(map(quote_name, columns))


_NUMBER = "((0|[1-9][0-9]*)(\\.[0-9]+)?|\\.[0-9]+)"
_DECIMAL_COMMA = "[-+]?[0-9]{1,3}((\\.[0-9]{3})*|[0-9]*),([0-9]{1,2}|[0-9]{4,})"
_COMPACT_DATE = "(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])"
_DAY, _MONTH = "(0?[1-9]|[12][0-9]|3[01])", "(0?[1-9]|1[0-2])"
_DAY_FIRST, _MONTH_FIRST = (
    ("date", f"{form}/[0-9]{{4}}", f"coalesce(strftime(try_strptime(value, '{written}/%Y'), '%Y-%m-%d'), value)")
    for form, written in ((f"{_DAY}/{_MONTH}", "%d/%m"), (f"{_MONTH}/{_DAY}", "%m/%d"))
)
_LEAST_LISTS = 0.2  # the least share of a column's texts that hold several values, so that all are lists
_MOST_PART_CHARS = 60
_TYPES = (
    (None, "(0x|\\\\x)[0-9A-Fa-f]{16,}", "NULL"),  # bytes
    ("date", _COMPACT_DATE, "concat(left(value, 4), '-', value[5:6], '-', value[7:8])"),
    ("integer", "[-+]?(0|[1-9][0-9]*)", ""),
    ("integer", "[-+]?(0|[1-9][0-9]*)(\\.0)?", "regexp_replace(value, '\\.0$', '')"),  # as pandas has them beside gaps
    ("decimal", f"[-+]?{_NUMBER}", ""),
    ("double", f"[-+]?{_NUMBER}([eE][-+]?[0-9]+)?", ""),
    ("boolean", "(?i)true|false", ""),
    ("date", "[0-9]{4}-[01][0-9]-[0-3][0-9]", ""),
    ("date", "[0-9]{4}-[01][0-9]-[0-3][0-9][ T]00:00(:00(\\.0+)?)?", "left(value, 10)"),
    (
        "date",
        f"{_DAY}\\.{_MONTH}\\.[0-9]{{4}}",
        "coalesce(strftime(try_strptime(value, '%d.%m.%Y'), '%Y-%m-%d'), value)",
    ),
    _DAY_FIRST,
    _MONTH_FIRST,
    ("dateTime", "[0-9]{4}-[01][0-9]-[0-3][0-9][ T][0-9:.]{5,}(Z|[-+][0-9:]+)?", "replace(value, ' ', 'T')"),
)
"""The types that texts of a column can all have, the first that fits, their form, and what becomes of a value; a zero
that leads is no number's, and eight digits are a date only where the column is called so."""


def quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


_HEADERS = ("-header", "_header")  # how the stem of a file ends that has the header of others


def read_tables(path: str) -> Database:
    database = Database()
    there = reading.list_files(path)
    listed = [each for each in there if each == path or _table_name(each)]
    listed = listed or [each for each in there if reading.unpacked_name(each).lower().endswith(_JSON_ENDINGS)]
    reading.warn_of_others(path, listed)
    files = {each: _table_name(each) or Path(reading.unpacked_name(each)).stem for each in listed}
    headers = {stem[: -len(_HEADERS[0])]: each for each, stem in files.items() if stem.endswith(_HEADERS)}
    for each, name in files.items():
        file = RereadableFile(each)
        header = next((headers[start] for start in headers if name.startswith(start)), None)
        if header == each:
            continue
        kind = _database_kind(start := file.first_bytes(_HEAD_BYTES))
        if kind == "sqlite":
            _read_sqlite(database, each)
        elif kind == "duckdb":
            _read_duckdb(database, each)
        elif not kind and start.lstrip()[:1] in (b"[", b"{"):
            _read_json(database, file, name)
        elif kind == "parquet":
            with _translate_errors(each):
                database.add(name, database.connection.read_parquet(each), each)
        else:
            head = RereadableFile(header).first_bytes(_HEAD_BYTES) if header else start
            _read_csv(database, file, name, head, has_header=header is None)
    if not database.tables:
        raise InputError(f"{path}: expected tables (CSV, TSV, parquet, SQLite or DuckDB), found none")
    return database


def _database_kind(start: bytes) -> str:
    if start.startswith((_SQLITE, PARQUET)):
        return "sqlite" if start.startswith(_SQLITE) else "parquet"
    return "duckdb" if start[8:12] == _DUCKDB else ""


def looks_like_tables(path: str) -> bool:
    """Return whether a folder or a file holds tables, rather than triples or text."""
    files = [each for each in reading.list_files(path) if each == path or _table_name(each)]
    heads = {each: RereadableFile(each).first_bytes(_HEAD_BYTES) for each in files}
    longest = max(heads, key=lambda each: len(heads[each]), default="")
    kind = _database_kind(heads.get(longest, b""))
    if kind == "parquet":
        names = reading.parquet_columns(RereadableFile(longest))
        return bool(names) and find_triple_columns(names) is None and not {"graph", "subgraph"} & set(names)
    texts = {each: start.decode("utf-8", "replace") for each, start in heads.items() if _table_name(each)}
    if len(files) > 1 and any(has_importer_columns(text) for text in texts.values()):
        return True
    return bool(kind) or (longest in texts and bool(texts[longest].strip()) and is_table(texts[longest], len(files)))


def _table_name(path: str) -> str:
    name = Path(reading.unpacked_name(path)).name
    return next((name[: -len(end)] for end in ENDINGS if name.lower().endswith(end)), "")


@contextmanager
def _translate_errors(shown: str) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = lines[0].removeprefix("Invalid Input Error: ").removeprefix("IO Error: ")
        raise InputError(f"{shown}: cannot be read as a table: {reason}") from error


def _read_csv(database: Database, file: RereadableFile, name: str, head: bytes, *, has_header: bool) -> None:
    shown = file.shown
    if not head.strip():
        raise InputError(f"{shown}: expected a table, found an empty file")
    separator, names = read_header(head.decode("utf-8", "replace"), shown)
    with file.open_buffered() as buffered:
        csv.field_size_limit(_MAX_FIELD_BYTES)
        reader = csv.reader(TextIOWrapper(buffered, "utf-8", newline=""), delimiter=separator, strict=True)
        try:
            if has_header:
                next(reader)
            database.add_rows(name, names, _whole_rows(reader, len(names), separator, shown, database.notes), shown)
        except UnicodeDecodeError as error:
            raise InputError(f"{shown}: {NOT_UTF8.format(error.object[error.start])}") from error
        except csv.Error as error:
            raise InputError(f"{shown}:{reader.line_num}: cannot be read as a table: {error}") from error


def _whole_rows(reader: Any, width: int, separator: str, shown: str, notes: Counter[str]) -> Iterator[list[str]]:
    """Yield the rows but blank ones; raise `InputError` for one that has other than `width` fields.

    In a row that is too long, a field that begins with a blank continues the one before: `12,Rua do Paço, 67,Rio`.
    """
    for row in reader:
        if len(row) > width:
            mended = [row[0]]
            for each in row[1:]:
                if each.startswith(" "):
                    mended[-1] += separator + each
                else:
                    mended.append(each)
            notes["lines with a separator within a field, which are mended"] += len(mended) == width
            row = mended if len(mended) == width else row  # noqa: PLW2901
        if len(row) == width:
            yield row
        elif any(row):
            raise InputError(f"{shown}:{reader.line_num}: expected {width} fields, found {len(row)}")


def _read_sqlite(database: Database, path: str) -> None:
    """Read SQLite by Python's own reader: DuckDB's is an extension that it fetches."""
    try:
        address = f"file:{Path(path).resolve()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=2, check_same_thread=False)) as source:
            source.text_factory = lambda raw: raw.decode("utf-8", "replace")
            listed = source.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
            for (name,) in listed.fetchall():
                rows = source.execute(f"SELECT * FROM {quote_name(name)}")
                table = database.add_rows(name, [column for column, *_ in rows.description], rows, path)
                info = source.execute(f"PRAGMA table_info({quote_name(name)})").fetchall()
                table.key = tuple(row[1] for row in sorted(info, key=lambda row: row[5]) if row[5])
                table.is_declared = bool(table.key)
                declared: dict[int, list[tuple[str, str, str]]] = {}
                for number, _, target, column, to, *_ in source.execute(f"PRAGMA foreign_key_list({quote_name(name)})"):
                    declared.setdefault(number, []).append((column, target, to or ""))
                for parts in declared.values():
                    columns, targets, to = zip(*parts, strict=True)
                    table.references.append(Reference(columns, targets[0], tuple(filter(None, to))))
    except sqlite3.Error as error:
        raise InputError(f"{path}: the SQLite file cannot be read: {error}") from error


def _read_json(database: Database, file: RereadableFile, name: str) -> None:
    """Read records: on lines, in a list, in lists by name, each a table, or as the results of a SPARQL query.

    An object in a record is columns, as `address city`; of lists those of plain values are read.
    """
    columns: dict[str, dict[str, bool]] = {}
    notes = Counter[str]()
    for called, row in _json_rows(file, name):
        known = columns.setdefault(called, {})
        for key, value in _flat(row, notes):
            known[key] = known.get(key, False) or isinstance(value, list)
    for called, known in columns.items():
        rows = (dict(_flat(row, Counter())) for of, row in _json_rows(file, name) if of == called)
        lists = [key for key, is_list in known.items() if is_list]
        database.add_rows(called, [*known], ([row.get(key) for key in known] for row in rows), file.shown, lists)
    database.notes += notes


def _json_rows(file: RereadableFile, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for line, record, fault in reading.read_json_records(file):
        if fault:
            raise InputError(f"{file.shown}:{line}: {fault}")
        tables: dict[str, Any] = {name: record if isinstance(record, list) else [record]}
        lists = record.values() if isinstance(record, dict) else ()
        if lists and all(isinstance(each, list) and each and all(isinstance(i, dict) for i in each) for each in lists):
            tables = dict(record)
        results = record.get("results") if isinstance(record, dict) else None
        if isinstance(results, dict) and isinstance(results.get("bindings"), list):
            tables = {name: [{key: of["value"] for key, of in row.items()} for row in results["bindings"]]}
        for called, rows in tables.items():
            for row in rows:
                if not isinstance(row, dict):
                    raise InputError(f"{file.shown}:{line}: expected objects, found {quote_line(str(row))}")
                yield called, row


def _flat(row: Mapping[str, Any], notes: Counter[str], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in row.items():
        if isinstance(value, dict):
            yield from _flat(value, notes, f"{before}{key} ")
        elif isinstance(value, list) and any(isinstance(item, list | dict) for item in value):
            notes["lists of objects, which are left out"] += 1
        else:
            yield f"{before}{key}", str(value).lower() if isinstance(value, bool) else value


def _text(value: object, is_list: bool) -> Any:
    if value is None or isinstance(value, bytes):
        return None
    return [str(item) for item in (value if isinstance(value, list) else [value])] if is_list else str(value)


def _read_duckdb(database: Database, path: str) -> None:
    connection = database.connection
    with _translate_errors(path):
        address = path.replace("'", "''")
        connection.execute(f"ATTACH '{address}' AS source (READ_ONLY)")
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
