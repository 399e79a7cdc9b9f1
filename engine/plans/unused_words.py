"""Account for the words of a question: a path that leaves an operator word, a kind or a name unused is no answer.

A path uses the words of its relations ("highest" of "highest point"). What is left was not understood, and the answer
found without it is only the nearest one. A plan has accounted for its words itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING

from ...models.text import SUBCLASS_RELATIONS, RelationWords
from ...models.word_positions import collect_word_stems, stem_word
from ...models.wording import (
    Operator,
    find_operators,
    find_placed_names,
    fold_name,
    list_wanted_nouns,
    pluralise,
    singularise,
)
from ...models.wording.answer_kinds import classify_noun, classify_value
from ..data_model import Chain, Entity, Topic
from ..evidence import Answer, Item
from ..evidence.text import format_relation
from ..linking import write_phrase_query
from ..neo4j import Request, Row, load_query
from .schema import normalise_kind_name

if TYPE_CHECKING:
    from ..context import Context
    from ..resources import GraphResources

ENDS = 5
"""Answers whose kinds are read."""
LIMIT = 50
"""Kinds of one answer, and entities of one name, that are read."""
MOST_WORDS = 4
"""Of a relation's name that a question asks for."""
NAMES = {"name", "title"}
"""Relations whose value is the answer itself."""
SHARED_KINDS = ("work", "organisation")
"""Kinds that "the same …" names well enough."""
LINKED = 0.5
"""The least probability of a linked name that has to be used. Our own choice."""

Kinds = tuple[Sequence[Sequence[str]], Sequence[str]]
"""The kinds of each answer, and the names of kinds of the graph that the asked noun may be."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """What an answer rests on: the first item found, what it gives, and what is asked for."""

    item: Item
    ends: tuple[Entity, ...]
    step_words: tuple[frozenset[str], ...]
    goes_through_same: bool
    nouns: tuple[str, ...]
    head: str
    is_plural: bool

    def covers(self, words: Iterable[str]) -> bool:
        """Whether the relations of its path have all of some words."""
        return frozenset(words) <= frozenset().union(*self.step_words)


def mark_path_answers_not_understood(ctx: Context, answers: list[Answer], *, strict: bool = False) -> list[Answer]:
    """Return the answers; one whose words were not all used as `not_understood`.

    strict: whether "the most" of one thing, which says nothing, counts as not used.

    Answers that a language model wrote are given as they are. One query a batch reads kinds.
    """
    if not any(map(_is_from_paths, answers)):
        return answers
    account: _Account = ctx.graph.get_or_make(_Account, lambda: _Account(ctx.graph))
    return account.withhold(ctx, answers, strict)


class _Account:
    """What the words of questions are held against: the relations of a graph."""

    def __init__(self, graph: GraphResources) -> None:
        self._words = graph.words
        relations = graph.catalogue.relations
        properties = (each.properties[-1] for each in graph.words.values() if each.properties and not each.is_type)
        self._properties = {" ".join(_split(each)) for each in properties} - NAMES
        types = [relation for relation in relations if graph.words[relation.name].is_type]
        self._relations = {
            "types": [relation.name for relation in types],
            "numbers": [relation.number for relation in types],
            "subclass": [each.name for each in relations if format_relation(each.name).lower() in SUBCLASS_RELATIONS],
            "limit": LIMIT,
        }

    def withhold(self, ctx: Context, answers: list[Answer], strict: bool) -> list[Answer]:
        answers = list(answers)
        readings = {at: self._read(each) for at, each in enumerate(answers) if _is_from_paths(each)}
        asked = {at: each for at, each in readings.items() if each.nouns and each.ends}
        kinds: dict[int, Kinds] = {}
        if asked and self._relations["types"]:
            kinds = dict(zip(asked, ctx.db.run(self._read_kinds(list(asked.values()))), strict=True))
        for at, reading in readings.items():
            left = [
                *_find_unused(answers[at], reading, strict),
                *self._find_wrong_noun(reading, kinds.get(at, ((), ()))),
                *self._find_unused_properties(answers[at], reading),
            ]
            if left:
                answers[at] = answers[at].withhold(tuple(dict.fromkeys(left)))
        return answers

    def _read(self, answer: Answer) -> _Reading:
        evidence = answer.evidence
        words = list_wanted_nouns(evidence.question.text)
        phrases = (words, words[:-1])  # its last word may be the verb: "river flows"
        nouns = tuple(singularise(" ".join(some[at:])) for some in phrases for at in range(len(some)))
        first = evidence.items[answer.answers[0].evidence[0]].value
        ends = first.answers if isinstance(first, Chain) else ()
        is_plural = any(singularise(word) != word for word in words)
        head = singularise(words[-1]) if words else ""
        step_words = _find_step_words([first], self._words)
        same = self._goes_through_same(first, evidence.question.text)
        return _Reading(first, ends[:ENDS], step_words, same, nouns, head, is_plural)

    def _goes_through_same(self, item: Item, text: str) -> bool:
        """Return whether a path leads to "the same nationality" and back over one relation, which is called so; or to
        the only kind of such things. People and places are of too many kinds: the same city is not the same country."""
        nouns = [singularise(noun) for noun in re.findall(r"\bsame (\w+)", text)]
        steps = [each.step for each in item.steps] if nouns and isinstance(item, Chain) else []
        for there, back in pairwise(steps):
            if there.relation == back.relation and there.inverse != back.inverse and there.relation in self._words:
                words = self._words[there.relation]
                kind = (words.meaning.head if there.inverse else words.meaning.tail).kind
                stems = collect_word_stems(words.properties)
                if any(stem_word(n) in stems or (kind in SHARED_KINDS and classify_noun(n) == kind) for n in nouns):
                    return True
        return False

    def _read_kinds(self, asked: Sequence[_Reading]) -> Request[list[Kinds]]:
        def decode(rows: Sequence[Row]) -> list[Kinds]:
            return [
                (
                    [[normalise_kind_name(kind) for kind in of_one] for of_one in kinds],
                    list(map(normalise_kind_name, known)),
                )
                for kinds, known in rows
            ]

        wanted = [
            {
                "ends": [end.id for end in each.ends],
                "nouns": each.nouns,
                "query": " ".join(write_phrase_query(form) for noun in each.nouns for form in (noun, pluralise(noun))),
            }
            for each in asked
        ]
        return Request(load_query("read_kinds"), {"asked": wanted, **self._relations}, decode)

    def _find_wrong_noun(self, reading: _Reading, found: Kinds) -> list[str]:
        """Return the noun for what is asked if it names a kind of the graph of which no answer is."""
        kinds, known = {kind for of_one in found[0] for kind in of_one}, found[1]
        nouns = [noun for noun in reading.nouns if noun in known]
        is_known = bool(kinds) or all(end.is_literal for end in reading.ends)
        if not nouns or not is_known or reading.covers(nouns[0].split()) or nouns[0] in kinds:
            return []
        return [] if self._leads_to(reading, nouns[0]) else nouns[:1]

    def _find_unused_properties(self, answer: Answer, reading: _Reading) -> list[str]:
        """Return what "… of" and "'s …" ask for, where it is a relation's name that no relation of the path has."""
        text = answer.evidence.question.text
        for topic in answer.evidence.topics:
            text = text.replace(topic.mention, "_") if topic.mention else text
        said = re.findall(r"['’]s?(?!\w)|\w+", text)
        left = []
        for start, size in product(range(len(said)), range(1, MOST_WORDS + 1)):
            name = " ".join(said[start : start + size])
            words = _split(name)
            is_asked = said[start + size : start + size + 1] == ["of"] or said[max(start - 1, 0)][0] in "'’"
            if is_asked and " ".join(words) in self._properties and said[start] != "the" and not reading.covers(words):
                left.append(name)
        return left

    def _leads_to(self, reading: _Reading, noun: str) -> bool:
        """Return whether what the path leads to is called so."""
        last = [reading.item.steps[-1].step] if isinstance(reading.item, Chain) else []
        ends = [(s.inverse, self._words[s.relation].meaning) for s in last if s.relation in self._words]
        return any(
            noun == singularise(fold_name(w)) for inverse, m in ends for w in (m.head if inverse else m.tail).words
        )


def _find_step_words(items: Iterable[Item], words: Mapping[str, RelationWords]) -> tuple[frozenset[str], ...]:
    """Return the words of each relation on some items, and of the phrases for it, folded and in the singular."""
    names: list[str] = []
    for item in items:
        names += [step.step.relation for step in item.steps] if isinstance(item, Chain) else [item.relation]
    said = [(*each.properties, *each.meaning.forward, *each.meaning.inverse) for n in names if (each := words.get(n))]
    return tuple(frozenset(word for text in texts for word in _split(text)) for texts in said)


def _split(text: str) -> list[str]:
    return [singularise(word) for word in re.findall(r"\w+", fold_name(text)) if word != "the"]


def _is_from_paths(answer: Answer) -> bool:
    """Whether an answer states what paths lead to, and no language model wrote it."""
    return answer.found and answer.usage is None and all(each.origin == "graph" for each in answer.answers)


def _find_unused(answer: Answer, reading: _Reading, strict: bool) -> list[str]:
    """Return the operator words and the names after a preposition that an answer did not use, and a kind that it took
    for a part of a name ("products" for "Dairy Products")."""
    topics, text = answer.evidence.topics, answer.evidence.question.text
    names = [name for topic in topics for name in (topic.mention, topic.entity.label) if len(name) > 1]
    left = [operator.said for operator in find_operators(text, names) if not _is_used(operator, reading, strict)]
    chain = reading.item if isinstance(reading.item, Chain) else None
    meet = chain is None or bool(chain.targets)  # a triple, or a path of several topics
    used = [topic for topic in topics if meet or (chain and topic.entity.id == chain.topic.id)]
    left += [each.mention for each in used if _is_part_of_name(each, reading.head)]
    if all(topic.mention for topic in used):
        known = {word for each in used for word in _split(f"{each.mention} {each.entity.label}")}
        linked = [t.mention for t in topics if t not in used and t.mention and (t.probability or 0.0) >= LINKED]
        left += [name.removeprefix(", ") for name in find_placed_names(text, linked) if not _is_named(name, known)]
    return left


def _is_used(operator: Operator, reading: _Reading, strict: bool) -> bool:
    """Return whether a path used an operator word: by a relation, by leading to one number, or through one thing.

    "How many cities" is answered by a number of cities only, "the highest point" by one.
    """
    if operator.kind in ("count", "amount"):
        values = [classify_value(end.label) for end in reading.ends]
        is_number = bool(values) and all(kind in ("number", "year", "date", "amount") for kind in values)
        is_of_noun = reading.step_words[-1:] and reading.step_words[-1].issuperset(reading.head.split())
        return is_number and (operator.kind == "amount" or bool(is_of_noun))
    if operator.said == "same" and reading.goes_through_same:
        return True
    is_one = len(reading.ends) == 1 and not strict
    if operator.kind in ("most", "ordinal") and is_one:
        return True  # of one it is the most, and the first
    return reading.covers(_split(operator.said)) and (operator.kind != "most" or reading.is_plural)


def _is_part_of_name(topic: Topic, noun: str) -> bool:
    return bool(topic.mention) and _split(topic.mention) == [noun] and len(_split(topic.entity.label)) > 1


def _is_named(name: str, known: set[str]) -> bool:
    """Return whether an entity that was used has a word of a name, and all of its numbers; "The The" has no words."""
    words = _split(name)[1:] if name[0] != "," else _split(name)
    has_numbers = all(word in known for word in words if re.search(r"\d", word))
    return has_numbers and (not words or any(word in known for word in words))
