"""Convert evidence from one kind to the other: triples of chains, and the chains that triples make.

This is how ReG's structure-aware reorganisation (section 4.2) walks: breadth first, in either direction. Our own
reading, for the paper scores nothing: all triples of one relation path are one path; no triple is on a path twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar, cast

from ..values import Chain, ChainStep, Entity, RelationStep, Scored, Triple, first_group
from . import Evidence, Item, Kind, item_sort_key

ItemT = TypeVar("ItemT", Triple, Chain)

MAX_HOP = 4
MAX_CHAINS = 1_000
"""Of one question: where the triples allow more, the evidence says that it was cut."""
MAX_PATHS = 1_000
"""Relation paths of one length that are carried on, of one topic: the best ones."""


def convert_item_kind(evidence: Evidence[Item], kind: Kind) -> Evidence[Item]:
    return to_triples(evidence) if kind == "triple" else to_chains(evidence)


def to_triples(evidence: Evidence[Item]) -> Evidence[Triple]:
    """Return the triples of the chains, each with score and group of its best chain; the calibration stays."""
    if evidence.kind == "triple":
        return cast(Evidence[Triple], evidence)
    best: dict[Triple, Scored[Triple]] = {}
    for scored in evidence.items:
        for triple in triples_of(scored.value):
            known = best.get(triple, Scored(triple, float("-inf")))
            best[triple] = Scored(triple, max(known.score, scored.score), first_group((known.group, scored.group)))
    chains = (each.value for each in evidence.items if isinstance(each.value, Chain))
    retrieved = tuple((chain.topic.id, str(chain.relation_path)) for chain in chains)
    triples = _as(evidence, "triple", sorted(best.values(), key=item_sort_key))
    return replace(triples, trace=replace(evidence.trace, retrieved=retrieved))


def to_chains(evidence: Evidence[Item], max_length: int = MAX_HOP) -> Evidence[Chain]:
    """Return the chains that the triples make from the topics, by breadth-first search (after ReG, section 4.2).

    Our own reading, for the paper scores no chain and walks in one direction: a chain takes all triples of a relation
    path together, in either direction, at most `max_length` in a row and none twice; its score is the lowest among its
    steps of the best triple of each, so that it is at most as sure as each of its steps and the calibration stays.
    """
    if evidence.kind == "chain":
        return cast(Evidence[Chain], evidence)
    items = cast(Sequence[Scored[Triple]], evidence.items)
    scores, groups = ({each.value: getattr(each, name) for each in items} for name in ("score", "group"))
    topics = dict.fromkeys(topic.entity for topic in evidence.topics)
    made: list[Scored[Chain]] = []
    for path in grow_paths(items, topics, max_length, MAX_CHAINS + 1):
        if ends := tuple(end for end in path.ends if not end.is_mediator and end not in topics):
            chain = Chain(path.topic, path.steps, ends)
            group = first_group(groups[triple] for triple in triples_of(chain))
            made.append(Scored(chain, compute_weakest_score(chain, scores), group))
    made.sort(key=evidence.chain_order)
    left_out = f"chains beyond the first {MAX_CHAINS:,} are left out" if len(made) > MAX_CHAINS else ""
    chains = _as(evidence, "chain", made[:MAX_CHAINS])
    return replace(chains, left_out=(*chains.left_out, left_out)) if left_out else chains


def compute_weakest_score(chain: Chain, scores: Mapping[Triple, float]) -> float:
    """Return the lowest score among the steps, each worth its best triple."""
    return min(max(map(scores.__getitem__, some)) for some in chain.triples())


def triples_of(item: Item) -> Iterable[Triple]:
    """Return the triples of a chain, each once, or the triple."""
    if isinstance(item, Triple):
        return (item,)
    return dict.fromkeys(triple for step in item.triples() for triple in step)


def _as(evidence: Evidence[Item], kind: Kind, items: Sequence[Scored[ItemT]]) -> Evidence[ItemT]:
    return cast(Evidence[ItemT], replace(evidence, kind=kind, items=tuple(items)))


class _Edge(NamedTuple):
    """A triple as it is walked from one of its ends. code: of its relation and direction; triple: its place."""

    code: int
    step: RelationStep
    target: Entity
    triple: int
    score: float


@dataclass(slots=True)
class PathEnd:
    """How a path reaches an end: by its best triple (`last`), and by the best way there (`way`, its lowest score).

    on: the score of the best triple that leads on from there, −∞ where none does.
    """

    last: float
    way: float
    on: float = float("-inf")


@dataclass(frozen=True, slots=True)
class GrownPath:
    """A relation path from a topic with all triples on it, and its ends in the order in which they are met.

    best: of each step the score of its best triple. walked: the places of its triples.
    """

    topic: Entity
    steps: tuple[ChainStep, ...] = ()
    best: tuple[float, ...] = ()
    ends: dict[Entity, PathEnd] = field(default_factory=dict)
    walked: frozenset[int] = frozenset()


def grow_paths(
    triples: Sequence[Scored[Triple]],
    topics: Iterable[Entity],
    max_length: int = MAX_HOP,
    max_paths: int = MAX_PATHS,
) -> list[GrownPath]:
    """Return the relation paths from each topic, the shorter first; a literal is only ever an end.

    Of one length and topic those `max_paths` are kept whose weakest step is the best.
    """
    numbers = {topic: number for number, topic in enumerate(topics)}
    grown = [GrownPath(topic, ends={topic: PathEnd(float("inf"), float("inf"))}) for topic in numbers]
    leaving = _edges_by_source(triples)
    for each in triples:
        for end in (each.value.head, each.value.tail):
            numbers.setdefault(end, len(numbers))
    found: list[GrownPath] = []
    for _ in range(max_length):
        longer: dict[Entity, list[GrownPath]] = {}
        for path in grown:
            longer.setdefault(path.topic, []).extend(_grow(path, leaving, numbers))
        grown = [path for some in longer.values() for path in _keep_best(some, max_paths)]
        found += grown
    return found


def _edges_by_source(triples: Sequence[Scored[Triple]]) -> dict[Entity, list[_Edge]]:
    """Return the triples by the end that they are walked from, those walked forwards first."""
    relations: dict[str, int] = {}
    leaving: dict[Entity, list[_Edge]] = {}
    for inverse in (False, True):
        for place, each in enumerate(triples):
            head, relation, tail = each.value.head, each.value.relation, each.value.tail
            code = 2 * relations.setdefault(relation, len(relations)) + inverse
            source, target = (tail, head) if inverse else (head, tail)
            if not inverse or (head != tail and not tail.is_literal):
                step = RelationStep(relation, inverse)
                leaving.setdefault(source, []).append(_Edge(code, step, target, place, each.score))
    return leaving


def _grow(
    path: GrownPath, leaving: Mapping[Entity, Sequence[_Edge]], numbers: Mapping[Entity, int]
) -> Iterator[GrownPath]:
    """Yield the paths that are one step longer, and note with each end which triple leads on from there."""
    steps: dict[int, list[tuple[Entity, _Edge]]] = {}
    for source in sorted(path.ends, key=numbers.__getitem__):
        end = path.ends[source]
        for edge in leaving.get(source, ()):
            if edge.triple not in path.walked:
                steps.setdefault(edge.code, []).append((source, edge))
                end.on = max(end.on, edge.score)
    for _, walked in sorted(steps.items()):
        ends: dict[Entity, PathEnd] = {}
        for source, edge in walked:
            way = min(path.ends[source].way, edge.score)
            known = ends.setdefault(edge.target, PathEnd(edge.score, way))
            known.last, known.way = max(known.last, edge.score), max(known.way, way)
        first = walked[0][1].step
        step = RelationStep(first.relation, first.inverse, all(end.is_mediator for end in ends))
        links = tuple((source, edge.target) for source, edge in walked)
        yield GrownPath(
            path.topic,
            (*path.steps, ChainStep(step, links)),
            (*path.best, max(edge.score for _, edge in walked)),
            ends,
            path.walked | {edge.triple for _, edge in walked},
        )


def _keep_best(paths: Sequence[GrownPath], most: int) -> list[GrownPath]:
    ranked = sorted(range(len(paths)), key=lambda place: -min(paths[place].best))
    return [paths[place] for place in sorted(ranked[:most])]
