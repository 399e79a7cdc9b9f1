"""Compute the figures of `lodestar stats`: sizes, degrees, hubs and components."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import GraphError
from ..values import Entity
from .catalogue import LoadManifest, RelationInfo, read_catalogue, read_full_state, read_loads
from .gateway import Gateway
from .templates import Request, Row, template


class DegreeCount(NamedTuple):
    """The number of entities with a degree, and how many of them have a name."""

    degree: int
    num_entities: int
    num_named: int


class Hub(NamedTuple):
    """An entity and its number of triples; a self-loop counts twice."""

    entity: Entity
    degree: int


class NumberedNeighbours(NamedTuple):
    """An entity and its neighbours, by numbers that are valid within one stream."""

    entity: int
    neighbours: Sequence[int]


def read_degree_counts() -> Request[list[DegreeCount]]:
    """Count the entities of each degree, ascending (reads every entity)."""
    return Request(template("read_degree_counts"), {}, lambda rows: [DegreeCount(*row) for row in rows])


def read_hubs(limit: int) -> Request[tuple[Hub, ...]]:
    """Read the entities with the highest degrees, highest first, ties by id (reads every entity)."""
    return Request(
        template("read_hubs"),
        {"limit": limit},
        lambda rows: tuple(Hub(Entity(id_, name), degree) for id_, name, degree in rows),
    )


def stream_neighbours() -> Request[NumberedNeighbours]:
    """Stream every entity with its neighbours (reads every relationship); for `Gateway.stream`."""

    def decode(rows: Sequence[Row]) -> NumberedNeighbours:
        entity, neighbours = rows[0]
        if entity is None:
            raise GraphError("this Neo4j numbers its nodes in an unknown way: use --no-components")
        return NumberedNeighbours(entity, neighbours)

    return Request(template("stream_neighbours"), {}, decode)


CHUNK_EDGES = 1 << 22

Labels = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]


def component_sizes(rows: Iterable[tuple[int, Sequence[int]]], chunk_edges: int = CHUNK_EDGES) -> dict[int, int]:
    """Return the number of weakly connected components of each size.

    A row is a node with the nodes that it has edges to; every node needs a row. Nodes are small numbers, best without
    gaps. Memory: about 30 bytes for each number up to the highest, and 30 for each of `chunk_edges` edges.
    """
    labels: Labels = np.empty(0, np.int32)
    is_node: npt.NDArray[np.bool_] = np.empty(0, np.bool_)
    num_labels = 0
    for starts, degrees, ends in _chunks(rows, chunk_edges):
        highest = int(max(starts.max(initial=-1), ends.max(initial=-1)))
        num_new = max(0, highest + 1 - len(labels))
        labels = np.concatenate([labels, np.arange(num_labels, num_labels + num_new, dtype=np.int32)])
        is_node = np.concatenate([is_node, np.zeros(num_new, np.bool_)])
        is_node[starts] = True
        num_labels += num_new
        joined = _join_labels(num_labels, labels[np.repeat(starts, degrees)], labels[ends])
        num_labels = int(joined.max(initial=-1)) + 1
        labels = joined[labels]
    sizes = np.bincount(labels[is_node], minlength=num_labels)
    found, numbers = np.unique(sizes[sizes > 0], return_counts=True)
    return dict(zip(found.tolist(), numbers.tolist(), strict=True))


def _join_labels(num_labels: int, one: Labels, other: Labels) -> Labels:
    """Return a new label for each, the same for all that edges join; edges lead from `one` to `other`, (num_edges,)."""
    roots = np.arange(num_labels, dtype=np.int32)
    while len(one):
        one, other = roots[one], roots[other]
        low, high = np.minimum(one, other), np.maximum(one, other)
        apart = low < high
        one, other = low[apart], high[apart]
        np.minimum.at(roots, other, one)
        while not np.array_equal(roots, further := roots[roots]):
            roots = further
    return np.unique(roots, return_inverse=True)[1].astype(np.int32)


def _chunks(rows: Iterable[tuple[int, Sequence[int]]], size: int) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    """Yield nodes, their numbers of edges, and the ends of the edges, at least `size` nodes and edges at a time."""
    starts, degrees, ends = array("q"), array("q"), array("q")
    for node, neighbours in rows:
        starts.append(node)
        degrees.append(len(neighbours))
        ends.extend(neighbours)
        if len(starts) + len(ends) >= size:
            yield np.array(starts), np.array(degrees), np.array(ends)
            starts, degrees, ends = array("q"), array("q"), array("q")
    if starts:
        yield np.array(starts), np.array(degrees), np.array(ends)


MAX_TRIPLES_UNASKED = 5_000_000
"""Components of larger graphs are only counted on request."""


@dataclass(frozen=True, slots=True)
class SizeBin:
    """The number of items with a size from `low` to `high`."""

    low: int
    high: int
    count: int


@dataclass(frozen=True, slots=True)
class Degrees:
    """The distribution of degrees. Quantiles are existing degrees (nearest rank)."""

    min: int
    median: int
    mean: float
    p90: int
    p99: int
    max: int
    bins: tuple[SizeBin, ...]


@dataclass(frozen=True, slots=True)
class Components:
    """Connected components over triples between entities; literals connect nothing."""

    count: int
    largest: int
    """Entities in the largest component."""
    largest_share: float
    bins: tuple[SizeBin, ...]
    """Number of components by their number of entities."""


@dataclass(frozen=True, slots=True)
class GraphStats:
    """The figures of a graph. `components` is None if they were not counted."""

    num_entities: int
    num_unnamed: int
    num_literals: int
    num_relations: int
    num_triples: int
    loads: tuple[LoadManifest, ...]
    degrees: Degrees
    relations: tuple[RelationInfo, ...]
    """The relations with the most triples, in descending order."""
    hubs: tuple[Hub, ...]
    components: Components | None

    @property
    def unnamed_share(self) -> float:
        """The share of entities without a name."""
        return self.num_unnamed / self.num_entities

    def relation_share(self, relation: RelationInfo) -> float:
        """Return a relation's share of the triples."""
        return relation.count / max(self.num_triples, 1)

    def as_json(self) -> dict[str, Any]:
        """Return the figures as JSON data."""
        return {
            "num_entities": self.num_entities,
            "num_unnamed": self.num_unnamed,
            "unnamed_share": round(self.unnamed_share, 6),
            "num_literals": self.num_literals,
            "num_relations": self.num_relations,
            "num_triples": self.num_triples,
            "loads": [asdict(load) for load in self.loads],
            "degrees": asdict(self.degrees),
            "relations": [
                {"relation": r.name, "label": r.label, "count": r.count, "share": round(self.relation_share(r), 6)}
                for r in self.relations
            ],
            "hubs": [{"id": hub.entity.id, "name": hub.entity.name, "degree": hub.degree} for hub in self.hubs],
            "components": asdict(self.components) if self.components else None,
        }


def graph_stats(gateway: Gateway, *, top: int = 10, components: bool | None = None) -> GraphStats:
    """Compute the figures of a graph, finished or not, with its `top` relations and hubs.

    With `components` None they are counted up to `MAX_TRIPLES_UNASKED` triples, because this reads every relationship.
    Raises `GraphError` for an empty graph.
    """
    state = gateway.run(read_full_state())
    if state.is_empty:
        state.check()
    degree_counts = gateway.fetch(read_degree_counts())
    catalogue = gateway.fetch(read_catalogue())
    wanted = state.num_triples <= MAX_TRIPLES_UNASKED if components is None else components
    return GraphStats(
        num_entities=state.num_entities,
        num_unnamed=sum(found.num_entities - found.num_named for found in degree_counts),
        num_literals=state.num_literals,
        num_relations=state.num_relations,
        num_triples=state.num_triples,
        loads=gateway.fetch(read_loads()),
        degrees=summarise_degrees(degree_counts),
        relations=tuple(sorted(catalogue.relations, key=lambda relation: (-relation.count, relation.name))[:top]),
        hubs=gateway.fetch(read_hubs(top)),
        components=_components(gateway) if wanted else None,
    )


def summarise_degrees(counts: Sequence[DegreeCount]) -> Degrees:
    """Return the distribution of degrees from their counts, which are ascending and not empty."""
    total = sum(count.num_entities for count in counts)
    return Degrees(
        min=counts[0].degree,
        median=_quantile(counts, total, 50),
        mean=sum(count.degree * count.num_entities for count in counts) / total,
        p90=_quantile(counts, total, 90),
        p99=_quantile(counts, total, 99),
        max=counts[-1].degree,
        bins=log_bins({count.degree: count.num_entities for count in counts}),
    )


def log_bins(counts: dict[int, int]) -> tuple[SizeBin, ...]:
    """Group the counts of sizes into bins 0, 1, 2–3, 4–7, …, from the smallest size to the largest."""
    totals = [0] * (max(counts).bit_length() + 1)
    for size, count in counts.items():
        totals[size.bit_length()] += count
    first = min(counts).bit_length()
    return tuple(SizeBin((1 << n) >> 1, (1 << n) - 1, totals[n]) for n in range(first, len(totals)))


def _quantile(counts: Sequence[DegreeCount], total: int, percent: int) -> int:
    """Return the smallest degree that at least `percent` of the entities do not exceed."""
    seen = 0
    for count in counts:
        seen += count.num_entities
        if seen * 100 >= total * percent:
            return count.degree
    raise ValueError(f"the counts are of fewer than {total} entities")


def _components(gateway: Gateway) -> Components:

    sizes = component_sizes((row.entity, row.neighbours) for row in gateway.stream(stream_neighbours()))
    largest = max(sizes)
    num_entities = sum(size * count for size, count in sizes.items())
    return Components(sum(sizes.values()), largest, largest / num_entities, log_bins(sizes))
