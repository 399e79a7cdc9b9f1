"""Entities by a name that the asker gave in an id's place, and the names nearest to a question that has none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rapidfuzz.distance import DamerauLevenshtein

from ..neo4j.graph import NamedEntity, NameQuery, find_entity_candidates
from ..steps import Steps, one
from ..values import Entity
from .tokens import FUNCTION_WORDS, Token, fold, tokenise

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
