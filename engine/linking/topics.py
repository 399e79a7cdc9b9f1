"""Look up the entities that questions start from, once for a whole batch: by id, by name, by what is nearest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rapidfuzz.distance import DamerauLevenshtein

from ...models.words import FUNCTION_WORDS, fold
from ..neo4j.graph import (
    NamedEntity,
    NameQuery,
    Signature,
    find_entity_candidates,
    read_signatures,
    read_value_signatures,
)
from ..stages import DecidingLinker
from ..steps import Steps, one, together
from ..values import Entity, LinkedQuestion, Question, Topic
from .names import Token, tokenise

NAMESAKES = 1_000
"""Entities read for a name; beyond them no other of the same name is looked at."""
POOL = 50
SUGGESTED = 3
LEAST_SIMILARITY = 0.5
"""A name that agrees less with the words of a question is not offered."""
_MAX_WORDS = 32
_SHORTEST = 3


def entities_named(names: Sequence[str]) -> Steps[dict[str, Entity]]:
    """Return the entity that goes by each name, cases and accents apart; of several the one with the most edges, then
    by id. One round trip; names of nothing are left out."""
    pools = yield from one(find_entity_candidates([[NameQuery(_phrase(name), NAMESAKES)] for name in names]))
    found = {name: _same(name, pool) for name, pool in zip(names, pools, strict=True)}
    return {name: entity for name, entity in found.items() if entity is not None}


def nearest_names(texts: Sequence[str]) -> Steps[list[tuple[Entity, ...]]]:
    """Return for each text the entities whose names are nearest to words of it, at most `SUGGESTED`; one round trip."""
    tokens = [_searched(text) for text in texts]
    pools = yield from one(find_entity_candidates([[NameQuery(_loose(some), POOL)] for some in tokens]))
    return [_nearest(some, pool) for some, pool in zip(tokens, pools, strict=True)]


def _phrase(name: str) -> str:
    words = [word for token in tokenise(name) for word in re.findall(r"\w+", token.text.replace(".", ""))]
    return f'"{" ".join(words)}"' if words else '"\u200b"'


def _same(name: str, pool: Iterable[NamedEntity]) -> Entity | None:
    wanted = [token.folded for token in tokenise(name)]
    same = (each for each in pool if any([token.folded for token in tokenise(n)] == wanted for n in each.search_names))
    best = min(same, key=lambda each: (-each.degree, each.entity.id), default=None)
    return None if best is None else best.entity


def _searched(text: str) -> list[Token]:
    """Return the words of a text that names are looked for by."""
    words = [token for token in tokenise(text) if token.folded not in FUNCTION_WORDS and len(token.folded) >= _SHORTEST]
    return words[:_MAX_WORDS]


def _loose(tokens: Sequence[Token]) -> str:
    """Return the Lucene query for words with two typos, or of which a name has the beginning alone."""
    words = [word for token in tokens for word in re.findall(r"\w+", token.folded)]
    parts = [part for word in words for part in (f"{word}~2", f"{word[:4]}*^0.5") if len(word) >= _SHORTEST]
    return " ".join(dict.fromkeys(parts)) or '"\u200b"'


def _nearest(tokens: Sequence[Token], pool: Iterable[NamedEntity]) -> tuple[Entity, ...]:
    """Return the best of the pool, by the agreement of any of their names with a run of as many words."""

    def similarity(each: NamedEntity) -> float:
        return max((_agreement(tokens, name) for name in each.search_names), default=0.0)

    ranked = sorted(((similarity(each), each) for each in pool), key=lambda p: (-p[0], -p[1].degree, p[1].entity.id))
    return tuple(each.entity for agreement, each in ranked if agreement >= LEAST_SIMILARITY)[:SUGGESTED]


def _agreement(tokens: Sequence[Token], name: str) -> float:
    target = fold(name)
    size = max(1, len(target.split()))
    runs = (" ".join(t.folded for t in tokens[at : at + size]) for at in range(max(1, len(tokens) - size + 1)))
    return max((DamerauLevenshtein.normalized_similarity(run, target) for run in runs), default=0.0)


Candidates = Sequence[Topic]


def looked_up(
    questions: Sequence[Question], linked: Sequence[Candidates], linker: DecidingLinker | None = None
) -> Steps[list[LinkedQuestion]]:
    """Return the questions with their topics as the graph has them; those it does not have are left out.

    linked: what a linker found for each question. Where a question gives ids, these are its topics, and certain; what
    is no id is taken for a name, at the cost of further round trips. linker: weighs the candidates again, now that the
    relations at them are known.
    """
    ids = list(dict.fromkeys(id_ for q in questions for id_ in q.topic_entities))
    ids += [c.entity.id for q, found in zip(questions, linked, strict=True) if not q.topic_entities for c in found]
    signatures = yield from _signatures(list(dict.fromkeys(ids)))
    unknown = [id_ for q in questions for id_ in q.topic_entities if id_ not in signatures]
    named = (yield from _named(list(dict.fromkeys(unknown)))) if unknown else {}
    signatures |= named
    there = [_with_signatures(found, signatures) for found in linked]
    if linker is not None:
        free = [at for at, question in enumerate(questions) if not question.topic_entities and there[at]]
        decided = linker.decide([questions[at] for at in free], [there[at] for at in free])
        for at, some in zip(free, decided, strict=True):
            there[at] = some
    return [
        LinkedQuestion(question, _given(question, signatures) if question.topic_entities else tuple(some))
        for question, some in zip(questions, there, strict=True)
    ]


def _signatures(ids: Sequence[str]) -> Steps[dict[str, Signature]]:
    """Return the signatures of the entities, and of the literals, among these ids; one round trip."""
    if not ids:
        return {}
    literals = [id_ for id_ in ids if id_.startswith('"')]
    found = yield from together([read_signatures(ids), *([read_value_signatures(literals)] if literals else [])])
    return {id_: signature for some in found for id_, signature in some.items()}


def decided(
    questions: Sequence[Question], linked: Sequence[Candidates], linker: DecidingLinker
) -> Steps[list[tuple[Topic, ...]]]:
    """Return what a linker found, weighed again by the relations at it; one round trip."""
    ids = dict.fromkeys(candidate.entity.id for found in linked for candidate in found)
    signatures = yield from one(read_signatures(list(ids)))
    there = [_with_signatures(found, signatures) for found in linked]
    return [tuple(some) for some in linker.decide(questions, there)]


def started_from(topics: Sequence[Topic], max_topics: int, min_link: float) -> Sequence[Topic]:
    """Return the topics to start from: all that the asker named, else the best `max_topics` of those linked with at
    least `min_link` of the best one's score."""
    if all(topic.is_given for topic in topics):
        return topics
    least = min_link * max(topic.score for topic in topics)
    return [topic for topic in topics if topic.score >= least][:max_topics]


def link_penalties(topics: Sequence[Topic], link_weight: float) -> Mapping[str, float]:
    """Return by topic id what its link takes from a score, 0 or less: `link_weight` for each 1 it lacks to the best."""
    best = max((topic.score for topic in topics), default=0.0)
    return {topic.entity.id: link_weight * (topic.score - best) for topic in topics}


def _named(names: Sequence[str]) -> Steps[dict[str, Signature]]:
    """Return the entities that go by these names, by name."""
    entities = yield from entities_named(names)
    if not entities:
        return {}
    signatures = yield from one(read_signatures([entity.id for entity in entities.values()]))
    return {name: signatures[entity.id] for name, entity in entities.items() if entity.id in signatures}


def _given(question: Question, signatures: Mapping[str, Signature]) -> tuple[Topic, ...]:
    found = {s.entity.id: s for given in question.topic_entities if (s := signatures.get(given)) is not None}
    return tuple(Topic(s.entity, s.degree, s.relations) for s in found.values())


def with_signature(topic: Topic, signature: Signature) -> Topic:
    """Return what a linker found as the graph has it."""
    return replace(topic, entity=signature.entity, degree=signature.degree, relations=signature.relations)


def _with_signatures(found: Candidates, signatures: Mapping[str, Signature]) -> list[Topic]:
    return [with_signature(each, signatures[i]) for each in found if (i := each.entity.id) in signatures]
