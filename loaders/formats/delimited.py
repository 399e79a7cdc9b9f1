"""Read triples from TSV and CSV files, and from MetaQA's and PathQuestion's.

A value is a tail that is written like one, that the names file does not have and that is no head. What the lines of a
file tell of it is a pattern; the stage then knows the names and the heads.

The names file has an id and a name a line, parted by tabs. Further columns are aliases, and so are the names of further
lines for the same id. Without a names file the ids are the names, as in graphs that have no other; with one, a tail
that it does not name may be a value, and any other id that it does not name is an unnamed mediator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from ...engine.errors import InputError
from ...models.message_text import quote_line
from ..reading.files import derive_source_name, list_files
from ..reading.lines import LineReader
from ..source import NO_ID, FileSource, LineFile, Part

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


Header = Literal["auto", "yes", "no"]

NUM_COLUMNS = 3

_HEADER_WORDS = (
    frozenset("head headid subject subj source from h s".split()),
    frozenset("relation relationid rel predicate pred property edge r p".split()),
    frozenset("tail tailid object obj target to t o".split()),
)
_OTHER_HEADER_WORDS = (
    frozenset("headentity subjectid sourceid src fromid start startid startnode entity1 node1 e1".split()),
    frozenset("relationtype relationship relationshiptype reltype predicateid edgetype link type label".split()),
    frozenset("tailentity objectid targetid tgt toid end endid endnode dst destination entity2 node2 e2".split()),
)
"""Taken for what they say where the first do not tell. Both are without what is neither letter nor digit."""
_NO_WORD = re.compile(r"[\W_]+")
_SEPARATOR_WORDS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", " ": "spaces"}


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns a line has, and where its triple is."""

    columns: tuple[int, ...]
    """Of head, relation and tail, from 1."""
    width: int
    has_header: bool
    expected: str
    """What a line should be, for messages."""


def layout_of(
    line: str, place: str, separator: str, quoted: bool, columns: Sequence[str] | None, header: Header
) -> Layout:
    """Return the layout of a file whose first line is this one; raise `InputError` where it does not tell."""
    parted = f"parted by {_SEPARATOR_WORDS.get(separator, repr(separator))}"
    if quoted:
        cells = _split_quoted(line, separator) if '"' in line else [cell.strip(" ") for cell in line.split(separator)]
    else:
        cells = line.split(separator)
    called = _columns_by_name(cells)
    if columns is None:
        has_header = header == "yes" or (header == "auto" and called is not None)
        expected = f"head, relation and tail {parted}"
        _check_separator(cells, line, place, separator, expected)
        if len(cells) <= NUM_COLUMNS:
            return Layout(called if has_header and called else (1, 2, 3), NUM_COLUMNS, has_header, expected)
        if not has_header or called is None:
            raise InputError(
                f"{place}: expected {expected}, found {len(cells)} columns: "
                f"say which with --columns 1,2,3: {quote_line(line)}"
            )
        chosen = called
    else:
        numbers = [int(column) for column in columns if column.isascii() and column.isdigit()]
        by_number = len(numbers) == NUM_COLUMNS
        chosen = tuple(numbers) if by_number else _resolve_columns(columns, cells, place, header)
        has_header = not by_number or header == "yes" or (header == "auto" and called == chosen)
        if not all(1 <= column <= len(cells) for column in chosen):
            raise InputError(
                f"{place}: expected columns {','.join(columns)}, found only {len(cells)}: {quote_line(line)}"
            )
    return Layout(chosen, len(cells), has_header, f"{len(cells)} columns {parted}, as in the first line")


def _check_separator(cells: Sequence[str], line: str, place: str, separator: str, expected: str) -> None:
    """Raise `InputError` where the line looks parted by something else."""
    if len(cells) >= NUM_COLUMNS:
        return
    for other, words in _SEPARATOR_WORDS.items():
        if other not in (separator, " ") and line.count(other) == NUM_COLUMNS - 1:
            given = f"'{other}'" if other != "\t" else "$'\\t'"
            counted = "1 column" if len(cells) == 1 else f"{len(cells)} columns"
            raise InputError(
                f"{place}: expected {expected}, found {counted}: it looks parted by {words}: give --separator {given}: "
                f"{quote_line(line)}"
            )


def _split_quoted(line: str, separator: str) -> list[str]:
    """Return the columns as the parser cuts them; all of the line where a quote is out of place."""
    before = re.escape(separator)
    blanks = "" if separator == " " else " *"
    column = re.compile(rf'{before}{blanks}(?:"((?:[^"]|"")*)"{blanks}|([^"{before}]*))')
    if not re.fullmatch(f"(?:{column.pattern})*", separator + line):
        return [line]
    return [quoted.replace('""', '"') or plain.strip(" ") for quoted, plain in column.findall(separator + line)]


def _columns_by_name(cells: Sequence[str]) -> tuple[int, ...] | None:
    """Return the columns that are called head, relation and tail or the like, each by one cell."""
    called = [_NO_WORD.sub("", cell.lower()) for cell in cells]
    for of_column in (_HEADER_WORDS, tuple(map(frozenset.union, _HEADER_WORDS, _OTHER_HEADER_WORDS))):
        found = [[i for i, word in enumerate(called, 1) if word in words] for words in of_column]
        if all(len(places) == 1 for places in found):
            return tuple(places[0] for places in found)
    return None


def _resolve_columns(columns: Sequence[str], cells: Sequence[str], place: str, header: Header) -> tuple[int, ...]:
    if header == "no":
        raise InputError(f"expected three numbers of columns, as there is no header, found {','.join(columns)}")
    for name in columns:
        if cells.count(name) != 1:
            raise InputError(
                f"{place}: expected one column called {quote_line(name)}, found {quote_line(', '.join(cells))}"
            )
    return tuple(cells.index(name) + 1 for name in columns)


class DelimitedSource(FileSource):
    """A file of triples (``-`` is standard input), a folder or a pattern of such files, and, optionally, one of names;
    gzip or plain.

    `columns` are three numbers (from 1) or, where there is a header, names. With `literals`, a tail written as
    ``value^^datatype`` or in the syntax of N-Triples is a literal. `values` says which tails are literals that
    the names file does not name and that are no heads: those that are written as values, all, or none.
    """

    default_separator: ClassVar[str]
    quoted: ClassVar[bool] = False

    def __init__(
        self,
        path: str,
        names_path: str | None = None,
        *,
        separator: str | None = None,
        columns: Sequence[str] | None = None,
        header: Header = "auto",
        literals: bool = True,
        values: Values = "auto",
    ) -> None:
        if path == names_path == "-":
            raise InputError("stdin: expected triples or names, asked to be both")
        if columns is not None and len(columns) != NUM_COLUMNS:
            raise InputError(
                f"expected three columns, those of head, relation and tail, found {quote_line(','.join(columns))}"
            )
        self.unnamed_ids = NO_ID if names_path is None else None
        self._separator = self._check_separator(self.default_separator if separator is None else separator)
        self._columns = columns
        self._header: Header = header
        self._literals = literals
        self._values: Values = values
        files = list_files(path)
        self._files = [LineReader(each) for each in files]
        self._names = LineReader(names_path) if names_path is not None else None
        super().__init__([*self._files, *([self._names] if self._names else [])], derive_source_name(path, files))

    def options(self) -> Mapping[str, object]:
        return {
            **({"values": self._values} if self._names else {}),
            "separator": self._separator,
            "columns": None if self._columns is None else list(self._columns),
            "header": self._header,
            "literals": self._literals,
            "names": self._names is not None,
        }

    def parts(self) -> Iterator[Part]:
        pattern = self._value_pattern()
        for file in self._files:
            number, first = next(((number, text) for number, text in file.first_lines() if text), (1, ""))
            place = f"{file.shown}:{number}"
            layout = layout_of(first, place, self._separator, self.quoted, self._columns, self._header)
            parameters = {
                "separator": self._separator,
                "quoted": self.quoted,
                "columns": list(layout.columns),
                "width": layout.width,
                "expected": layout.expected,
                "header_line": number if layout.has_header else 0,
                "literals": self._literals,
                "value_pattern": pattern,
            }
            yield LineFile(file, "delimited", parameters)
        if self._names:
            yield LineFile(self._names, "names", {})

    def _value_pattern(self) -> str | None:
        if self._names is None or not self._literals:
            return None
        return value_pattern(self._values, (text.partition("\t")[0] for _, text in self._names.first_lines() if text))

    def _check_separator(self, separator: str) -> str:
        if not separator or set(separator) & set('"\r\n\0') or (self.quoted and len(separator) != 1):
            wanted = "one character" if self.quoted else "characters"
            raise InputError(
                f"expected a separator of {wanted}, no quote and no line end, found {quote_line(separator)}"
            )
        return separator


class TsvSource(DelimitedSource):
    """Triples parted by tabs or another separator, without quoting."""

    kind = "tsv"
    default_separator = "\t"


class CsvSource(DelimitedSource):
    """Triples parted by commas or another separator; a column may stand in double quotes, on one line.

    Spaces around a column are none of it.
    """

    kind = "csv"
    default_separator = ","
    quoted = True


class MetaqaSource(DelimitedSource):
    """The file (``-`` is standard input), gzip or plain."""

    kind = "metaqa"
    default_separator = "|"

    def __init__(self, path: str) -> None:
        super().__init__(path, header="no", literals=False)


class PathquestionSource(DelimitedSource):
    """The file (``-`` is standard input), gzip or plain."""

    kind = "pathquestion"
    default_separator = "\t"

    def __init__(self, path: str) -> None:
        super().__init__(path, header="no", literals=False)
