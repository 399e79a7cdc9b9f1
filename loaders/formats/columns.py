"""Tell what the columns of a text file are by its first rows: those of triples, or those of a table with a header."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from io import StringIO
from itertools import islice

from ...engine.errors import InputError
from ...models import quote_line
from ...models.wording import AUXILIARIES, PREPOSITIONS, read_lexicon, translate_label

NUM_COLUMNS = 3

_HEADER_WORDS = (
    frozenset("head headid subject subj source from h s".split()),
    frozenset("relation relationid rel predicate pred property edge r p".split()),
    frozenset("tail tailid object obj target to t o".split()),
)
_OTHER_HEADER_WORDS = (
    frozenset("headentity subjectid sourceid src fromid start startid startnode entity1 entityid node1 e1".split()),
    frozenset(
        "relationtype relationship relationshiptype reltype predicateid edgetype metaedge link type label".split()
    ),
    frozenset("tailentity objectid targetid tgt toid end endid endnode dst destination entity2 node2 e2".split()),
)
"""Taken for what they say where the first do not tell. Both are without what is neither letter nor digit."""
_NO_WORD = re.compile(r"[\W_]+")
IMPORTER_COLUMN = re.compile(r"[^:]*:(?:ID|START_ID|END_ID|LABEL|TYPE)(?:\(.*\))?", re.IGNORECASE)
"""How the columns of neo4j-admin's files are called."""
NUMERIC = r"[+-]?[\d.,]+(?:[eE][+-]?\d+)?%?|\d{4}-\d\d(?:-\d\d)?.*|\d{1,2}:\d\d(?::\d\d)?"
SEPARATORS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}


def find_triple_columns(cells: Sequence[str]) -> tuple[int, ...] | None:
    """Return the columns, from 1, that are called head, relation and tail or the like, each by one cell."""
    called = [_NO_WORD.sub("", cell.lower()) for cell in cells]
    for of_column in (_HEADER_WORDS, tuple(map(frozenset.union, _HEADER_WORDS, _OTHER_HEADER_WORDS))):
        found = [[i for i, word in enumerate(called, 1) if word in words] for words in of_column]
        if all(len(places) == 1 for places in found):
            return tuple(places[0] for places in found)
    return None


LEAST_SAME = 7  # in so many rows a column that is always the same is no chance


def find_table_sign(rows: Sequence[Sequence[str]]) -> str | None:
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
    is_code = not num_said and 2 * sum(bool(re.search(r"\d", relation)) for relation in different) > len(different)
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


def words_of(name: str) -> list[str]:
    """Return the words of a name that is written with blanks, underscores or capitals, in lower case."""
    parted = re.sub(r"([a-z\d])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3 \2\4", name)
    return [word.lower() for word in re.split(r"[\W_]+", parted) if word]


END_PAIRS = (
    ("source", "target"),
    ("from", "to"),
    ("src", "dst"),
    ("start", "end"),
    ("node1", "node2"),
    ("head", "tail"),
    ("subject", "object"),
    ("x", "y"),
)
"""How the columns of the two ends of an edge begin."""
_END_KEYS = ("id", "index", "", "identifier", "key", "code", "curie", "name", "label", "title", "node", "text")
"""How the columns go on that tell ends apart, the likeliest first."""
EndColumns = dict[str, tuple[str, str]]  # the columns of both ends by how they go on: id, name, type, or nothing


def find_end_columns(names: Sequence[str]) -> EndColumns | None:
    """Return the columns of a list of edges that tell its ends apart and say more of them, the likeliest keys first.

    What goes on otherwise than `_END_KEYS` or a kind are the ends of something else, as start_date and end_date.
    """
    by_words = {tuple(words_of(name)): name for name in names}
    relations = _HEADER_WORDS[1] | _OTHER_HEADER_WORDS[1]
    has_relation = any(_NO_WORD.sub("", name.lower()) in relations for name in names)
    for pair in END_PAIRS:
        starts, ends = ({words[1:]: name for words, name in by_words.items() if words[:1] == (each,)} for each in pair)
        both = {" ".join(rest): (starts[rest], ends[rest]) for rest in starts if rest in ends}
        keys = [each for each in _END_KEYS if each in both]
        is_plain = "" in keys and pair != ("x", "y")
        if is_plain or len(keys) > 1 or (keys not in ([], [""]) and (has_relation or len(names) == 2)):
            return {each: both[each] for each in (*keys, *(each for each in both if each not in keys))}
    return None


_LETTER = re.compile(r"[^\W\d_]")
_NAMED = re.compile(r"[^\W\d][./:#][^\W\d]|[^\W\d_]_[^\W\d_]|[a-z][A-Z]")
"""What names of programs and of vocabularies have in them: people.person.born, has_part, bornIn."""


MOST_WORDS = 6  # the most words of a relation


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
    forms = [{re.sub(r"[a-z\d]+", "a", cell) for cell in column if re.search(r"\d", cell)} for column in (heads, tails)]
    return len(forms[0]) == 1 and bool(forms[0] & forms[1]) and all(map(_LETTER.search, heads))


def _style(cell: str) -> str:
    styles = {
        "number": re.fullmatch(NUMERIC, cell),
        "flag": cell.lower() in {"yes", "no", "true", "false"},
        "name": re.search(r"\w[./:#]\w", cell),
        "lower": re.fullmatch(r"[^\W\dA-Z][^A-Z ]*(?:[A-Z][a-z]*|[ _-][^\WA-Z]+)*", cell),
        "phrase": " " in cell,
    }
    return next((style for style, fits in styles.items() if fits), "text")


def find_separator(line: str, usual: str, quoted: bool) -> str:
    """Return the separator of a line: the usual one, or another that parts it in three or more; of several, one after
    which quotes end where a cell does."""
    fitting = [each for each in (usual, *SEPARATORS) if len(split_cells(line, each, quoted)) >= NUM_COLUMNS]
    return next((each for each in fitting if not quoted or _quotes_end(line, each)), (*fitting, usual)[0])


def _quotes_end(line: str, separator: str) -> bool:
    try:
        next(csv.reader(StringIO(line, newline=""), delimiter=separator, skipinitialspace=True, strict=True))
    except csv.Error:
        return False
    return True


def split_cells(line: str, separator: str, quoted: bool) -> list[str]:
    if not quoted or '"' not in line:
        return [cell.strip(" ") for cell in line.split(separator)]
    rows = csv.reader(StringIO(line, newline=""), delimiter=separator, skipinitialspace=True)
    return [cell.strip(" ") for cell in next(rows)]


_TRIPLES = {"relation", "predicate", "property", "rel", "edge", "relationship"}
"""What a column of triples is called that only such a file has."""
_HEADER = re.compile(
    r"(?:.*[\W_])?(?i:id|name|title|label|key|code|type|date|description|source|target)"
    r"|.+[\W_][Nn]o|.*[a-z](?:I[Dd]|Name|Title|Label|Key|Code|Type|Date|Description|No)|[a-z]+(?:id|name|title|label|description)"
)
"""Names of columns; a city may be called Madrid."""
_VALUE = re.compile(rf"\s*(?:[$€£]?(?:{NUMERIC})|(?i:true|false))\s*")  # what is a value and no name of a column
_NO_NAME = re.compile(r"\s*(?:[/{<\[]|\w+://)")  # how no column is called: a path, an IRI, JSON
_LONG_BYTES = 1 << 14  # the last line of a longer text may be cut off


def read_header(head: str, shown: str) -> tuple[str, list[str]]:
    """Return the separator, and the names of the columns in the first line; equal ones get numbers."""
    candidates = []
    for separator in (",", ";", "\t", "|"):
        rows = [*islice(csv.reader(StringIO(head, newline=""), delimiter=separator), 20)]
        widths = Counter(len(row) for row in rows[:-1] or rows)
        candidates.append((len(rows[0]) > 1, widths[len(rows[0])], len(rows[0]), separator, rows[0]))
    *_, separator, names = max(candidates, key=lambda each: each[:3])
    if numbers := [name for name in names if _VALUE.fullmatch(name)]:
        raise InputError(f"{shown}: expected the names of columns in the first line, found {quote_line(numbers[0])}")
    found: dict[str, None] = {}
    for number, name in enumerate(map(str.strip, names), 1):
        called = name or f"column {number}"
        found[called if called.lower() not in map(str.lower, found) else f"{called} {number}"] = None
    return separator, list(found)


def has_importer_columns(head: str) -> bool:
    """Return whether the first line of a text has columns that are called as those of neo4j-admin's files."""
    cells = re.split(r"[,;\t|]", head.partition("\n")[0].strip())
    return any(map(IMPORTER_COLUMN.fullmatch, cells))


def is_table(head: str, num_files: int) -> bool:
    """Return whether the first lines of a file, or of the first of several, are a table's: a header and no triples."""
    try:
        separator, names = read_header(head, "")
    except InputError:
        return False
    rows = [*islice(csv.reader(StringIO(head, newline=""), delimiter=separator), 1, 1_000)]
    rows = [row for row in (rows[:-1] if len(rows) > 1 and len(head) >= _LONG_BYTES else rows) if any(row)]
    if len(find_end_columns(names) or ()) > 1:
        return bool(rows)  # a list of edges with more columns than triples have
    if {name.strip().lower() for name in names} & _TRIPLES or any(map(_NO_NAME.match, names)):
        return False
    if len(names) < 2 or not rows:
        return not rows and len(names) > 1 and (num_files > 1 or len(names) != NUM_COLUMNS)
    whole = [row for row in rows if len(row) == len(names)]
    columns = [*zip(*whole, strict=True)]
    is_known = find_triple_columns(names) is not None
    is_row = not is_known and any(name and name in column for name, column in zip(names, columns, strict=False))
    if is_row or (len(names) == NUM_COLUMNS and find_table_sign([names, *whole]) is None):
        return False
    plain = [name.strip().rstrip(":") for name in names]
    has_numbers = any(all(re.fullmatch(r"[-+]?\d+(\.\d+)?", value) for value in column) for column in columns)
    is_named = any(_HEADER.fullmatch(name) or ":" in name for name in plain)
    is_lower = all(re.fullmatch(r"[a-z][a-z0-9_ ]*", name.strip()) for name in names)
    return has_numbers or is_named or (is_lower and not {*plain} & {cell for row in rows for cell in row})
