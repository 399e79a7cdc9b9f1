"""Look up the topic entities of a batch of questions in the graph, by id or by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rapidfuzz.distance import DamerauLevenshtein

from ...models.words import FUNCTION_WORDS, fold
from ..neo4j.graph import (
    EntitySignature,
    NamedEntity,
    NameQuery,
    find_entity_candidates,
    read_signatures,
    read_value_signatures,
)
from ..stages import RerankingLinker
from ..steps import Steps, send_all, send_one
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


def resolve_names(names: Sequence[str]) -> Steps[dict[str, Entity]]:
    """Return the entity with each name, ignoring case and accents. Of several entities, take the one with the most
    triples, then the first by id. One round trip; unknown names are left out."""
    pools = yield from send_one(
        find_entity_candidates([[NameQuery(write_phrase_query(name), NAMESAKES)] for name in names])
    )
    found = {name: _select_same_name(name, pool) for name, pool in zip(names, pools, strict=True)}
    return {name: entity for name, entity in found.items() if entity is not None}


def find_nearest_names(texts: Sequence[str]) -> Steps[list[tuple[Entity, ...]]]:
    """Return at most `SUGGESTED` entities for each text, whose names are most similar to its words; one round trip."""
    tokens = [_select_search_words(text) for text in texts]
    pools = yield from send_one(
        find_entity_candidates([[NameQuery(_write_loose_query(some), POOL)] for some in tokens])
    )
    return [_select_nearest(some, pool) for some, pool in zip(tokens, pools, strict=True)]


def write_phrase_query(name: str) -> str:
    """Return the Lucene query for a name as a phrase; only its words get there."""
    words = [word for token in tokenise(name) for word in re.findall(r"\w+", token.text.replace(".", ""))]
    return f'"{" ".join(words)}"' if words else '"\u200b"'


def _select_same_name(name: str, pool: Iterable[NamedEntity]) -> Entity | None:
    wanted = [token.folded for token in tokenise(name)]
    same = (each for each in pool if any([token.folded for token in tokenise(n)] == wanted for n in each.search_names))
    best = min(same, key=lambda each: (-each.degree, each.entity.id), default=None)
    return None if best is None else best.entity


def _select_search_words(text: str) -> list[Token]:
    words = [token for token in tokenise(text) if token.folded not in FUNCTION_WORDS and len(token.folded) >= _SHORTEST]
    return words[:_MAX_WORDS]


def _write_loose_query(tokens: Sequence[Token]) -> str:
    """Return the Lucene query for names with these words, two typos allowed, or with only their beginnings."""
    words = [word for token in tokens for word in re.findall(r"\w+", token.folded)]
    parts = [part for word in words for part in (f"{word}~2", f"{word[:4]}*^0.5") if len(word) >= _SHORTEST]
    return " ".join(dict.fromkeys(parts)) or '"\u200b"'


def _select_nearest(tokens: Sequence[Token], pool: Iterable[NamedEntity]) -> tuple[Entity, ...]:
    """Return the best of the pool, by the similarity of their names to runs of as many words."""

    def similarity(each: NamedEntity) -> float:
        return max((_compute_agreement(tokens, name) for name in each.search_names), default=0.0)

    ranked = sorted(((similarity(each), each) for each in pool), key=lambda p: (-p[0], -p[1].degree, p[1].entity.id))
    return tuple(each.entity for agreement, each in ranked if agreement >= LEAST_SIMILARITY)[:SUGGESTED]


def _compute_agreement(tokens: Sequence[Token], name: str) -> float:
    target = fold(name)
    size = max(1, len(target.split()))
    runs = (" ".join(t.folded for t in tokens[at : at + size]) for at in range(max(1, len(tokens) - size + 1)))
    return max(DamerauLevenshtein.normalized_similarity(run, target) for run in runs)


Candidates = Sequence[Topic]


def look_up_topics(
    questions: Sequence[Question], linked: Sequence[Candidates], linker: RerankingLinker | None = None
) -> Steps[list[LinkedQuestion]]:
    """Return the questions with their topics as they are in the graph; unknown ones are left out.

    linked: a linker's candidates for each question. If a question gives ids, these are its topics, with certainty. Text
    that is no id is taken for a name, which costs further round trips. linker: reranks the candidates by their
    relations.
    """
    ids = list(dict.fromkeys(id_ for q in questions for id_ in q.topic_entities))
    ids += [c.entity.id for q, found in zip(questions, linked, strict=True) if not q.topic_entities for c in found]
    signatures = yield from _read_signatures(list(dict.fromkeys(ids)))
    unknown = [id_ for q in questions for id_ in q.topic_entities if id_ not in signatures]
    named = (yield from _read_named_signatures(list(dict.fromkeys(unknown)))) if unknown else {}
    signatures |= named
    there = [_add_signatures(found, signatures) for found in linked]
    if linker is not None:
        free = [at for at, question in enumerate(questions) if not question.topic_entities and there[at]]
        reranked = linker.rerank([questions[at] for at in free], [there[at] for at in free])
        for at, some in zip(free, reranked, strict=True):
            there[at] = some
    return [
        LinkedQuestion(question, _make_given_topics(question, signatures) if question.topic_entities else tuple(some))
        for question, some in zip(questions, there, strict=True)
    ]


def _read_signatures(ids: Sequence[str]) -> Steps[dict[str, EntitySignature]]:
    """Read the signatures of the entities and literals with these ids; one round trip."""
    if not ids:
        return {}
    literals = [id_ for id_ in ids if id_.startswith('"')]
    found = yield from send_all([read_signatures(ids), *([read_value_signatures(literals)] if literals else [])])
    return {id_: signature for some in found for id_, signature in some.items()}


def rerank_candidates(
    questions: Sequence[Question], linked: Sequence[Candidates], linker: RerankingLinker
) -> Steps[list[tuple[Topic, ...]]]:
    """Return a linker's candidates, reranked by their relations; one round trip."""
    ids = dict.fromkeys(candidate.entity.id for found in linked for candidate in found)
    signatures = yield from send_one(read_signatures(list(ids)))
    there = [_add_signatures(found, signatures) for found in linked]
    return [tuple(some) for some in linker.rerank(questions, there)]


MAX_TOPICS, MIN_LINK = 3, 0.1
"""Topics that a search starts from, and the share of the best one's score that another needs."""


def select_start_topics(
    topics: Sequence[Topic], max_topics: int = MAX_TOPICS, min_link: float = MIN_LINK
) -> Sequence[Topic]:
    """Return the topics to start from: all that the user named, else the best `max_topics` whose scores are at least
    `min_link` times the best one's."""
    if all(topic.is_given for topic in topics):
        return topics
    least = min_link * max(topic.score for topic in topics)
    return [topic for topic in topics if topic.score >= least][:max_topics]


def compute_link_penalties(topics: Sequence[Topic], link_weight: float) -> Mapping[str, float]:
    """Return each topic's score penalty by id, 0 or less: `link_weight` · (its link score − the best one)."""
    best = max((topic.score for topic in topics), default=0.0)
    return {topic.entity.id: link_weight * (topic.score - best) for topic in topics}


def _read_named_signatures(names: Sequence[str]) -> Steps[dict[str, EntitySignature]]:
    entities = yield from resolve_names(names)
    if not entities:
        return {}
    signatures = yield from send_one(read_signatures([entity.id for entity in entities.values()]))
    return {name: signatures[entity.id] for name, entity in entities.items() if entity.id in signatures}


def _make_given_topics(question: Question, signatures: Mapping[str, EntitySignature]) -> tuple[Topic, ...]:
    found = {s.entity.id: s for given in question.topic_entities if (s := signatures.get(given)) is not None}
    return tuple(Topic(s.entity, s.degree, s.relations) for s in found.values())


def add_signature(topic: Topic, signature: EntitySignature) -> Topic:
    """Return a linker's candidate with its data from the graph."""
    return replace(topic, entity=signature.entity, degree=signature.degree, relations=signature.relations)


def _add_signatures(found: Candidates, signatures: Mapping[str, EntitySignature]) -> list[Topic]:
    return [add_signature(each, signatures[i]) for each in found if (i := each.entity.id) in signatures]
