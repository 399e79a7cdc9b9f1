"""Hold question subgraphs as columns, for scorers of triples and entities, training files and pooling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...values import Entity

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

BOUNDS = ("fan_out", "node_triples", "question_triples")
"""The bounds that cut, in the order of the columns of `left_out`."""


@dataclass(frozen=True, slots=True, eq=False)
class EntityTable:
    """The entities of a batch, each once, however many questions' subgraphs it is in.

    ids: (num_entities,). names: (num_entities,), None of an unnamed mediator, of a literal its value.
    is_literal: (num_entities,).
    """

    ids: tuple[str, ...]
    names: tuple[str | None, ...]
    is_literal: Bools

    def __getitem__(self, number: int) -> Entity:
        return Entity(self.ids[number], self.names[number], bool(self.is_literal[number]))


@dataclass(frozen=True, slots=True, eq=False)
class SubgraphBatch:
    """The subgraphs of questions as one disjoint graph: directed multigraphs without equal triples.

    Question q has the nodes from node_starts[q] to node_starts[q + 1] and the triples from triple_starts[q] to
    triple_starts[q + 1], both (num_questions + 1,) int64. An entity that is in several questions' subgraphs is a node
    in each.
    heads, relations, tails: (num_triples,) int64, of each question sorted by (head, relation, tail). Heads and tails
    are indexes of nodes, relations are catalogue numbers; the triple was walked from either end. Parallel relations are
    triples of their own, a self-loop has head == tail, a literal is only ever a tail.
    entities: (num_nodes,) int64 index into `table`, nodes of each question sorted by (hops, id).
    is_topic: (num_nodes,) bool. hops: (num_nodes,) int64 from the nearest topic, 0 of topics; a mediator counts as
    reached with the hop that leads into it.
    left_out: (num_nodes, 3) int64, how many triples at the node each of `BOUNDS` left out; a triple that is left out at
    one end may have been found from the other. No triples are looked for at nodes of the last hop, and at literals.
    unknown_topics: of each question, ids that the graph has no entity for.
    """

    table: EntityTable
    heads: Ints
    relations: Ints
    tails: Ints
    entities: Ints
    is_topic: Bools
    hops: Ints
    left_out: Ints
    node_starts: Ints
    triple_starts: Ints
    unknown_topics: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.unknown_topics)

    def __iter__(self) -> Iterator[SubgraphBatch]:
        return (self[question] for question in range(len(self)))

    def __getitem__(self, question: int) -> SubgraphBatch:
        """Return one question's subgraph: slices of the columns, heads and tails counted from 0."""
        if not 0 <= question < len(self):
            raise IndexError(f"question {question} of a batch of {len(self)}")
        first, after = self.node_starts[question], self.node_starts[question + 1]
        nodes, triples = slice(first, after), slice(self.triple_starts[question], self.triple_starts[question + 1])
        return SubgraphBatch(
            self.table,
            self.heads[triples] - first,
            self.relations[triples],
            self.tails[triples] - first,
            self.entities[nodes],
            self.is_topic[nodes],
            self.hops[nodes],
            self.left_out[nodes],
            self.node_starts[question : question + 2] - first,
            self.triple_starts[question : question + 2] - self.triple_starts[question],
            self.unknown_topics[question : question + 1],
        )

    @property
    def is_literal(self) -> Bools:
        """Which nodes are literals, (num_nodes,)."""
        return self.table.is_literal[self.entities]

    @property
    def ids(self) -> list[str]:
        return [self.table.ids[number] for number in self.entities]

    @property
    def is_cut(self) -> bool:
        """Whether a bound left something out."""
        return bool(self.left_out.any())

    @property
    def node_questions(self) -> Ints:
        """The question that each node belongs to, (num_nodes,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.node_starts))

    @property
    def triple_questions(self) -> Ints:
        """The question that each triple belongs to, (num_triples,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.triple_starts))

    @classmethod
    def of(cls, table: EntityTable, subgraphs: list[SubgraphBatch]) -> SubgraphBatch:
        """Return the batch of single questions' subgraphs that share a table."""
        node_starts = np.cumsum([0, *(len(s.entities) for s in subgraphs)], dtype=np.int64)
        triple_starts = np.cumsum([0, *(len(s.heads) for s in subgraphs)], dtype=np.int64)
        shift = np.repeat(node_starts[:-1], np.diff(triple_starts))

        def column(name: str) -> Ints:
            shape = (0, len(BOUNDS)) if name == "left_out" else (0,)
            return np.concatenate([np.zeros(shape, dtype=np.int64), *(getattr(s, name) for s in subgraphs)])

        return cls(
            table,
            heads=column("heads") + shift,
            relations=column("relations"),
            tails=column("tails") + shift,
            entities=column("entities"),
            is_topic=column("is_topic").astype(np.bool_),
            hops=column("hops"),
            left_out=column("left_out"),
            node_starts=node_starts,
            triple_starts=triple_starts,
            unknown_topics=tuple(unknown for s in subgraphs for unknown in s.unknown_topics),
        )
