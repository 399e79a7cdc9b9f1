"""Turn relations and relation paths into words for a sentence encoder.

A *hop* is one directed relation, or the relations into an unnamed mediator and out of it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RelationWords:
    """The words of a relation: the type it leads from (empty if unknown) and its property or properties."""

    domain: str
    properties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Directed:
    """A relation with its direction."""

    words: RelationWords
    inverse: bool = False


Hop = tuple[Directed, ...]


def verbalise_hop(hop: Hop) -> str:
    """Return the words of a hop: the type it leaves, its properties, the type it reaches; no word twice.

    A relation's domain gives its type, so that a forward hop names the type it leaves, and an inverse hop the one it
    reaches: `a.b.c` is "b c", its inverse "c b"; `a.b.c|d.e.f` is "b c f", its inverse "c f b".
    """
    first, last = hop[0], hop[-1]
    properties = [part for directed in hop for part in directed.words.properties]
    if len(hop) > 1 and all(directed.inverse for directed in hop):
        properties.reverse()
    before = "" if first.inverse else first.words.domain
    after = last.words.domain if last.inverse else ""
    return without_repeats((before, *properties, after))


def reached_type(hop: Hop) -> str:
    """Return words for the kind of entity a hop reaches: its last property, or its domain if it is inverse.

    Empty if the domain is unknown.
    """
    last = hop[-1]
    return last.words.domain if last.inverse else last.words.properties[-1]


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
    return tuple(Directed(directed.words, not directed.inverse) for directed in reversed(hop))


def without_repeats(parts: Iterable[str]) -> str:
    """Return the words of the parts, each word only once, at its first place."""
    return " ".join(dict.fromkeys(" ".join(parts).split()))
