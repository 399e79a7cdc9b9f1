"""Question subgraphs as they are defined, in plain loops over a graph in memory: what the real ones are held against."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lodestar.engine.retrieval.subgraphs import SubgraphBatch, SubgraphQuery

Group = tuple[str, int]
"""The triples of one relation at a node: the node's id, and the signed number of the relation."""

Chooser = Callable[[str, Sequence[int]], Sequence[int]]
"""From a question and the relations at hand, signed, to those that are walked, best first."""


@dataclass(frozen=True)
class Store:
    """Entities with what stands at each, in the order of the store; unnamed ones are mediators."""

    ends: Mapping[Group, Sequence[str]]
    mediators: frozenset[str]
    literals: frozenset[str]
    entities: frozenset[str]


@dataclass
class Plain:
    """A subgraph by ids."""

    hops: dict[str, int]
    """Of the topics 0, and of the others 1 or more."""
    triples: set[tuple[str, int, str]] = field(default_factory=set)
    is_cut: bool = False


def plain(batch: SubgraphBatch) -> list[Plain]:
    """The columns of each question's subgraph as ids, with their order checked."""
    found = []
    for number, is_cut in enumerate(batch.is_cut):
        nodes, triples = (slice(*starts[number : number + 2]) for starts in (batch.node_starts, batch.triple_starts))
        ids, is_topic = batch.ids[nodes], batch.is_topic[nodes].tolist()
        heads, tails = (ends[triples] - nodes.start for ends in (batch.heads, batch.tails))
        rows = list(zip(heads.tolist(), batch.relations[triples].tolist(), tails.tolist(), strict=True))
        assert rows == sorted(set(rows)), "triples are sorted and none is there twice"
        hops = {id_: int(not is_one) for id_, is_one in zip(ids, is_topic, strict=True)}
        found.append(Plain(hops, {(ids[head], relation, ids[tail]) for head, relation, tail in rows}, is_cut))
    return found


def reference(store: Store, query: SubgraphQuery, choose: Chooser | None = None) -> Plain:
    """The subgraph of a question."""
    found = Plain({topic: 0 for topic in query.topics if topic in store.entities})
    walked: set[str] = set()
    for hop in range(1, query.num_hops + 1):
        for is_second_step in (False, True):
            front = [
                node
                for node, hops in sorted(found.hops.items())
                if node not in walked
                and node not in store.literals
                and ((hops == hop and node in store.mediators) if is_second_step else hops < hop)
            ]
            walked |= set(front)
            relations = sorted({number for node, number in store.ends if node in front}, key=lambda n: (abs(n), n < 0))
            chosen = list(choose(query.question, relations)) if choose else relations
            groups = [(node, number) for number in chosen for node in front if (node, number) in store.ends]
            _walk(store, query, found, groups, hop)
    found.hops = {node: min(hops, 1) for node, hops in sorted(found.hops.items(), key=lambda pair: (pair[1], pair[0]))}
    return found


def _walk(store: Store, query: SubgraphQuery, found: Plain, groups: list[Group], hop: int) -> None:
    """Read the groups as far as the bounds let."""
    bounds = query.bounds
    counts = {group: len(store.ends[group]) for group in groups}
    by_relation = {group: min(count, bounds.fan_out) for group, count in counts.items()}
    by_node: dict[Group, int] = {}
    for node in dict.fromkeys(node for node, _ in groups):
        here = [group for group in groups if group[0] == node]
        by_node |= zip(here, _share([by_relation[g] for g in here], bounds.node_triples), strict=True)
    later = query.num_hops - 1 if hop < query.num_hops else 0
    room = max(bounds.question_triples // 2**later - len(found.triples), 0)
    fits = sum(by_node.values()) <= room
    alike = _share([by_node[g] for g in groups], room if fits else (room + 1) // 2)
    limits = dict(zip(groups, alike, strict=True))
    rest = room - sum(alike)
    for group in groups:
        more = min(by_node[group] - limits[group], rest)
        limits[group] += more
        rest -= more
    for group in groups:
        node, number = group
        found.is_cut |= limits[group] < counts[group]
        for end in store.ends[group][: limits[group]]:
            found.triples.add((node, number, end) if number > 0 else (end, -number, node))
            found.hops.setdefault(end, hop)


def _share(counts: Sequence[int], total: int) -> list[int]:
    """The most that each may have, all alike; one for each of the first where there is not enough for all."""
    alike = max(n for n in range(max(counts, default=0) + 1) if n == 0 or sum(min(c, n) for c in counts) <= total)
    if alike == 0:
        served = [place for place, count in enumerate(counts) if count][:total]
        return [int(place in served) for place in range(len(counts))]
    return [min(count, alike) for count in counts]
