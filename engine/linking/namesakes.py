"""Choose among entities of one name by what the question says beside it: a place, or a year.

"Paris, Texas" and "Paris (Texas)" mean the Paris that is linked with Texas, "the 1987 film Heat", "Heat (1987)" and
"Heat of 1987" the one with a date in that year. What was read so is part of the mention. Where no candidate has it,
nothing is chosen and the words stay unread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...models.wording import FUNCTION_WORDS
from ..neo4j import Request, Row, template
from .names import Mention, QuestionWords

if TYPE_CHECKING:
    from ..context import Database
    from ..neo4j.gateway import Gateway

Found = Sequence[tuple[QuestionWords, Sequence[Mention]]]

_NAME_AFTER = re.compile(r"(?:, ?| ?\()(?=\w)")
_YEAR_AFTER = re.compile(r"(?: ?\([^()\d]*|, | (?:of|from) (?:the year )?)(\d{4})(?!\w)(?:[^()]*\))?")
_YEAR_BEFORE = re.compile(r"\b(\d{4})(?:['’]s)?((?: [\w-]+){0,3}) ?[\"“']?$")
MAX_NEIGHBOURS = 200
"""Neighbours of a candidate that are looked at."""


@dataclass(frozen=True, slots=True)
class _Qualifier:
    """What stands beside a name, the tokens of both, and the ids of entities that it may be, or the year."""

    question: int
    name: tuple[int, int]
    both: tuple[int, int]
    ids: tuple[str, ...] = ()
    year: str = ""


def choose_namesakes(db: Database | Gateway, found: Found) -> list[list[Mention]]:
    """Return the mentions of each question, of a name with a place or a year beside it those that have it.

    One round trip if any name has.
    """
    mentions = [list(some) for _, some in found]
    qualifiers = [each for at, (words, some) in enumerate(found) for each in _find_qualifiers(at, words, some)]
    if not qualifiers:
        return mentions
    asked = [
        {
            "ids": [m.named.entity.id for m in mentions[each.question] if (m.start, m.end) == each.name],
            "others": list(each.ids),
            "year": each.year,
        }
        for each in qualifiers
    ]
    for each, fitting in zip(qualifiers, db.run(_find_fitting(asked)), strict=True):
        if fitting:
            mentions[each.question] = [
                replace(m, start=each.both[0], end=each.both[1]) if (m.start, m.end) == each.name else m
                for m in mentions[each.question]
                if (m.named.entity.id in fitting if (m.start, m.end) == each.name else not _is_within(m, each.both))
            ]
    return mentions


def _is_within(mention: Mention, span: tuple[int, int]) -> bool:
    return span[0] <= mention.start and mention.end <= span[1]


def _find_fitting(asked: Sequence[dict[str, Any]]) -> Request[list[set[str]]]:
    def decode(rows: Sequence[Row]) -> list[set[str]]:
        found: list[set[str]] = [set() for _ in asked]
        for place, id_ in rows:
            found[place].add(id_)
        return found

    return Request(template("find_namesakes"), {"asked": list(asked), "limit": MAX_NEIGHBOURS}, decode)


def _find_qualifiers(at: int, words: QuestionWords, mentions: Sequence[Mention]) -> Iterator[_Qualifier]:
    by_span: dict[tuple[int, int], list[str]] = {}
    for mention in mentions:
        if mention.similarity == 1 and mention.kind in ("whole", "unbracketed"):
            by_span.setdefault((mention.start, mention.end), []).append(mention.named.entity.id)
    for span in by_span:
        first, after = words.span(*span)
        if beside := _NAME_AFTER.match(words.text, after):
            for other, ids in by_span.items():
                if words.span(*other)[0] == beside.end():
                    yield _Qualifier(at, span, (span[0], other[1]), ids=tuple(ids))
        if year := _YEAR_AFTER.match(words.text, after):
            yield _Qualifier(at, span, (span[0], _end_token(words, year.end())), year=year[1])
        elif (year := _YEAR_BEFORE.search(words.text[:first])) and not FUNCTION_WORDS.intersection(year[2].split()):
            begin = next(place for place, token in enumerate(words.tokens) if token.start >= year.start())
            yield _Qualifier(at, span, (begin, span[1]), year=year[1])


def _end_token(words: QuestionWords, end: int) -> int:
    return sum(token.start < end for token in words.tokens)
