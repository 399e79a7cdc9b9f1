"""Words for relations and relation paths: what a sentence encoder gets to see of a graph.

A *directed relation* is (name, inverse); a *hop* is one directed relation, or the relations into an unnamed mediator and
out of it again. Names are taken apart as Freebase writes them: `domain.type.property`, compound `a.b.c|d.e.f`. Names of
other graphs (`directed_by`, `placeOfBirth`) are their own words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Directed = tuple[str, bool]
Hop = tuple[Directed, ...]

_WORD_BREAK = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")


def words_of(identifier: str) -> str:
    """Return an identifier's words, in small letters: `placeOfBirth` and `place_of_birth` are "place of birth"."""
    return " ".join(filter(None, _WORD_BREAK.split(identifier))).lower()


def verbalise_relation(name: str, *, inverse: bool = False, range_: str | None = None) -> str:
    """Return the words of a directed relation: its domain's type, its property, its range's type; none twice."""
    words = verbalise_hop(((name, inverse),))
    return _once(words, words_of(range_.rpartition(".")[2])) if range_ else words


def verbalise_hop(hop: Hop) -> str:
    """Return the words of a hop: from the type it leaves, over its properties, to the type it reaches; none twice.

    `a.b.c|d.e.f` is "b c f", its inverse "c f b".
    """
    (first, leaves_backwards), (last, reaches_backwards) = hop[0], hop[-1]
    properties = [part for name, _ in hop for part in _properties(name)]
    if len(hop) > 1 and all(inverse for _, inverse in hop):
        properties.reverse()
    before = [] if leaves_backwards else [_domain(first)]
    after = [_domain(last)] if reaches_backwards else []
    return _once(*before, *properties, *after)


def reached_type(hop: Hop) -> str:
    """Return words for the kind of entity a hop reaches: its last property, or walked backwards the domain's type.

    Empty where the name does not tell.
    """
    name, inverse = hop[-1]
    return _domain(name) if inverse else _properties(name)[-1]


def verbalise_path(hops: Sequence[Hop]) -> str:
    """Return the words of its hops in walking order; a hop and the way back over the same relation is "same …"."""
    texts: list[str] = []
    at = 0
    while at < len(hops):
        text = verbalise_hop(hops[at])
        if at + 1 < len(hops) and hops[at + 1] == way_back(hops[at]):
            text, at = f"same {text}", at + 1
        texts.append(text)
        at += 1
    return " ".join(texts)


def way_back(hop: Hop) -> Hop:
    """Return the hop that leads back over the same relations."""
    return tuple((name, not inverse) for name, inverse in reversed(hop))


def _domain(name: str) -> str:
    segments = name.partition("|")[0].split(".")
    return words_of(segments[-2]) if len(segments) > 1 else ""


def _properties(name: str) -> list[str]:
    return [words_of(part.rpartition(".")[2]) or part for part in name.split("|")]


def _once(*parts: str) -> str:
    return " ".join(dict.fromkeys(" ".join(parts).split()))
