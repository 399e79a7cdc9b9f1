"""Write noun phrases and questions of one hop: "the capital of {x}", "which country has {x} as its capital".

{x} stands for the topic, or for the noun phrase of the hops before. All are grammatical more often than not: what a
scorer has to learn is which words mean which relation, in which direction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..words import PREPOSITIONS
from .english import (
    Entry,
    Kind,
    RelationProperty,
    bare_phrase,
    is_held_out,
    plural,
    property_of,
    read_lexicon,
    singular,
)

_WH: dict[Kind, str] = {"person": "who", "place": "where", "time": "when", "number": "how much", "thing": "what"}
_THINGS = ("thing", "one")


@dataclass(frozen=True, slots=True)
class HopWording:
    """A hop as its words: the properties on the way, whether the last is walked from tail to head, what it reaches.

    reached: names of the kind of thing it leads to, several for one that go by several words; empty where not known.
    said: phrases by which people ask for it. held_out: use those phrases of people and the lexicon that `is_held_out`
    chooses, if true only these, if false only the others; None for all.
    """

    properties: tuple[str, ...]
    inverse: bool
    reached: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    held_out: bool | None = None

    def may_say(self, phrase: str) -> bool:
        """Return whether a phrase may be used."""
        return self.held_out is None or is_held_out(bare_phrase(phrase)) == self.held_out


@dataclass(frozen=True, slots=True)
class HopPhraseSet:
    """Noun phrases for what a hop leads to, and questions for it; kind: what sort of thing that is.

    own: how many of each, from the front, use the relation's own words. others: use only the rest, where there are any.
    """

    nouns: tuple[str, ...]
    asks: tuple[str, ...]
    kind: Kind
    own: tuple[int, int]
    others: bool = False


def phrases_of(hop: HopWording) -> HopPhraseSet:
    """Return what can be said of a hop, in its own words and then in others that people use for such relations."""
    lexicon = read_lexicon()
    last = property_of(hop.properties[-1])
    entry = lexicon.entry(hop.properties[-1])
    types = hop.reached or _THINGS
    if len(hop.properties) > 1:
        nouns, asks = _of_compound([property_of(each) for each in hop.properties], hop, types)
    elif hop.inverse:
        nouns, asks = _backwards(last, types)
    else:
        nouns, asks = _forwards(last, types)
    own = (len(nouns), len(asks))
    more_nouns, more_asks = _other_words(entry, hop, types)
    kind = _kind(hop, last)
    return HopPhraseSet((*nouns, *more_nouns), (*asks, *more_asks), kind, own, others=hop.held_out is True)


def wh_word(kind: Kind) -> str:
    """Return the word that asks for a kind of thing."""
    return _WH[kind]


def _kind(hop: HopWording, last: RelationProperty) -> Kind:
    lexicon = read_lexicon()
    of_types: list[Kind] = [kind for each in hop.reached if (kind := lexicon.kind(each)) != "thing"]
    if of_types:
        return of_types[0]
    if hop.inverse:
        return "thing"
    if last.shape == "by":
        return "person"
    if last.shape == "participle":
        return "time" if last.particle == "on" else "place" if last.particle in {"in", "at"} else "thing"
    return lexicon.kind(last.noun)


def _forwards(p: RelationProperty, types: tuple[str, ...]) -> tuple[list[str], list[str]]:
    t = types[0]
    if p.shape == "by":
        return (
            [
                f"the {p.agent} of {{x}}",
                f"{{x}}'s {p.agent}",
                f"the one who {p.verb} {{x}}",
                f"the people who {p.verb} {{x}}",
                f"the {t} {{x}} was {p.words}",
            ],
            [
                f"who {p.verb} {{x}}",
                f"who is {{x}} {p.words}",
                f"who was {{x}} {p.words}",
                f"by whom was {{x}} {p.words.rpartition(' ')[0]}",
                f"{{x}} was {p.words} whom",
                f"which {t} {p.verb} {{x}}",
                f"{{x}} {p.words}",
            ],
        )
    if p.shape == "participle":
        return (
            [f"the {t} {{x}} is {p.words}", f"the {t} that {{x}} was {p.words}", f"the {t} where {{x}} is {p.verb}"],
            [
                f"what is {{x}} {p.words}",
                f"where is {{x}} {p.verb}",
                f"where was {{x}} {p.verb}",
                f"which {t} was {{x}} {p.words}",
                f"{{x}} is {p.words} what",
                f"{p.particle} which {t} is {{x}} {p.verb}",
                f"when was {{x}} {p.verb}" if p.particle == "on" else f"{{x}} {p.words}",
            ],
        )
    if p.shape == "verb":
        return (
            [f"the {t} that {{x}} {p.words}", f"what {{x}} {p.words}", f"the {plural(t)} {{x}} {p.words}"],
            [
                f"what does {{x}} {p.base}",
                f"which {t} does {{x}} {p.base}",
                f"whom does {{x}} {p.base}",
                f"{{x}} {p.words} what",
                f"what did {{x}} {p.base}",
                f"what {plural(t)} does {{x}} {p.base}",
            ],
        )
    if p.shape == "of":
        return (
            [f"the {t} that {{x}} is the {p.words}", f"the {t} whose {p.noun} is {{x}}"],
            [
                f"what is {{x}} the {p.words}",
                f"{{x}} is the {p.words} which {t}",
                f"of which {t} is {{x}} the {p.noun}",
                f"what is {{x}} {p.words}",
                f"{{x}} is {p.words} what",
            ],
        )
    if p.shape == "name":
        return [f"the {p.words} of {{x}}", f"{{x}}'s {p.words}"], [f"{{x}} {p.words}", f"{p.words} of {{x}}"]
    noun, one, several = p.noun, singular(p.noun), plural(p.noun)
    return (
        [
            f"the {noun} of {{x}}",
            f"{{x}}'s {noun}",
            f"the {several} of {{x}}",
            f"{{x}}'s {several}",
            f"the {{x}} {noun}",
            f"the {one} that {{x}} has",
        ],
        [
            f"what {one} does {{x}} have",
            f"which {several} does {{x}} have",
            f"{{x}} has which {one}",
            f"what is the {noun} for {{x}}",
            f"{{x}} {noun}",
            f"{noun} {{x}}",
            *([f"in what {one} is {{x}}"] if p.particle in {"in", "on"} else ()),
        ],
    )


def _backwards(p: RelationProperty, types: tuple[str, ...]) -> tuple[list[str], list[str]]:
    nouns: list[str] = []
    asks: list[str] = []
    for t in types[:3]:
        many = plural(t)
        if p.shape == "by":
            nouns += [
                f"the {t} {p.words} {{x}}",
                f"the {many} {p.words} {{x}}",
                f"{{x}}'s {many}",
                f"the {many} {{x}} {p.verb}",
                f"the {t} whose {p.agent} is {{x}}",
            ]
            asks += [
                f"what did {{x}} {p.base}",
                f"which {many} were {p.words} {{x}}",
                f"which {many} did {{x}} {p.base}",
                f"what was {p.words} {{x}}",
                f"{{x}} {p.verb} what {t}",
                f"{{x}} is the {p.agent} of which {t}",
            ]
        elif p.shape == "participle":
            nouns += [f"the {t} {p.words} {{x}}", f"the {many} {p.words} {{x}}", f"{many} that are {p.words} {{x}}"]
            asks += [f"what is {p.words} {{x}}", f"which {many} are {p.words} {{x}}", f"who was {p.words} {{x}}"]
        elif p.shape == "verb":
            nouns += [f"the {t} that {p.words} {{x}}", f"the {many} that {p.base} {{x}}"]
            asks += [f"what {p.words} {{x}}", f"which {many} {p.base} {{x}}", f"who {p.words} {{x}}"]
        elif p.shape == "of":
            nouns += [f"the {p.words} {{x}}", f"{{x}}'s {p.noun}"]
            asks += [
                f"what is the {p.words} {{x}}",
                f"who is the {p.words} {{x}}",
                f"{{x}} {p.noun}",
                f"which {t} is {p.words} {{x}}",
            ]
        elif p.shape == "name":
            nouns += [f"the {t} with {p.words} {{x}}", f"the {t} whose {p.words} is {{x}}"]
            asks += [f"what has {p.words} {{x}}", f"which {many} have {p.words} {{x}}"]
        else:
            noun = singular(p.noun)
            nouns += [
                f"the {t} whose {noun} is {{x}}",
                f"the {many} with the {noun} {{x}}",
                f"the {t} that has {{x}} as its {noun}",
                f"{many} that have {{x}} as {noun}",
                f"{{x}} {many}",
            ]
            asks += [
                f"which {t} has {{x}} as its {noun}",
                f"{{x}} is the {noun} of which {t}",
                f"what is {{x}} the {noun} of",
                f"which {many} have the {noun} {{x}}",
                f"whose {noun} is {{x}}",
                f"for what {t} is {{x}} the {noun}",
            ]
            if p.particle:
                asks += [f"which {many} are {p.particle} {{x}}", f"what is {p.particle} {{x}}"]
    return nouns, asks


def _of_compound(parts: list[RelationProperty], hop: HopWording, types: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """A hop through a mediator: its properties in walking order."""
    names = list(dict.fromkeys(each.noun for each in parts))
    first, last = names[0], names[-1]
    t = types[0]
    if hop.inverse:
        both = " ".join(names)
        return (
            [
                f"the {t} whose {both} is {{x}}",
                f"the {plural(t)} with {{x}} as {both}",
                f"{{x}}'s {t}",
                f"the {t} that has {{x}} as its {last}",
            ],
            [
                f"which {t} has {{x}} as {both}",
                f"{{x}} is the {last} of which {t}",
                f"whose {first} is {{x}}",
                f"what {plural(t)} have {{x}} as {first}",
            ],
        )
    return (
        [
            f"the {last} of {{x}}'s {first}",
            f"the {last} of {{x}}",
            f"{{x}}'s {last}",
            f"the {first} {last} of {{x}}",
            f"{{x}}'s {first}",
            f"the {plural(last)} of {{x}}",
        ],
        [
            f"what {last} does {{x}} have",
            f"which {last} is {{x}}'s {first}",
            f"{{x}} {first} {last}",
            f"what is the {first} of {{x}}",
            f"which {plural(last)} does {{x}} have as {first}",
        ],
    )


def _other_words(entry: Entry, hop: HopWording, types: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield noun phrases, then questions: people's own, and the lexicon's."""
    t = types[0]
    said = [_word_phrase(phrase) for phrase in hop.said if hop.may_say(phrase) and not {"{", "}"} & set(phrase)]
    nouns, asks = ([form for forms in said for form in forms[place]] for place in (0, 1))
    if hop.inverse:
        nouns += [_fill_type(each, t) for each in filter(hop.may_say, entry.back)]
        nouns += [f"the {t} whose {each} is {{x}}" for each in filter(hop.may_say, entry.nouns[1:])]
        asks += [_fill_type(each, t) for each in filter(hop.may_say, entry.inverse)]
    else:
        nouns += [
            form for each in filter(hop.may_say, entry.nouns) for form in (f"the {each} of {{x}}", f"{{x}}'s {each}")
        ]
        asks += [_fill_type(each, t) for each in filter(hop.may_say, entry.asks)]
    yield nouns
    yield asks


_STANDS_FOR_TOPIC = frozenset("somebody someone something they them it he him she one".split())
_BELONGS_TO_TOPIC = frozenset("their its his her somebody's someone's".split())
_ASKS = frozenset("who whom whose what which where when how why in on at for to from by with".split())


def _word_phrase(phrase: str) -> tuple[list[str], list[str]]:
    """Return noun phrases and questions that contain what people say for a relation.

    "what can somebody do" is asked with the topic in place of somebody, "who looks after" with it at the end; of
    "good at" and "birthday" both orders are possible, and only what is a noun makes noun phrases.
    """
    words = phrase.split()
    for place, word in enumerate(words):
        if place and (
            fills := "{x}"
            if word.lower() in _STANDS_FOR_TOPIC
            else "{x}'s"
            if word.lower() in _BELONGS_TO_TOPIC
            else ""
        ):
            return [], [" ".join((*words[:place], fills, *words[place + 1 :]))]
    if words[0].lower() in _ASKS:
        return [], [f"{phrase} {{x}}"]
    asks = [f"{{x}} {phrase}", f"{phrase} {{x}}"]
    shaped = property_of(phrase)
    if shaped.shape != "noun" or shaped.particle or words[-1].lower() in PREPOSITIONS:
        return [], [*asks, f"what is {{x}} {phrase}"]
    return [f"the {phrase} of {{x}}", f"{{x}}'s {phrase}"], asks


def _fill_type(template: str, type_: str) -> str:
    return template.replace("{t}s", plural(type_)).replace("{t}", type_)
