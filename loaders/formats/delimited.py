"""Read triples from TSV and CSV files, and from MetaQA's and PathQuestion's.

A value is a tail that is written like one, that the names file does not have and that is no head. What the lines of a
file tell of it is a pattern; the stage then knows the names and the heads.

The names file has an id and a name a line, parted by tabs. Further columns are aliases, and so are the names of further
lines for the same id. Without a names file the ids are the names, as in graphs that have no other; with one, a tail
that it does not name may be a value, and any other id that it does not name is an unnamed mediator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Literal

from ...engine.errors import InputError
from ...models import quote_line
from ..reading import RereadableFile
from ..source import NO_ID, FileSource
from .columns import NUM_COLUMNS, NUMERIC, OF_IMPORTER, SEPARATORS, columns_by_name, cut, find_separator, why_table

Values = Literal["auto", "all", "none"]

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
ANY = r"(?s:.*)"


def value_pattern(values: Values, ids: Iterable[str]) -> str | None:
    """Return the pattern of tails that are values unless they are named or heads; None where no tail is one.

    A form that most of `ids`, which have names, are written in is one of ids in this graph.
    """
    if values != "auto":
        return ANY if values == "all" else None
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
    ``value^^datatype`` or in the syntax of N-Triples is a literal. `values` says which tails are literals that
    the names file does not name and that are no heads: those that are written as values, all, or none.
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
        values: Values = "auto",
    ) -> None:
        if columns is not None and len(columns) != NUM_COLUMNS:
            raise InputError(
                f"expected three columns, those of head, relation and tail, found {quote_line(','.join(columns))}"
            )
        self.unnamed_ids = NO_ID if names_path is None else None
        self._columns = columns
        self._has_header = has_header
        self._literals = literals
        self._values: Values = values
        options = {"columns": columns and list(columns), "has_header": has_header, "literals": literals}
        super().__init__(path, names_path, **options, **({"values": values} if names_path else {}))

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
        rows = [cut(text, separator, quoted) for _, text in lines]
        cells = rows[0]
        called = columns_by_name(cells)
        parted = f"parted by {SEPARATORS[separator]}"
        expected = f"{len(cells)} columns {parted}, as in the first line"
        has_header = called is not None if self._has_header is None else self._has_header
        chosen, width = (1, 2, 3), len(cells)
        if self._columns is not None:
            chosen, has_header = self._chosen_columns(self._columns, cells, place)
        elif called is None and any(map(OF_IMPORTER.fullmatch, cells)):
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
            if looks and (reason := why_table([row for row in rows if len(row) == NUM_COLUMNS])):
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
            return chosen, columns_by_name(cells) == chosen
        for name in columns:
            if cells.count(name) != 1:
                has = quote_line(", ".join(cells))
                raise InputError(f"{place}: expected one column called {quote_line(name)}, found {has}")
        return tuple(cells.index(name) + 1 for name in columns), True

    def _value_pattern(self) -> str | None:
        if self.names_file is None or not self._literals:
            return None
        return value_pattern(
            self._values, (text.partition("\t")[0] for _, text in self.names_file.first_lines() if text)
        )


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
