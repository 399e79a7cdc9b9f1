"""Look up the topic entities of a batch of questions in the graph, by id or by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rapidfuzz.distance import DamerauLevenshtein

from ...models.wording import FUNCTION_WORDS, fold_name, strip_marks
from ..data_model import Entity, LinkedQuestion, Question, Topic
from ..neo4j.graph_requests import (
    EntitySignature,
    EntityWithSearchNames,
    NameQuery,
    find_entity_candidates,
    read_signatures,
    read_value_signatures,
)
from .mentions import Token, tokenise

if TYPE_CHECKING:
    from ..context import Database

NOTHING = '"\u200b"'
"""A full-text query that finds nothing."""
NAMESAKES = 1_000
"""Entities read for a name; beyond them no other of the same name is looked at."""
POOL = 50
SUGGESTED = 3
LEAST_SIMILARITY = 0.5
"""A name that agrees less with the words of a question is not offered."""
_MAX_WORDS = 32
_SHORTEST = 3


def resolve_entity_names(db: Database, names: Sequence[str]) -> dict[str, Entity]:
    """Return the entity with each name, ignoring case and accents. Of several entities, take the one with the most
    triples, then the first by id. One round trip; unknown names are left out."""
    pools = db.run(find_entity_candidates([[NameQuery(write_phrase_query(name), NAMESAKES)] for name in names]))
    found = {name: _select_same_name(name, pool) for name, pool in zip(names, pools, strict=True)}
    return {name: entity for name, entity in found.items() if entity is not None}


def find_nearest_names(db: Database, texts: Sequence[str]) -> list[tuple[Entity, ...]]:
    """Return at most `SUGGESTED` entities for each text, whose names are most similar to its words; one round trip."""
    tokens = [_select_search_words(text) for text in texts]
    pools = db.run(find_entity_candidates([[NameQuery(_write_loose_query(some), POOL)] for some in tokens]))
    return [_select_nearest(some, pool) for some, pool in zip(tokens, pools, strict=True)]


def write_phrase_query(name: str) -> str:
    """Return the Lucene query for a name as a phrase, as written, without marks or without full stops; only its words
    get there."""
    written = " ".join(token.text for token in tokenise(name))
    forms = dict.fromkeys((written, strip_marks(written), written.replace(".", "")))
    return " ".join(f'"{form}"' for form in forms) if written else NOTHING


def _select_same_name(name: str, pool: Iterable[EntityWithSearchNames]) -> Entity | None:
    wanted = [token.folded for token in tokenise(name)]
    same = (each for each in pool if any([token.folded for token in tokenise(n)] == wanted for n in each.search_names))
    best = min(same, key=lambda each: (-each.degree, each.entity.id), default=None)
    return None if best is None else best.entity


def _select_search_words(text: str) -> list[Token]:
    words = [token for token in tokenise(text) if token.folded not in FUNCTION_WORDS and len(token.folded) >= _SHORTEST]
    return words[:_MAX_WORDS]


def _write_loose_query(tokens: Sequence[Token]) -> str:
    words = [word for token in tokens for word in re.findall(r"\w+", token.folded)]
    parts = [part for word in words for part in (f"{word}~2", f"{word[:4]}*^0.5") if len(word) >= _SHORTEST]
    return " ".join(dict.fromkeys(parts)) or NOTHING


def _select_nearest(tokens: Sequence[Token], pool: Iterable[EntityWithSearchNames]) -> tuple[Entity, ...]:
    def agreement(name: str) -> float:
        target = fold_name(name)
        size = max(1, len(target.split()))
        runs = (" ".join(t.folded for t in tokens[at : at + size]) for at in range(max(1, len(tokens) - size + 1)))
        return max(DamerauLevenshtein.normalized_similarity(run, target) for run in runs)

    alike = ((max(map(agreement, each.search_names), default=0.0), each) for each in pool)
    ranked = sorted(alike, key=lambda p: (-p[0], -p[1].degree, p[1].entity.id))
    return tuple(each.entity for similarity, each in ranked if similarity >= LEAST_SIMILARITY)[:SUGGESTED]


def look_up_topics(
    db: Database, questions: Sequence[Question], linked: Sequence[Sequence[Topic]]
) -> list[LinkedQuestion]:
    """Return the questions with their topics as they are in the graph; unknown ones are left out.

    linked: a linker's candidates for each question. If a question gives ids, these are its topics, with certainty. Text
    that is no id is taken for a name, which costs further round trips.
    """
    given = [id_ for q in questions for id_ in q.topic_entities]
    found = [
        c.entity.id
        for q, some in zip(questions, linked, strict=True)
        if not q.topic_entities
        for c in some
        if not c.relations
    ]
    signatures = read_topic_signatures(db, list(dict.fromkeys([*given, *found])))
    if unknown := [id_ for id_ in dict.fromkeys(given) if id_ not in signatures]:
        entities = resolve_entity_names(db, unknown)
        named = db.run(read_signatures([entity.id for entity in entities.values()])) if entities else {}
        signatures |= {name: named[entity.id] for name, entity in entities.items() if entity.id in named}
    return [
        LinkedQuestion(
            question,
            _make_given_topics(question, signatures)
            if question.topic_entities
            else tuple(add_topic_signatures(some, signatures)),
        )
        for question, some in zip(questions, linked, strict=True)
    ]


def read_topic_signatures(db: Database, ids: Sequence[str]) -> dict[str, EntitySignature]:
    """Read the signatures of the entities and literals with these ids; one round trip."""
    literals = [id_ for id_ in ids if id_.startswith('"')]
    asked = [read_signatures(ids)] if ids else []
    found = db.run_all([*asked, read_value_signatures(literals)] if literals else asked)
    return {id_: signature for some in found for id_, signature in some.items()}


def add_topic_signatures(found: Sequence[Topic], signatures: Mapping[str, EntitySignature]) -> list[Topic]:
    """Return a linker's candidates with their data from the graph; those that it does not have are left out."""
    return [
        replace(each, entity=known.entity, degree=known.degree, relations=known.relations) if known else each
        for each in found
        if (known := signatures.get(each.entity.id)) or each.relations
    ]


MAX_TOPICS, MIN_LINK = 3, 0.1
"""Topics that a search starts from, and the share of the best one's score that another needs."""


def select_start_topics(
    topics: Sequence[Topic], max_topics: int = MAX_TOPICS, min_link: float = MIN_LINK
) -> Sequence[Topic]:
    """Return the topics to start from: all that the user named, else the best `max_topics` whose scores are at least
    `min_link` times the best one's."""
    if not any(topic.matched_name for topic in topics):
        return topics
    least = min_link * max(topic.score for topic in topics)
    return [topic for topic in topics if topic.score >= least][:max_topics]


def compute_link_penalties(topics: Sequence[Topic], link_weight: float) -> Mapping[str, float]:
    """Return each topic's score penalty by id, 0 or less: `link_weight` · (its link score − the best one)."""
    best = max((topic.score for topic in topics), default=0.0)
    return {topic.entity.id: link_weight * (topic.score - best) for topic in topics}


def _make_given_topics(question: Question, signatures: Mapping[str, EntitySignature]) -> tuple[Topic, ...]:
    found = {s.entity.id: s for given in question.topic_entities if (s := signatures.get(given)) is not None}
    return tuple(Topic(s.entity, s.degree, s.relations) for s in found.values())
