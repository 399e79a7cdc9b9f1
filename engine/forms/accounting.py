"""Account for the words of a question: an answer that leaves an operator word, a kind or a name unused is not given.

A path uses the words of its relations ("highest" of "highest point"), a form those that its plain questions no longer
have. What is left was not understood, and the answer found without it is only the nearest one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...models.forms.operators import Operator, find_operators, find_placed_names, read_noun
from ...models.text import RelationWords
from ...models.wording import fold, plural, singular
from ..evidence import Answer, Item
from ..evidence.extras import FormResult
from ..evidence.text import relation_words
from ..linking import write_phrase_query
from ..neo4j import Request, Row, template
from ..values import Chain, Entity, Topic
from .part_chains import leads_to_values

if TYPE_CHECKING:
    from ..context import Context
    from ..resources import GraphResources

ENDS = 5
"""Answers whose kinds are read."""
LIMIT = 50
"""Kinds of one answer, and entities of one name, that are read."""
LINKED = 0.5
"""The least probability of a linked name that has to be used. Our own choice."""
SUBCLASS = ("subclass of", "sub class of", "subtype of")

Kinds = tuple[Sequence[Sequence[str]], Sequence[str]]
"""The kinds of each answer, and the names of kinds of the graph that the asked noun may be."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """What an answer rests on: the plain questions, the items found for them, what it gives, and what is asked for."""

    texts: tuple[str, ...]
    items: tuple[Item, ...]
    ends: tuple[Entity, ...]
    step_words: tuple[frozenset[str], ...]
    nouns: tuple[str, ...]
    head: str
    is_plural: bool
    is_form: bool

    def covers(self, words: Iterable[str]) -> bool:
        """Whether the relations of its paths have all of some words."""
        return frozenset(words) <= frozenset().union(*self.step_words)


def withhold_unaccounted(ctx: Context, answers: list[Answer]) -> list[Answer]:
    """Return the answers; one whose words were not all used as `not_understood`.

    Answers that a language model wrote are given as they are. One query a batch reads kinds.
    """
    if not any(map(_is_from_paths, answers)):
        return answers
    account: _Account = ctx.graph.get_or_make(_Account, lambda: _Account(ctx.graph))
    return account.withhold(ctx, answers)


class _Account:
    """What the words of questions are held against: the relations of a graph."""

    def __init__(self, graph: GraphResources) -> None:
        self._words = graph.words
        relations = graph.catalogue.relations
        types = [relation for relation in relations if graph.words[relation.name].is_type]
        self._relations = {
            "types": [relation.name for relation in types],
            "numbers": [relation.number for relation in types],
            "subclass": [each.name for each in relations if relation_words(each.name).lower() in SUBCLASS],
            "limit": LIMIT,
        }
        self._properties = {singular(fold(text)) for each in graph.words.values() for text in each.properties}

    def withhold(self, ctx: Context, answers: list[Answer]) -> list[Answer]:
        answers = list(answers)
        readings = {at: self._read(each) for at, each in enumerate(answers) if _is_from_paths(each)}
        asked = {at: each for at, each in readings.items() if each.nouns and each.ends}
        kinds: dict[int, Kinds] = {}
        if asked and self._relations["types"]:
            kinds = dict(zip(asked, ctx.db.run(self._read_kinds(list(asked.values()))), strict=True))
        for at, reading in readings.items():
            left = [*_find_unused(answers[at], reading), *self._find_wrong_noun(reading, kinds.get(at, ((), ())))]
            if left:
                answers[at] = answers[at].withhold(tuple(dict.fromkeys(left)))
        return answers

    def _read(self, answer: Answer) -> _Reading:
        evidence, form = answer.evidence, answer.evidence.extra_of(FormResult)
        words = read_noun(evidence.question.text) if answer.yes is None else []
        phrases = (words, words[:-1])  # its last word may be the verb: "river flows"
        nouns = tuple(singular(" ".join(some[at:])) for some in phrases for at in range(len(some)))
        if form is None:
            first = evidence.items[answer.answers[0].evidence[0]].value
            ends = first.answers if isinstance(first, Chain) else ()
            items, texts = (first,), (evidence.question.text,)
        else:
            items, ends = tuple(each.value for each in evidence.items), tuple(each.entity for each in form.found)
            texts = tuple(text for text, _ in form.parts)
            if answer.yes is not None:  # the verb that it begins with may be a negated one
                texts = (re.sub(r"^\w+n['’]t\b", "", evidence.question.text),)
        is_plural = any(singular(word) != word for word in words)
        step_words = find_step_words(items, self._words)
        head = singular(words[-1]) if words else ""
        return _Reading(texts, items, ends[:ENDS], step_words, nouns, head, is_plural, form is not None)

    def _read_kinds(self, asked: Sequence[_Reading]) -> Request[list[Kinds]]:
        def decode(rows: Sequence[Row]) -> list[Kinds]:
            return [
                ([[_say(kind) for kind in of_one] for of_one in kinds], list(map(_say, known))) for kinds, known in rows
            ]

        wanted = [
            {
                "ends": [end.id for end in each.ends],
                "nouns": each.nouns,
                "query": " ".join(write_phrase_query(form) for noun in each.nouns for form in (noun, plural(noun))),
            }
            for each in asked
        ]
        return Request(template("read_kinds"), {"asked": wanted, **self._relations}, decode)

    def _find_wrong_noun(self, reading: _Reading, found: Kinds) -> list[str]:
        """Return the noun for what is asked if it names a kind of the graph of which no answer is, or, of a form, a
        property that none of its paths has."""
        kinds, known = {kind for of_one in found[0] for kind in of_one}, found[1]
        nouns = [noun for noun in reading.nouns if noun in known] or [
            noun for noun in reading.nouns if reading.is_form and noun in self._properties
        ]
        is_known = bool(kinds) or reading.is_form or all(end.is_literal for end in reading.ends)
        if not nouns or not is_known or reading.covers(nouns[0].split()) or nouns[0] in kinds:
            return []
        return [] if self._leads_to(reading, nouns[0]) else nouns[:1]

    def _leads_to(self, reading: _Reading, noun: str) -> bool:
        """Return whether what one of the paths leads to is called so."""
        last = [item.steps[-1].step for item in reading.items if isinstance(item, Chain)]
        ends = [(s.inverse, self._words[s.relation].meaning) for s in last if s.relation in self._words]
        return any(noun == singular(fold(w)) for inverse, m in ends for w in (m.head if inverse else m.tail).words)


def find_step_words(items: Iterable[Item], words: Mapping[str, RelationWords]) -> tuple[frozenset[str], ...]:
    """Return the words of each relation on some items, and of the phrases for it, folded and in the singular."""
    names: list[str] = []
    for item in items:
        names += [step.step.relation for step in item.steps] if isinstance(item, Chain) else [item.relation]
    said = [(*each.properties, *each.meaning.forward, *each.meaning.inverse) for n in names if (each := words.get(n))]
    return tuple(frozenset(word for text in texts for word in _split(text)) for texts in said)


def _split(text: str) -> list[str]:
    return [singular(word) for word in re.findall(r"\w+", fold(text)) if word != "the"]


def _say(kind: str) -> str:
    """Return the name of a kind as a question would have it: folded, singular, of an IRI the last part."""
    return singular(fold(relation_words(kind) if "://" in kind else kind).strip())


def _is_from_paths(answer: Answer) -> bool:
    """Whether an answer states what paths lead to, and no language model chose it."""
    return answer.found and answer.usage is None and all(each.origin == "graph" for each in answer.answers)


def _find_unused(answer: Answer, reading: _Reading) -> list[str]:
    """Return the operator words and the names after a preposition that an answer did not use, and a kind that it took
    for a part of a name ("products" for "Dairy Products")."""
    topics, question = answer.evidence.topics, answer.evidence.question.text
    names = [name for topic in topics for name in (topic.mention, topic.entity.label) if len(name) > 1]
    operators = [operator for text in reading.texts for operator in find_operators(text, names)]
    left = [operator.said for operator in operators if not _is_used(operator, answer, reading)]
    chains = [item for item in reading.items if isinstance(item, Chain)]
    starts = {each.topic.id for each in chains}
    meet = len(chains) < len(reading.items) or any(
        chain.targets for chain in chains
    )  # triples, or paths of several topics
    used = [topic for topic in topics if meet or topic.entity.id in starts]
    left += [each.mention for each in used if _is_part_of_name(each, reading.head)]
    if answer.yes is None and all(topic.mention for topic in used):
        known = {word for each in used for word in _split(f"{each.mention} {each.entity.label}")}
        linked = [t.mention for t in topics if t not in used and t.mention and (t.probability or 0.0) >= LINKED]
        left += [name for name in find_placed_names(question, linked) if not _is_named(name, known)]
    return left


def _is_used(operator: Operator, answer: Answer, reading: _Reading) -> bool:
    """Return whether an answer used an operator word that no form took: by a relation's name, or by being a number.

    "How many cities" is answered by a number of cities only, "the highest point" by one.
    """
    if operator.kind in ("count", "amount"):
        first = reading.items[0] if reading.items else None
        is_number = answer.number is not None or (isinstance(first, Chain) and leads_to_values(first))
        is_of_noun = answer.number is not None or (
            reading.step_words[-1:] and reading.step_words[-1].issuperset(reading.head.split())
        )
        return is_number and (operator.kind == "amount" or bool(is_of_noun))
    is_one = len(reading.ends) == 1
    if operator.kind in ("most", "ordinal") and is_one and not reading.is_form:
        return True  # of one it is the most, and the first
    return reading.covers(_split(operator.said)) and (operator.kind != "most" or is_one or reading.is_plural)


def _is_part_of_name(topic: Topic, noun: str) -> bool:
    return bool(topic.mention) and _split(topic.mention) == [noun] and len(_split(topic.entity.label)) > 1


def _is_named(name: str, known: set[str]) -> bool:
    """Return whether an entity that was used has a word of a name, and all of its numbers."""
    words = _split(name)[1:]
    return any(word in known for word in words) and all(word in known for word in words if re.search(r"\d", word))
