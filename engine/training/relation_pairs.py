"""Pairs of question and relations out of question sets over any graph, without those that would tell what is asked."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence

from ...models.similarity import mask_topic
from ...models.star.inputs.pairs import RelationPair, RelationPairs
from ..questions.gold import GoldQuestion, QuestionSet
from ..relations.words import words_of_name

MAX_PATHS = 2
MAX_RELATIONS = 4

_WORDS = re.compile(r"\W+")
_WEBQSP_ID = re.compile(r"WebQ\w+?-\d+")


def relation_pairs(sets: Sequence[QuestionSet], left_out: Iterable[tuple[str, str]]) -> RelationPairs:
    """Return the pairs of all questions that have relations, but for those that are among `left_out`, (id, text) each.

    The relations are those of the first gold paths, else of the relevant triples. A question is left out when its words
    are, or when it is made from the same one: ComplexWebQuestions writes the id of that before an underscore.
    """
    left_out = list(left_out)
    texts = {plain_words(text) for _, text in left_out}
    roots = {root for id_, _ in left_out if (root := _root(id_))}
    numbers: dict[str, int] = {}
    pairs = [
        RelationPair(_masked(question), tuple(numbers.setdefault(name, len(numbers)) for name in relations))
        for each in sets
        for question in each.questions
        if plain_words(question.text) not in texts and _root(question.id) not in roots
        if (relations := list(_relations(question)))
    ]
    digest = hashlib.sha256(json.dumps([[each.sha256 for each in sets], sorted(texts), sorted(roots)]).encode())
    return RelationPairs(
        name=", ".join(each.name for each in sets),
        sha256=digest.hexdigest(),
        relations=tuple(map(words_of_name, numbers)),
        pairs=tuple(pairs),
    )


def _relations(question: GoldQuestion) -> Iterator[str]:
    names = [name for path in question.paths[:MAX_PATHS] for name in path.relations]
    names = names or [relation for _, relation, _ in question.triples]
    yield from list(dict.fromkeys(names))[:MAX_RELATIONS]


def _masked(question: GoldQuestion) -> str:
    text = question.text
    for name in question.topic_names:
        text = mask_topic(text, name)
    return text


def plain_words(text: str) -> str:
    """Return a text's words in small letters: what two askings of one question have in common."""
    return _WORDS.sub(" ", text.lower()).strip()


def _root(id_: str) -> str:
    found = _WEBQSP_ID.match(id_)
    return found.group() if found else ""
