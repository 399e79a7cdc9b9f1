"""Hold the whole graph in memory, for baselines and exact oracles. The engine itself never does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..errors import GraphError
from ..neo4j.catalogue import read_catalogue, read_full_state
from ..neo4j.gateway import Gateway
from ..neo4j.statements import relation_ranks, stream_names, stream_triples
from ..values import Entity, literal_term

MAX_TRIPLES = 50_000_000
"""Takes about 40 bytes per triple in memory, plus the ids."""

Nodes = npt.NDArray[np.int64]


@dataclass(slots=True)
class WholeGraph:
    """Nodes by number, relations by number from 1, and for each node its outgoing steps, inverse ones included.

    The steps of node n are ``targets[starts[n]:starts[n + 1]]`` with the relation numbers in `steps`, negative if
    walked from tail to head. They are ordered by (step, target).
    """

    entities: list[Entity]
    relations: list[str]
    starts: Nodes
    targets: Nodes
    steps: Nodes
    numbers: dict[str, int] = field(init=False)
    relation_numbers: dict[str, int] = field(init=False)
    is_mediator: npt.NDArray[np.bool_] = field(init=False)
    is_literal: npt.NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.numbers = {entity.id: number for number, entity in enumerate(self.entities)}
        self.relation_numbers = {name: number for number, name in enumerate(self.relations) if number}
        self.is_mediator = np.array([entity.is_mediator for entity in self.entities], dtype=np.bool_)
        self.is_literal = np.array([entity.is_literal for entity in self.entities], dtype=np.bool_)

    @classmethod
    def of(cls, triples: Iterable[tuple[Entity, str, Entity]]) -> WholeGraph:
        """Return the graph of these triples."""
        entities: dict[str, int] = {}
        nodes: list[Entity] = []
        relations: dict[str, int] = {}
        heads, numbers, tails = [], [], []

        def number_of(entity: Entity) -> int:
            if entity.id not in entities:
                entities[entity.id] = len(entities)
                nodes.append(entity)
            return entities[entity.id]

        for head, relation, tail in triples:
            heads.append(number_of(head))
            numbers.append(relations.setdefault(relation, len(relations) + 1))
            tails.append(number_of(tail))
        sources = np.array(heads + tails, dtype=np.int64)
        targets = np.array(tails + heads, dtype=np.int64)
        steps = np.array(numbers + [-number for number in numbers], dtype=np.int64)
        order = np.lexsort((targets, steps, sources))
        starts = np.searchsorted(sources[order], np.arange(len(nodes) + 1))
        return cls(nodes, ["", *relations], starts, targets[order], steps[order])

    @classmethod
    def read(cls, gateway: Gateway) -> WholeGraph:
        """Read the graph of a database. Raises `GraphError` if it is too large."""
        state = gateway.run(read_full_state())
        state.check()
        if state.num_triples > MAX_TRIPLES:
            raise GraphError(
                f"expected at most {MAX_TRIPLES:,} triples for a baseline or an oracle, found {state.num_triples:,}: "
                "use a recipe that searches in the database, and leave out --oracle"
            )
        names = {row.id: row.name for row in gateway.stream(stream_names())}
        ranks = relation_ranks(relation.name for relation in gateway.fetch(read_catalogue()).relations)

        def triples() -> Iterable[tuple[Entity, str, Entity]]:
            for head in gateway.stream(stream_triples(ranks)):
                source = Entity(head.head, names.get(head.head))
                for tail in head.tails:
                    end = Entity(tail.tail, names.get(tail.tail))
                    if tail.is_literal:
                        term = literal_term(tail.tail, tail.datatype, tail.language)
                        end = Entity(term, tail.tail, is_literal=True)
                    yield source, tail.relation, end

        return cls.of(triples())

    def read_ids_by_name(self) -> dict[str, list[str]]:
        """Return the ids of the entities by name, in the order of their numbers."""
        found: dict[str, list[str]] = {}
        for entity in self.entities:
            if entity.name:
                found.setdefault(entity.name, []).append(entity.id)
        return found

    def steps_from(self, nodes: Nodes) -> tuple[Nodes, Nodes, Nodes]:
        """Return source, step and target of every step from these nodes."""
        counts = self.starts[nodes + 1] - self.starts[nodes]
        sources = np.repeat(nodes, counts)
        offsets = np.arange(len(sources)) - np.repeat(np.cumsum(counts) - counts, counts)
        at = np.repeat(self.starts[nodes], counts) + offsets
        return sources, self.steps[at], self.targets[at]

    def within(self, nodes: Nodes, num_steps: int) -> list[npt.NDArray[np.bool_]]:
        """Return, for 0 to `num_steps` steps, a mask of the nodes within that many steps of `nodes`."""
        reached = np.zeros(len(self.entities), dtype=np.bool_)
        reached[nodes] = True
        levels = [reached]
        frontier = nodes
        for _ in range(num_steps):
            _, _, targets = self.steps_from(frontier)
            following = levels[-1].copy()
            following[targets] = True
            frontier = np.flatnonzero(following & ~levels[-1])
            levels.append(following)
        return levels
