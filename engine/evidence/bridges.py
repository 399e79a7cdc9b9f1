"""Convert evidence from one kind to the other, between stages whose kinds differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, cast

import numpy as np

from ..values import Entity, Scored, Triple
from .chain import Chain, ChainStep
from .evidence import Evidence, Item, Kind, item_sort_key
from .relation_paths import MAX_HOP, BatchTriples, PathsOfLength, enumerate_relation_paths

ItemT = TypeVar("ItemT", Triple, Chain)

MAX_CHAINS = 1_000
"""Of one question: where the triples allow more, the evidence says that it was cut."""


def convert_item_kind(evidence: Evidence[Item], kind: Kind) -> Evidence[Item]:
    """Return the evidence as items of a kind."""
    return to_triples(evidence) if kind == "triple" else to_chains(evidence)


def to_triples(evidence: Evidence[Item]) -> Evidence[Triple]:
    """Return the triples of the chains, each with score and group of its best chain; the calibration stays."""
    if evidence.kind == "triple":
        return cast(Evidence[Triple], evidence)
    best: dict[Triple, tuple[float, int]] = {}
    for index, scored in enumerate(evidence.items):
        for triple in triples_of(scored.value):
            score, group = best.get(triple, (float("-inf"), evidence.group(index)))
            best[triple] = (max(score, scored.score), min(group, evidence.group(index)))
    ranked = sorted((Scored(triple, score) for triple, (score, _) in best.items()), key=item_sort_key)
    groups = tuple(best[each.value][1] for each in ranked) if evidence.groups else ()
    chains = (each.value for each in evidence.items if isinstance(each.value, Chain))
    retrieved = tuple((chain.topic.id, str(chain.relation_path)) for chain in chains)
    return replace(_as(evidence, "triple", tuple(ranked), groups), retrieved=retrieved)


def to_chains(evidence: Evidence[Item]) -> Evidence[Chain]:
    """Return the chains that the triples make from the topics, by breadth-first search (after ReG, section 4.2).

    Our own reading, for the paper scores no chain and walks in one direction: a chain takes all triples of a relation
    path together, in either direction, at most `MAX_HOP` in a row and none twice; its score is the lowest among its
    steps of the best triple of each, so that it is at most as sure as each of its steps and the calibration stays.
    """
    if evidence.kind == "chain":
        return cast(Evidence[Chain], evidence)
    triples = [each.value for each in evidence.items if isinstance(each.value, Triple)]
    scores = {each.value: each.score for each in evidence.items if isinstance(each.value, Triple)}
    groups = {each: evidence.group(place) for place, each in enumerate(triples)}
    topics = [topic.entity for topic in evidence.topics]
    columns = BatchTriples.of([(triples, [each.score for each in evidence.items], topics)])
    grown: list[Scored[Chain]] = []
    before: list[tuple[ChainStep, ...]] = [()] * len(columns.topics)
    for level in enumerate_relation_paths(columns, MAX_HOP, MAX_CHAINS + 1):
        before = [
            (*before[parent], make_last_step(columns, level, path)) for path, parent in enumerate(level.parent.tolist())
        ]
        for steps, topic in zip(before, level.topic.tolist(), strict=True):
            if chain := chain_of(columns.entities[columns.topics[topic]], steps, frozenset(topics)):
                grown.append(Scored(chain, compute_weakest_score(chain, scores)))
    ranked = sorted(grown, key=evidence.chain_order)
    kept = tuple(ranked[:MAX_CHAINS])
    of_chains = tuple(min(groups[triple] for triple in triples_of(each.value)) for each in kept)
    left_out = f"chains beyond the first {MAX_CHAINS:,} are left out" if len(ranked) > MAX_CHAINS else ""
    chains = _as(evidence, "chain", kept, of_chains if evidence.groups else ())
    return replace(chains, left_out=(*chains.left_out, left_out)) if left_out else chains


def make_last_step(columns: BatchTriples, level: PathsOfLength, path: int) -> ChainStep:
    """Return the last step of a relation path, with all of its triples."""
    first, after = np.searchsorted(level.link_path, [path, path + 1])
    links = tuple(
        (columns.entities[source], columns.entities[target])
        for source, target in zip(
            level.link_source[first:after].tolist(), level.link_target[first:after].tolist(), strict=True
        )
    )
    return ChainStep(columns.step(int(level.code[path])), links)


def chain_of(topic: Entity, steps: Sequence[ChainStep], topics: frozenset[Entity]) -> Chain | None:
    """Return the chain of these steps, to the ends that may be answers; None where there is none.

    Which steps lead into mediators is seen from the links.
    """
    seen = tuple(
        replace(each, step=replace(each.step, to_mediator=all(target.is_mediator for _, target in each.links)))
        for each in steps
    )
    targets = dict.fromkeys(target for _, target in seen[-1].links)
    ends = tuple(end for end in targets if not end.is_mediator and end not in topics)
    return Chain(topic, seen, ends) if ends else None


def compute_weakest_score(chain: Chain, scores: Mapping[Triple, float]) -> float:
    """Return the lowest score among the steps, each worth its best triple."""
    return min(max(map(scores.__getitem__, some)) for some in chain.triples())


def triples_of(item: Item) -> Iterable[Triple]:
    """Return the triples of a chain, each once, or the triple."""
    if isinstance(item, Triple):
        return (item,)
    return dict.fromkeys(triple for step in item.triples() for triple in step)


def _as(
    evidence: Evidence[Item], kind: Kind, items: tuple[Scored[ItemT], ...], groups: tuple[int, ...]
) -> Evidence[ItemT]:
    changed = replace(evidence, kind=kind, items=items, groups=groups)
    return cast(Evidence[ItemT], changed)
