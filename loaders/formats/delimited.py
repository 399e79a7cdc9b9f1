"""Read triples from TSV and CSV files, and from MetaQA's and PathQuestion's.

A value is a tail that is written like one, that the names file does not have and that is no head. What the lines of a
file tell of it is a pattern; the stage then knows the names and the heads.

The names file has an id and a name a line, parted by tabs. Further columns are aliases, and so are the names of further
lines for the same id. Without a names file the ids are the names, as in graphs that have no other; with one, a tail
that it does not name may be a value, and any other id that it does not name is an unnamed mediator.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import ClassVar, Literal

from ...engine.errors import InputError
from ...models import quote_line
from ...models.wording import AUXILIARIES, PREPOSITIONS, read_lexicon, translate_label
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
_OF_IMPORTER = re.compile(r"[^:]*:(?:ID|START_ID|END_ID|LABEL|TYPE)(?:\(.*\))?", re.IGNORECASE)
"""How the columns of neo4j-admin's files are called."""
_NUMERIC = r"[+-]?[\d.,]+(?:[eE][+-]?\d+)?%?|\d{4}-\d\d(?:-\d\d)?.*|\d{1,2}:\d\d(?::\d\d)?"
_AS_TABLE = "load it as a table by `lodestar load tables FILE`, or give --columns 1,2,3 if these are triples"
SEPARATORS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}


def columns_by_name(cells: Sequence[str]) -> tuple[int, ...] | None:
    """Return the columns, from 1, that are called head, relation and tail or the like, each by one cell."""
    called = [_NO_WORD.sub("", cell.lower()) for cell in cells]
    for of_column in (_HEADER_WORDS, tuple(map(frozenset.union, _HEADER_WORDS, _OTHER_HEADER_WORDS))):
        found = [[i for i, word in enumerate(called, 1) if word in words] for words in of_column]
        if all(len(places) == 1 for places in found):
            return tuple(places[0] for places in found)
    return None


LEAST_SAME = 7
"""In so many rows a column that is always the same is no chance."""


def why_table(rows: Sequence[Sequence[str]]) -> str | None:
    """Return why the first rows of a file with three columns and no header that is known are no triples, if so.

    The first row of a table is unlike the others. Else something has to speak for a relation in the middle: how it is
    written, ids of one form on both sides, an entity that is a head and a tail, or that it is the same in all rows.
    """
    if len(rows) < 2:
        return None
    header, rest = rows[0], rows[1:]
    columns = [[row[place] for row in rest] for place in range(NUM_COLUMNS)]
    heads, relations, tails = columns
    words = [_NO_WORD.sub("", cell.lower()) for cell in header]
    is_alone = all(cell not in column for cell, column in zip(header, columns, strict=True))
    are_words = all(re.fullmatch(r"[^\W\d_]\w{0,39}(?: \w{1,12})?", cell) for cell in header)
    num_unlike = sum(_style(cell) not in set(map(_style, column)) for cell, column in zip(header, columns, strict=True))
    is_apart = len(set(heads)) == len(heads) and set(heads).isdisjoint(tails)
    different = set(relations)
    num_said = sum(map(_reads_as_relation, different))
    is_code = not num_said and any(re.search(r"\d", relation) for relation in different)
    reasons = {
        "the columns are called as those of neo4j-admin's nodes": any(
            re.fullmatch(r"[^:]*:(?:ID|LABEL)(?:\(.*\))?", cell) for cell in header
        ),
        "the header names two ends and no relation": all(
            any(word in _HEADER_WORDS[end] and len(word) > 1 for word in words) for end in (0, 2)
        ),
        "the relations are numbers, dates, or yes and no": set(map(_style, relations)) <= {"number", "flag"},
        "the first row is unlike the others, as a header is": is_alone
        and are_words
        and (num_unlike > 1 or (len(rest) > 2 and (num_unlike > 0 or (is_apart and len(different) > 1)))),
        "the heads are amounts, dates, or yes and no": all(
            _style(head) == "flag" or re.fullmatch(r"[+-]?\d+[.,]\d+|\d{4}-\d\d-\d\d.*", head) for head in heads
        ),
        "the relations are proper names": all(
            re.fullmatch(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*", relation) for relation in relations
        ),
        "nearly every row has its own relation": len(rest) > 3
        and len(different) > 0.7 * len(rest)
        and (2 * num_said < len(different) or any("://" in relation for relation in different)),
        "nothing tells that the second column has relations": len(rest) > 2
        and (len(different) > 1 or len(rest) < LEAST_SAME)
        and 2 * num_said < len(different)
        and not _are_ids(heads, tails)
        and (is_code or set(filter(_LETTER.search, heads)).isdisjoint(tails)),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


_LETTER = re.compile(r"[^\W\d_]")
_NAMED = re.compile(r"[^\W\d][./:#][^\W\d]|[^\W\d_]_[^\W\d_]|[a-z][A-Z]")
"""What names of programs and of vocabularies have in them: people.person.born, has_part, bornIn."""


MOST_WORDS = 6
"""The most words of a relation."""


def _reads_as_relation(text: str) -> bool:
    """Return whether a text is written as a relation is, rather than as a value of a column.

    As a name of a vocabulary; as words with a preposition that is not the first of several (born in, in; not in
    progress), or that an auxiliary begins (is part, has_part); or as the lexicon of relations has it.
    """
    words = text.lower().replace("_", " ").split() or [""]
    is_linked = not PREPOSITIONS.isdisjoint(words[1:]) or words[0] in AUXILIARIES or text.lower() in PREPOSITIONS
    is_other = (
        len(words) > MOST_WORDS or text.endswith(("?", ".", "!")) or (len(words) > 1 and words[0] in PREPOSITIONS)
    )
    is_known = text in read_lexicon().relations or (text.islower() and bool(translate_label(text)))
    return not is_other and (is_linked or is_known or ("@" not in text and _NAMED.search(text) is not None))


def _are_ids(heads: Sequence[str], tails: Sequence[str]) -> bool:
    """Return whether both sides have ids of one form with letters and digits, as Q42 and m.0abc are."""
    forms = [{re.sub(r"[a-z\d]+", "a", cell) for cell in column if re.search(r"\d", cell)} for column in (heads, tails)]
    return len(forms[0]) == 1 and bool(forms[0] & forms[1]) and all(map(_LETTER.search, heads))


def _style(cell: str) -> str:
    """Return how a cell is written: as a number or a time, yes or no, in small letters, or as other text."""
    styles = {
        "number": re.fullmatch(_NUMERIC, cell),
        "flag": cell.lower() in {"yes", "no", "true", "false"},
        "name": re.search(r"\w[./:#]\w", cell),
        "lower": re.fullmatch(r"[^\W\dA-Z][^A-Z ]*(?:[A-Z][a-z]*|[ _-][^\WA-Z]+)*", cell),
        "phrase": " " in cell,
    }
    return next((style for style, fits in styles.items() if fits), "text")


def find_separator(line: str, usual: str, quoted: bool) -> str:
    """Return the separator of a line: the usual one, or another that parts it in three or more."""
    return next((each for each in (usual, *SEPARATORS) if len(cut(line, each, quoted)) >= NUM_COLUMNS), usual)


def cut(line: str, separator: str, quoted: bool) -> list[str]:
    """Return the columns of a line."""
    if not quoted or '"' not in line:
        return [cell.strip(" ") for cell in line.split(separator)]
    rows = csv.reader(StringIO(line, newline=""), delimiter=separator, skipinitialspace=True)
    return [cell.strip(" ") for cell in next(rows)]


def _are_quoted(lines: Sequence[str], separator: str) -> bool:
    """Return whether all columns of some lines are quoted, but for numbers, as other programs write TSV."""
    pattern = re.compile(rf'(?=")(?:(?:"(?:[^"]|"")*"|{_NUMERIC})(?:{re.escape(separator)}|$))+')
    return all(map(pattern.fullmatch, lines))


class DelimitedSource(FileSource):
    """Triples in lines, and, optionally, names.

    `columns` are three numbers (from 1) or, where there is a header, names. With `literals`, a tail written as
    ``value^^datatype`` or in the syntax of N-Triples is a literal. `values` says which tails are literals that
    the names file does not name and that are no heads: those that are written as values, all, or none.
    """

    reads = LineReader
    usual_separator: ClassVar[str]
    quoted: ClassVar[bool] = False
    looks_at_columns: ClassVar[bool] = True
    """Whether a table is told from triples."""

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
        super().__init__(path, names_path)

    def options(self) -> Mapping[str, object]:
        return {
            **({"values": self._values} if self.names_file else {}),
            "columns": None if self._columns is None else list(self._columns),
            "has_header": self._has_header,
            "literals": self._literals,
            "names": self.names_file is not None,
        }

    def parts(self) -> Iterator[Part]:
        pattern = self._value_pattern()
        for file in self.files:
            yield LineFile(
                file, "delimited", {**self._layout(file), "literals": self._literals, "value_pattern": pattern}
            )
        if self.names_file:
            yield LineFile(self.names_file, "names", {})

    def _layout(self, file: LineReader) -> Mapping[str, object]:
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
        elif called is None and any(map(_OF_IMPORTER.fullmatch, cells)):
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
        }

    def _chosen_columns(self, columns: Sequence[str], cells: Sequence[str], place: str) -> tuple[tuple[int, ...], bool]:
        """Return the columns that the user names, and whether the first line is a header."""
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
    """MetaQA's kb.txt."""

    kind = "metaqa"
    usual_separator = "|"
    looks_at_columns = False

    def __init__(self, path: str) -> None:
        super().__init__(path, has_header=False, literals=False)


class PathquestionSource(DelimitedSource):
    """PathQuestion's kb.txt."""

    kind = "pathquestion"
    usual_separator = "\t"
    looks_at_columns = False

    def __init__(self, path: str) -> None:
        super().__init__(path, has_header=False, literals=False)


class Fb2mSource(FileSource):
    """Freebase's subsets as SimpleQuestions has them: `www.freebase.com/m/…`, a relation, and one or several tails."""

    kind = "fb2m"
    reads = LineReader

    def options(self) -> Mapping[str, object]:
        return {"names": self.names_file is not None}

    def parts(self) -> Iterator[Part]:
        yield from (LineFile(file, "fb2m", {}) for file in self.files)
        if self.names_file:
            yield LineFile(self.names_file, "names", {})
