"""Which columns of a delimited file hold head, relation and tail: as told, by a header, or the only three."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...engine.errors import InputError
from ..message_text import shown

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
        cells = _quoted_cells(line, separator) if '"' in line else [cell.strip(" ") for cell in line.split(separator)]
    else:
        cells = line.split(separator)
    called = _called(cells)
    if columns is None:
        has_header = header == "yes" or (header == "auto" and called is not None)
        expected = f"head, relation and tail {parted}"
        _check_separator(cells, line, place, separator, expected)
        if len(cells) <= NUM_COLUMNS:
            return Layout(called if has_header and called else (1, 2, 3), NUM_COLUMNS, has_header, expected)
        if not has_header or called is None:
            raise InputError(
                f"{place}: expected {expected}, found {len(cells)} columns: "
                f"say which with --columns 1,2,3: {shown(line)}"
            )
        chosen = called
    else:
        numbers = [int(column) for column in columns if column.isascii() and column.isdigit()]
        by_number = len(numbers) == NUM_COLUMNS
        chosen = tuple(numbers) if by_number else _named(columns, cells, place, header)
        has_header = not by_number or header == "yes" or (header == "auto" and called == chosen)
        if not all(1 <= column <= len(cells) for column in chosen):
            raise InputError(f"{place}: expected columns {','.join(columns)}, found only {len(cells)}: {shown(line)}")
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
                f"{shown(line)}"
            )


def _quoted_cells(line: str, separator: str) -> list[str]:
    """Return the columns as the parser cuts them; all of the line where a quote is out of place."""
    before = re.escape(separator)
    blanks = "" if separator == " " else " *"
    column = re.compile(rf'{before}{blanks}(?:"((?:[^"]|"")*)"{blanks}|([^"{before}]*))')
    if not re.fullmatch(f"(?:{column.pattern})*", separator + line):
        return [line]
    return [quoted.replace('""', '"') or plain.strip(" ") for quoted, plain in column.findall(separator + line)]


def _called(cells: Sequence[str]) -> tuple[int, ...] | None:
    """Return the columns that are called head, relation and tail or the like, each by one cell."""
    called = [_NO_WORD.sub("", cell.lower()) for cell in cells]
    for of_column in (_HEADER_WORDS, tuple(map(frozenset.union, _HEADER_WORDS, _OTHER_HEADER_WORDS))):
        found = [[i for i, word in enumerate(called, 1) if word in words] for words in of_column]
        if all(len(places) == 1 for places in found):
            return tuple(places[0] for places in found)
    return None


def _named(columns: Sequence[str], cells: Sequence[str], place: str, header: Header) -> tuple[int, ...]:
    if header == "no":
        raise InputError(f"expected three numbers of columns, as there is no header, found {','.join(columns)}")
    for name in columns:
        if cells.count(name) != 1:
            raise InputError(f"{place}: expected one column called {shown(name)}, found {shown(', '.join(cells))}")
    return tuple(cells.index(name) + 1 for name in columns)
