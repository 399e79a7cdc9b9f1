"""Convert evidence from one kind to the other: triples of chains, and the chains that triples make, for a whole batch.

This is how ReG's structure-aware reorganisation (section 4.2) walks: breadth first, in either direction. Our own
reading, for the paper scores nothing: all triples of one relation path are one path; no triple is on a path twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from ..values import Chain, ChainStep, Entity, RelationStep, Scored, Triple, first_group
from . import Evidence, Item, Kind, item_sort_key

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

ItemT = TypeVar("ItemT", Triple, Chain)

MAX_HOP = 4
MAX_CHAINS = 1_000
"""Of one question: where the triples allow more, the evidence says that it was cut."""


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
    triples = [each.value for each in evidence.items if isinstance(each.value, Triple)]
    scores = {each.value: each.score for each in evidence.items if isinstance(each.value, Triple)}
    groups = {each.value: each.group for each in evidence.items}
    topics = [topic.entity for topic in evidence.topics]
    columns = BatchTriples.of([(triples, [each.score for each in evidence.items], topics)])
    grown: list[Scored[Chain]] = []
    before: list[tuple[ChainStep, ...]] = [()] * len(columns.topics)
    for level in enumerate_relation_paths(columns, max_length, MAX_CHAINS + 1):
        before = [
            (*before[parent], make_last_step(columns, level, path)) for path, parent in enumerate(level.parent.tolist())
        ]
        for steps, topic in zip(before, level.topic.tolist(), strict=True):
            if chain := chain_of(columns.entities[columns.topics[topic]], steps, frozenset(topics)):
                group = first_group(groups[triple] for triple in triples_of(chain))
                grown.append(Scored(chain, compute_weakest_score(chain, scores), group))
    ranked = sorted(grown, key=evidence.chain_order)
    left_out = f"chains beyond the first {MAX_CHAINS:,} are left out" if len(ranked) > MAX_CHAINS else ""
    chains = _as(evidence, "chain", ranked[:MAX_CHAINS])
    return replace(chains, left_out=(*chains.left_out, left_out)) if left_out else chains


def make_last_step(columns: BatchTriples, level: PathsOfLength, path: int) -> ChainStep:
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


def _as(evidence: Evidence[Item], kind: Kind, items: Sequence[Scored[ItemT]]) -> Evidence[ItemT]:
    return cast(Evidence[ItemT], replace(evidence, kind=kind, items=tuple(items)))


MAX_PATHS = 1_000
"""Relation paths of one length that are carried on, of one topic: the best ones."""


@dataclass(frozen=True, slots=True, eq=False)
class BatchTriples:
    """Triples of a batch of questions as columns, with the nodes of each question apart from those of the others.

    entities: (num_nodes,), of each node. question_of: (num_nodes,). heads, tails: (num_triples,), nodes. relations:
    (num_triples,), numbers of `relation_names`. scores: (num_triples,). topics: (num_topics,), nodes.
    """

    entities: tuple[Entity, ...]
    question_of: Ints
    heads: Ints
    relations: Ints
    tails: Ints
    scores: Floats
    topics: Ints
    relation_names: tuple[str, ...]

    @classmethod
    def of(cls, questions: Sequence[tuple[Sequence[Triple], Sequence[float], Sequence[Entity]]]) -> BatchTriples:
        """Return the columns of each question's triples, their scores and its topics, in order; topics first."""
        numbers: dict[tuple[int, Entity], int] = {}
        names: dict[str, int] = {}
        heads: list[int] = []
        relations: list[int] = []
        tails: list[int] = []
        scores: list[float] = []
        topics: list[int] = []
        for question, (triples, values, starts) in enumerate(questions):
            topics += [numbers.setdefault((question, each), len(numbers)) for each in dict.fromkeys(starts)]
            for triple, value in zip(triples, values, strict=True):
                heads.append(numbers.setdefault((question, triple.head), len(numbers)))
                tails.append(numbers.setdefault((question, triple.tail), len(numbers)))
                relations.append(names.setdefault(triple.relation, len(names)))
                scores.append(value)
        return cls(
            tuple(entity for _, entity in numbers),
            np.array([question for question, _ in numbers], dtype=np.int64),
            np.array(heads, dtype=np.int64),
            np.array(relations, dtype=np.int64),
            np.array(tails, dtype=np.int64),
            np.array(scores, dtype=np.float64),
            np.array(topics, dtype=np.int64),
            tuple(names),
        )

    def step(self, code: int) -> RelationStep:
        """Return the step of a code: twice the relation's number, and one more where it is walked backwards."""
        return RelationStep(self.relation_names[code >> 1], inverse=bool(code & 1))


@dataclass(frozen=True, slots=True, eq=False)
class PathsOfLength:
    """The relation paths of one length.

    parent: (num_paths,) of the level before; of the first level the topic's place. code: (num_paths,), of the last
    step. topic: (num_paths,), its place. best: (num_paths,), the score of the last step's best triple; weakest:
    (num_paths,), the lowest `best` of all its steps; total: (num_paths,), their sum.
    link_path, link_source, link_target, link_triple: (num_links,), the triples of the last steps, path by path.
    end_path, end_node: (num_ends,), the nodes that each path reaches. end_last: the best triple that leads there;
    end_way: the lowest score on the best way there, the largest such; end_on: the best triple that leads on from
    there, −∞ where none does.
    """

    parent: Ints
    code: Ints
    topic: Ints
    best: Floats
    weakest: Floats
    total: Floats
    link_path: Ints
    link_source: Ints
    link_target: Ints
    link_triple: Ints
    end_path: Ints
    end_node: Ints
    end_last: Floats
    end_way: Floats
    end_on: Floats

    @property
    def num_paths(self) -> int:
        return len(self.code)


def enumerate_relation_paths(
    triples: BatchTriples, max_length: int = MAX_HOP, max_paths: int = MAX_PATHS
) -> list[PathsOfLength]:
    """Return the relation paths from each topic, the shorter first; a literal is only ever an end."""
    edges = _Edges.of(triples)
    num = len(triples.topics)
    level = _Growing(
        topic=np.arange(num),
        weakest=np.full(num, np.inf),
        total=np.zeros(num),
        end_path=np.arange(num),
        end_node=triples.topics,
        end_way=np.full(num, np.inf),
        walked=np.zeros(0, dtype=np.int64),
    )
    levels: list[PathsOfLength] = []
    for _ in range(max_length):
        links = _next_links(edges, level)
        if levels:
            levels[-1].end_on[:] = _largest(links.scores, links.end, len(level.end_path))
        if not len(links.path):
            break
        made, level = _next_level(edges, level, links, max_paths)
        levels.append(made)
    return levels


@dataclass(frozen=True, slots=True, eq=False)
class _Edges:
    """Triples in both directions, by the node they leave: those of node n from starts[n] to starts[n + 1]."""

    starts: Ints
    target: Ints
    code: Ints
    triple: Ints
    scores: Floats
    num_codes: int
    num_triples: int

    @classmethod
    def of(cls, triples: BatchTriples) -> _Edges:
        is_literal = np.array([each.is_literal for each in triples.entities], dtype=np.bool_)
        places = np.arange(len(triples.heads))
        back = (triples.heads != triples.tails) & ~is_literal[triples.tails]
        source = np.concatenate([triples.heads, triples.tails[back]])
        order = np.argsort(source, kind="stable")
        return cls(
            np.searchsorted(source[order], np.arange(len(is_literal) + 1)),
            np.concatenate([triples.tails, triples.heads[back]])[order],
            np.concatenate([2 * triples.relations, 2 * triples.relations[back] + 1])[order],
            np.concatenate([places, places[back]])[order],
            np.concatenate([triples.scores, triples.scores[back]])[order],
            2 * len(triples.relation_names),
            len(places),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Growing:
    """Paths that are carried on. walked: sorted, path · num_triples + triple of what each has walked."""

    topic: Ints
    weakest: Floats
    total: Floats
    end_path: Ints
    end_node: Ints
    end_way: Floats
    walked: Ints


@dataclass(frozen=True, slots=True, eq=False)
class _Links:
    """Triples that lead on from ends: (num_links,) each. end: of the level; source: its node."""

    path: Ints
    end: Ints
    source: Ints
    target: Ints
    code: Ints
    triple: Ints
    scores: Floats


def _next_links(edges: _Edges, level: _Growing) -> _Links:
    edge, end = expand_ranges(edges.starts[level.end_node], edges.starts[level.end_node + 1])
    path = level.end_path[end]
    new = ~np.isin(path * edges.num_triples + edges.triple[edge], level.walked)
    end, edge, path = end[new], edge[new], path[new]
    node = level.end_node[end]
    return _Links(path, end, node, edges.target[edge], edges.code[edge], edges.triple[edge], edges.scores[edge])


def _next_level(edges: _Edges, level: _Growing, links: _Links, max_paths: int) -> tuple[PathsOfLength, _Growing]:
    keys, path = np.unique(links.path * edges.num_codes + links.code, return_inverse=True)
    parent, code = keys // edges.num_codes, keys % edges.num_codes
    best = _largest(links.scores, path, len(keys))
    weakest = np.minimum(level.weakest[parent], best)
    kept = _best_of_each(level.topic[parent], weakest, max_paths)
    renumbered = np.full(len(keys), -1, dtype=np.int64)
    renumbered[kept] = np.arange(len(kept))
    within = renumbered[path] >= 0
    path, links = renumbered[path[within]], _chosen(links, within)
    order = np.argsort(path, kind="stable")
    path, links = path[order], _chosen(links, order)
    num_nodes = len(edges.starts) - 1
    ends, end = np.unique(path * num_nodes + links.target, return_inverse=True)
    end_path, end_node = ends // num_nodes, ends % num_nodes
    way = np.minimum(level.end_way[links.end], links.scores)
    made = PathsOfLength(
        parent=parent[kept],
        code=code[kept],
        topic=level.topic[parent[kept]],
        best=best[kept],
        weakest=weakest[kept],
        total=level.total[parent[kept]] + best[kept],
        link_path=path,
        link_source=links.source,
        link_target=links.target,
        link_triple=links.triple,
        end_path=end_path,
        end_node=end_node,
        end_last=_largest(links.scores, end, len(ends)),
        end_way=_largest(way, end, len(ends)),
        end_on=np.full(len(ends), -np.inf),
    )
    num_triples = edges.num_triples
    own = path * num_triples + links.triple
    old_path, old_triple = level.walked // num_triples, level.walked % num_triples
    first, after = np.searchsorted(old_path, made.parent), np.searchsorted(old_path, made.parent, side="right")
    at, of = expand_ranges(first, after)
    walked = np.unique(np.concatenate([own, of * num_triples + old_triple[at]]))
    growing = _Growing(made.topic, made.weakest, made.total, end_path, end_node, made.end_way, walked)
    return made, growing


def expand_ranges(first: Ints, after: Ints) -> tuple[Ints, Ints]:
    """Return the rows of several ranges end to end, and the range that each is in."""
    sizes = after - first
    of = np.repeat(np.arange(len(sizes)), sizes)
    return np.arange(len(of)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + first[of], of


def _chosen(links: _Links, which: npt.NDArray[Any]) -> _Links:
    return _Links(*(getattr(links, name)[which] for name in _Links.__slots__))


def _largest(values: Floats, groups: Ints, num_groups: int) -> Floats:
    """Return the largest value of each group, (num_groups,); −∞ of an empty one."""
    found = np.full(num_groups, -np.inf)
    np.maximum.at(found, groups, values)
    return found


def _best_of_each(groups: Ints, values: Floats, most: int) -> Ints:
    """Return the places of the `most` largest values of each group, in their order."""
    order = np.lexsort((-values, groups))
    sizes = np.bincount(groups)
    rank = np.arange(len(values)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(order[rank < most])
