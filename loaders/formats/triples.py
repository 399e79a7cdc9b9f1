"""Read files of triples: TSV and CSV, JSON lines and parquet, and those of public data sets.

In TSV and CSV a value is a tail that is written like one, that the names file does not have and that is no head. What
the lines of a file tell of it is a pattern; the stage then knows the names and the heads. A record of JSON or parquet
has a triple: head, relation and tail, or other usual names, and perhaps is_literal, datatype and language.

The names file has an id and a name a line, parted by tabs. Further columns are aliases, and so are the names of further
lines for the same id. Without a names file the ids are the names, as in graphs that have no other; with one, a tail
that it does not name may be a value, and any other id that it does not name is an unnamed mediator.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from ...engine.data_model import XSD
from ...engine.errors import InputError
from ...engine.writing import RelationMetadata
from ...models import quote_line
from .. import source
from ..reading import PARQUET, RereadableFile, format_columns, read_json_records, read_parquet
from ..source import FREEBASE_ID, NO_ID, FileSource, StatementRow, read_languages
from .columns import (
    IMPORTER_COLUMN,
    NUM_COLUMNS,
    NUMERIC,
    SEPARATORS,
    find_separator,
    find_table_sign,
    find_triple_columns,
    split_cells,
)

FORMS = (
    r"[+-]?(?:[0-9]+(?:[.,][0-9]+)*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?%?",
    r"[+-]?[0-9]{4,}-[0-9]{1,2}(?:-[0-9]{1,2})?(?:[Tt ][^\t]*)?"
    r"|[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4}|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?",
    r"(?i:true|false|yes|no)",
    r"[^ @/]+@[^ @/]+\.[^ @/]+|(?i:https?://|www\.)[^ ]+",
    r"(?s:.*[^ ] +[^ ].*)",
)
"""Patterns of RE2 and of Python's: numbers, dates and times, yes and no, e-mail and web addresses, text of several
words."""


def value_pattern(ids: Iterable[str]) -> str | None:
    """Return the pattern of tails that are values unless they are named or heads.

    A form that most of `ids`, which have names, are written in is one of ids in this graph. None if all are.
    """
    known = list(ids)
    forms = [form for form in FORMS if 2 * sum(re.fullmatch(form, id_) is not None for id_ in known) <= len(known)]
    return "|".join(f"(?:{form})" for form in forms) or None


_AS_TABLE = "load it as a table by `lodestar load tables FILE`, or give --columns 1,2,3 if these are triples"


def _are_quoted(lines: Sequence[str], separator: str) -> bool:
    pattern = re.compile(rf'(?=")(?:(?:"(?:[^"]|"")*"|{NUMERIC})(?:{re.escape(separator)}|$))+')
    return all(map(pattern.fullmatch, lines))


class DelimitedSource(FileSource):
    """Triples in lines, and, optionally, names.

    `columns` are three numbers (from 1) or, where there is a header, names. With `literals`, a tail written as
    ``value^^datatype`` or in the syntax of N-Triples is a literal, and one that is written as a value, that the names
    file does not name and that is no head.
    """

    parser = "delimited"
    usual_separator: ClassVar[str]
    quoted: ClassVar[bool] = False
    looks_at_columns: ClassVar[bool] = True  # whether a table is told from triples

    def __init__(
        self,
        path: str,
        names_path: str | None = None,
        *,
        columns: Sequence[str] | None = None,
        has_header: bool | None = None,
        literals: bool = True,
    ) -> None:
        if columns is not None and len(columns) != NUM_COLUMNS:
            raise InputError(
                f"expected three columns, those of head, relation and tail, found {quote_line(','.join(columns))}"
            )
        self.unnamed_ids = NO_ID if names_path is None else None
        self._columns = columns
        self._has_header = has_header
        self._literals = literals
        options = {"columns": columns and list(columns), "has_header": has_header, "literals": literals}
        super().__init__(path, names_path, **options)

    def parameters(self, file: RereadableFile) -> Mapping[str, object]:
        """Return where the triples of a file are, by its first lines; raise `InputError` where that is unclear."""
        file.quoted = self.quoted
        lines = [(number, text) for number, text in file.first_lines() if text] or [(1, "")]
        number, first = lines[0]
        place = f"{file.shown}:{number}"
        separator, quoted = self.usual_separator, self.quoted
        if self.looks_at_columns:
            separator = find_separator(first, separator, quoted)
            quoted = quoted or _are_quoted([text for _, text in lines], separator)
        file.quoted = quoted
        rows = [split_cells(text, separator, quoted) for _, text in lines]
        cells = rows[0]
        called = find_triple_columns(cells)
        parted = f"parted by {SEPARATORS[separator]}"
        expected = f"{len(cells)} columns {parted}, as in the first line"
        has_header = called is not None if self._has_header is None else self._has_header
        chosen, width = (1, 2, 3), len(cells)
        if self._columns is not None:
            chosen, has_header = self._chosen_columns(self._columns, cells, place)
        elif called is None and any(map(IMPORTER_COLUMN.fullmatch, cells)):
            raise InputError(
                f"{place}: the columns are called as neo4j-admin's nodes or relationships are: load their folder by "
                f"`lodestar load tables`: {quote_line(first)}"
            )
        elif has_header and called:
            chosen = called
        elif len(cells) > NUM_COLUMNS:
            raise InputError(
                f"{place}: expected head, relation and tail {parted}, found {len(cells)} columns: {_AS_TABLE}: "
                f"{quote_line(first)}"
            )
        else:
            width, expected = NUM_COLUMNS, f"head, relation and tail {parted}"
            looks = self.looks_at_columns and self._has_header is None and self.names_file is None
            if looks and (reason := find_table_sign([row for row in rows if len(row) == NUM_COLUMNS])):
                raise InputError(f"{place}: expected triples, found a table ({reason}): {_AS_TABLE}")
        return {
            "separator": separator,
            "quoted": quoted,
            "columns": list(chosen),
            "width": width,
            "expected": expected,
            "header_line": number if has_header else 0,
            "literals": self._literals,
            "value_pattern": self._value_pattern(),
        }

    def _chosen_columns(self, columns: Sequence[str], cells: Sequence[str], place: str) -> tuple[tuple[int, ...], bool]:
        if all(column.isascii() and column.isdigit() for column in columns):
            chosen = tuple(map(int, columns))
            if not all(1 <= column <= len(cells) for column in chosen):
                has = f"{len(cells)}: {quote_line(', '.join(cells))}"
                raise InputError(f"{place}: expected columns {','.join(columns)}, found only {has}")
            return chosen, find_triple_columns(cells) == chosen
        for name in columns:
            if cells.count(name) != 1:
                has = quote_line(", ".join(cells))
                raise InputError(f"{place}: expected one column called {quote_line(name)}, found {has}")
        return tuple(cells.index(name) + 1 for name in columns), True

    def _value_pattern(self) -> str | None:
        if self.names_file is None or not self._literals:
            return None
        return value_pattern(text.partition("\t")[0] for _, text in self.names_file.first_lines() if text)


class TsvSource(DelimitedSource):
    """Triples parted by tabs; quotes are text, unless all columns are in them."""

    kind = "tsv"
    endings = (".tsv",)
    usual_separator = "\t"


class CsvSource(DelimitedSource):
    """Triples parted by commas, semicolons, tabs or bars; a column may stand in double quotes, over several lines too.

    Spaces around a column are none of it.
    """

    kind = "csv"
    endings = (".csv",)
    usual_separator = ","
    quoted = True


class MetaqaSource(DelimitedSource):
    kind = "metaqa"
    usual_separator = "|"
    looks_at_columns = False

    def __init__(self, path: str) -> None:
        super().__init__(path, has_header=False, literals=False)


class PathquestionSource(MetaqaSource):
    kind = "pathquestion"
    usual_separator = "\t"


class Fb2mSource(FileSource):
    """Freebase's subsets as SimpleQuestions has them: `www.freebase.com/m/…`, a relation, and one or several tails."""

    kind = parser = "fb2m"


FREEBASE = "http://rdf.freebase.com/ns/"


@cache
def _noise_rules() -> tuple[str, ...]:
    text = Path(__file__).with_name("freebase_noise.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


class FreebaseSource(FileSource):
    """The raw RDF dump, in which a triple is a line with tabs, or a part of it.

    Names are those in the given languages, spelled as in the dump (``en``, ``pt-br``); `*` is every other.
    """

    kind = parser = "freebase"
    max_rejects = 1_000

    def __init__(self, path: str, *, languages: Sequence[str] = ("en",)) -> None:
        self.languages, self._all = read_languages(languages)
        super().__init__(path, languages=self.languages, all_languages=self._all, noise=list(_noise_rules()))

    def parameters(self, file: RereadableFile) -> Mapping[str, object]:  # noqa: ARG002
        relations = (re.escape(rule).replace(r"\*", "(?s:.*)") for rule in _noise_rules() if " " not in rule)
        return {
            "languages": list(self.languages),
            "all_languages": self._all,
            "noise_relations": "|".join(relations),
            "noise_statements": [rule for rule in _noise_rules() if " " in rule],
        }


_WORLD = Path(__file__).with_name("geonames")


class GeonamesSource(TsvSource):
    """The countries, capitals, cities, currencies, languages and neighbours that are shipped.

    They have relations of Freebase, whose range and inverse `relations.tsv` has. The terms of the data: `TERMS.txt`.
    """

    kind = "geonames"

    def __init__(self) -> None:
        triples, names = (str(_WORLD / f"{name}.tsv.gz") for name in ("triples", "names"))
        super().__init__(triples, names, has_header=False, literals=False)
        self.name = "GeoNames"

    def options(self) -> Mapping[str, object]:
        return {"relations": hashlib.sha256((_WORLD / "relations.tsv").read_bytes()).hexdigest()}

    def relation_facts(self) -> Mapping[str, RelationMetadata]:
        with (_WORLD / "relations.tsv").open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file, delimiter="\t")
            return {
                row["relation"]: RelationMetadata(row["range"], row["inverse"] or None, row["label"] or None)
                for row in rows
            }


_TRIPLE = ("head", "relation", "tail")
_GRAPHS = ("graph", "subgraph")
_OPTIONAL = ("is_literal", "datatype", "language")
_columns_by_name = lru_cache(find_triple_columns)


class JsonLinesSource(FileSource):
    """A file of triples, a folder or a pattern of such files, and, optionally, one of names."""

    kind = "jsonl"
    endings: Sequence[str] = (".jsonl", ".ndjson", ".json")

    def __init__(self, path: str, names_path: str | None = None) -> None:
        self.unnamed_ids = NO_ID if names_path is None else None
        super().__init__(path, names_path)

    def rows(self, file: RereadableFile) -> Iterator[StatementRow]:
        return map(_triple_of, _records(file, _TRIPLE))


class ParquetSource(JsonLinesSource):
    kind = "parquet"
    endings = (".parquet",)


def _records(file: RereadableFile, wanted: Sequence[str]) -> Iterator[tuple[int, Any, str]]:
    if file.first_bytes(len(PARQUET)) != PARQUET:
        for line, record, fault in read_json_records(file):
            is_list = isinstance(record, list) and not (len(record) == len(_TRIPLE) and all(map(is_valid_id, record)))
            yield from ((line, each, fault) for each in (record if is_list else [record]))
        return

    def choose(found: Sequence[str]) -> list[str]:
        if wanted == _GRAPHS and (graphs := [name for name in _GRAPHS if name in found]):
            return graphs
        called = _columns_by_name(tuple(found)) if wanted == _TRIPLE else None
        columns = [found[place - 1] for place in called] if called else list(wanted)
        if missing := [name for name in columns if name not in found]:
            raise InputError(f"{file.shown}: expected a column {missing[0]}, found {format_columns(found)}")
        return [*columns, *(name for name in _OPTIONAL if name in found)]

    number = 0
    as_they_are = wanted == _GRAPHS
    for batch in read_parquet(file, choose, 16 if as_they_are else source.BATCH_ROWS):
        texts = [
            column if as_they_are or pa.types.is_boolean(column.type) else column.cast(pa.string())
            for column in batch.columns
        ]
        for record in pa.record_batch(texts, names=batch.schema.names).to_pylist():
            number += 1
            yield number, record, ""


def _triple_of(found: tuple[int, Any, str]) -> StatementRow:
    line, record, fault = found
    if fault:
        return source.reject_row(line, fault, record)
    if isinstance(listed := found[1], list) and len(listed) == len(_TRIPLE):
        return _triple_of((line, dict(zip(_TRIPLE, listed, strict=True)), ""))
    fields = list(record) if isinstance(record, dict) else []
    values: list[Any] = [record[fields[place - 1]] for place in _columns_by_name(tuple(fields)) or ()]
    if not values or not all(map(is_valid_id, values[:2])) or values[2] is None:
        reason = "expected a head, a relation and a tail that are text"
        return source.reject_row(line, reason, str(record))
    head, relation, tail = values
    if is_valid_id(tail) and not record.get("is_literal"):
        return source.triple_row(line, head, relation, tail)
    datatype = {bool: "boolean", int: "integer", float: "double"}.get(type(tail))
    text = tail if isinstance(tail, str) else json.dumps(tail, ensure_ascii=False)
    written = record.get("datatype") or (datatype and f"{XSD}{datatype}")
    return StatementRow(line, "triple", head, relation, text, True, written, record.get("language"))


class RogSource(FileSource):
    """The file of questions."""

    kind = "rog"
    unnamed_ids = FREEBASE_ID

    def rows(self, file: RereadableFile) -> Iterator[StatementRow]:
        for line, record, fault in _records(file, _GRAPHS):
            graph = next((record[name] for name in _GRAPHS if name in record), None) if isinstance(record, dict) else 0
            items = graph.get("tuples") if isinstance(graph, dict) else graph
            if fault or not isinstance(items, list):
                reason = fault or "expected a list called graph or subgraph, found none"
                yield source.reject_row(line, reason, str(record))
                continue
            for number, item in enumerate(items, 1):
                if isinstance(item, list) and len(item) == len(_TRIPLE) and all(map(is_valid_id, item)):
                    yield source.triple_row(line, *item)
                else:
                    reason = f"expected a head, a relation and a tail that are text as item {number} of the graph"
                    yield source.reject_row(line, reason, str(item))


def is_valid_id(value: object) -> bool:
    """Return whether this can be an id: non-empty text without zero bytes and lone surrogates."""
    if not isinstance(value, str) or not value or "\0" in value:
        return False
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
