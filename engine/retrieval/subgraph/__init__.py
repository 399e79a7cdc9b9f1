"""Hold question subgraphs as columns, for scorers of triples and entities, training files and pooling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...values import Entity

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class SubgraphBatch:
    """The subgraphs of questions as one disjoint graph: directed multigraphs without equal triples.

    Question q has the nodes from node_starts[q] to node_starts[q + 1] and the triples from triple_starts[q] to
    triple_starts[q + 1], both (num_questions + 1,). An entity that is in several questions' subgraphs is a node in
    each.
    table: the entities of the batch, each once. heads, relations, tails: (num_triples,), of each question sorted by
    (head, relation, tail). Heads and tails are indexes of nodes, relations are catalogue numbers; the triple was walked
    from either end. Parallel relations are triples of their own, a self-loop has head == tail, a literal is only ever a
    tail. entities: (num_nodes,) index into `table`, nodes of each question sorted by hops from the nearest topic, then
    by id. is_topic: (num_nodes,). is_cut: of each question whether a bound left triples out.
    """

    table: tuple[Entity, ...]
    heads: Ints
    relations: Ints
    tails: Ints
    entities: Ints
    is_topic: Bools
    node_starts: Ints
    triple_starts: Ints
    is_cut: tuple[bool, ...]

    def __len__(self) -> int:
        return len(self.is_cut)

    @property
    def is_literal(self) -> Bools:
        """Which nodes are literals, (num_nodes,)."""
        return np.array([self.table[number].is_literal for number in self.entities.tolist()], dtype=np.bool_)

    @property
    def ids(self) -> list[str]:
        return [self.table[number].id for number in self.entities.tolist()]

    @property
    def node_questions(self) -> Ints:
        """The question that each node belongs to, (num_nodes,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.node_starts))
