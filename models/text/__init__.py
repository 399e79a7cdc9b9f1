"""Turn relations and relation paths into words for a sentence encoder.

A *hop* is one directed relation, or the relations into an unnamed mediator and out of it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..wording.answer_kinds import NO_KIND, UNKNOWN, RelationEndProfile


@dataclass(frozen=True, slots=True, eq=False)
class RelationPhrases:
    """What a relation means to people, compared by identity: phrases that ask for its tail and for its head, best
    trusted first, and the kinds of things at its two ends."""

    forward: tuple[str, ...] = ()
    inverse: tuple[str, ...] = ()
    head: RelationEndProfile = NO_KIND
    tail: RelationEndProfile = NO_KIND


NO_MEANING = RelationPhrases()

TYPE_RELATIONS = ("type", "instance of", "is a")
"""The words of relations from things to what they are."""
SUBCLASS_RELATIONS = ("subclass of", "sub class of", "subtype of", "is a")
"""The words of relations from kinds to those that have all their things, too; what is a disease is a kind as well."""


@dataclass(frozen=True, slots=True)
class RelationWords:
    """The words of a relation: the type it leads from (empty if unknown) and its property or properties.

    `meaning` is for scorers that need no training; trained ones read the words that they were trained with.
    """

    domain: str
    properties: tuple[str, ...]
    meaning: RelationPhrases = field(default=NO_MEANING, repr=False)

    @property
    def is_type(self) -> bool:
        """Whether the relation leads from things to what they are."""
        return self.properties[-1] in TYPE_RELATIONS

    @property
    def has_alike_ends(self) -> bool:
        """Whether things of one kind, which is known, stand at both ends."""
        return self.meaning.head.kind == self.meaning.tail.kind != UNKNOWN


@dataclass(frozen=True, slots=True)
class DirectedRelation:
    """A relation with its direction."""

    words: RelationWords
    inverse: bool = False


Hop = tuple[DirectedRelation, ...]


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
    return join_without_repeats((before, *properties, after))


def verbalise_directed_hop(hop: Hop) -> str:
    """Return the words of a hop; where both directions have the same words, the inverse one is "… backwards"."""
    text = verbalise_hop(hop)
    return f"{text} backwards" if hop[0].inverse and text == verbalise_hop(reverse_hop(hop)) else text


def list_hop_phrases(hop: Hop) -> tuple[str, ...]:
    """Return what people say for a hop beside its own words; through a mediator what they say for either half."""
    found = [
        phrase
        for each in reversed(hop)
        for phrase in (each.words.meaning.inverse if each.inverse else each.words.meaning.forward)
    ]
    return tuple(dict.fromkeys(found))


def find_end_kind(hop: Hop) -> RelationEndProfile:
    """Return the kind of thing that a hop leads to."""
    last = hop[-1]
    return last.words.meaning.head if last.inverse else last.words.meaning.tail


def find_end_type(hop: Hop) -> str:
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
        if at + 1 < len(hops) and hops[at + 1] == reverse_hop(hops[at]):
            text, at = f"same {text}", at + 1
        texts.append(text)
        at += 1
    return " ".join(texts)


def reverse_hop(hop: Hop) -> Hop:
    """Return the hop that leads back over the same relations."""
    return tuple(DirectedRelation(directed.words, not directed.inverse) for directed in reversed(hop))


def join_without_repeats(parts: Iterable[str]) -> str:
    """Return the words of the parts, each word only once, at its first place."""
    return " ".join(dict.fromkeys(" ".join(parts).split()))


def split_name(name: str) -> list[list[str]]:
    """Return the words of each part of a relation's name, the most special last.

    `film.film.directed_by` is film, film, "directed by"; of a URI the last part counts; parts of a compound relation
    are separated by `|` or `./`. Underscores and camel case are opened.
    """
    parts = [re.split(r"[/#]", name.rstrip("/#"))[-1:]] if "://" in name else _split_dotted(name)
    return [[_open_camel_case(word.replace("_", " ")) for word in part] for part in parts]


def _split_dotted(name: str) -> list[list[str]]:
    return [[word for word in re.split(r"[./]", part) if word] or [part] for part in re.split(r"\||\./", name)]


def _open_camel_case(word: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])(?=[a-z])", lambda match: f" {match[1].lower()}", word)
