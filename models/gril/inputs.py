"""From subgraphs and text vectors to what the network takes: for a training, every text encoded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..reg.graphs import UNNAMED, QuestionGraphs
from .network import GrowInputs

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Encode = Callable[[Sequence[str]], npt.NDArray[np.float32]]
"""Unit vectors of texts, (num_texts, dimension)."""


class EncodedQuestions:
    """A set of subgraphs with the vectors of all its texts."""

    def __init__(self, graphs: QuestionGraphs, encode: Encode, device: torch.device) -> None:
        self.graphs = graphs
        self._device = device
        texts = graphs.texts
        self._questions = encode(texts.questions)
        self._relations = encode(texts.relations)
        self._entities = encode(texts.entities) if texts.entities else np.zeros((1, self._questions.shape[1]), "f4")
        self._on_path = on_right_paths(graphs)

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._questions.shape[1])

    @property
    def questions(self) -> Tensor:
        """The questions' vectors, (num_questions, dimension)."""
        return self._tensor(self._questions)

    def rows(self, questions: Sequence[int]) -> tuple[Ints, Ints]:
        """Return the rows of the nodes and of the triples of some questions, one question after another."""
        none = np.zeros(0, dtype=np.int64)
        nodes = [np.arange(*self.graphs.nodes_of(each).indices(1 << 62)) for each in questions]
        triples = [np.arange(*self.graphs.triples_of(each).indices(1 << 62)) for each in questions]
        return np.concatenate([none, *nodes]), np.concatenate([none, *triples])

    def inputs(self, questions: Sequence[int], *, supervised: bool = False) -> GrowInputs:
        """Return the whole subgraphs of some questions; `supervised` keeps what is on right paths growing."""
        graphs = self.graphs
        nodes, triples = self.rows(questions)
        sizes = [graphs.node_starts[each + 1] - graphs.node_starts[each] for each in questions]
        question_of = np.repeat(np.arange(len(questions)), sizes)
        relations, relation_of = np.unique(graphs.relation_of[triples], return_inverse=True)
        text_of = graphs.text_of[nodes]
        moved = np.repeat(
            np.cumsum([0, *sizes])[:-1] - graphs.node_starts[list(questions)],
            [graphs.triple_starts[each + 1] - graphs.triple_starts[each] for each in questions],
        )
        return GrowInputs(
            questions=self._tensor(self._questions[list(questions)]),
            relations=self._tensor(self._relations[relations]),
            entities=self._tensor(self._entities[np.maximum(text_of, 0)]),
            is_named=self._tensor(text_of != UNNAMED),
            is_topic=self._tensor(graphs.is_topic[nodes]),
            is_literal=self._tensor(graphs.is_literal[nodes]),
            question_of=self._tensor(question_of),
            heads=self._tensor(graphs.heads[triples] + moved),
            relation_of=self._tensor(relation_of),
            tails=self._tensor(graphs.tails[triples] + moved),
            grown_anyway=self._tensor(self._on_path[nodes]) if supervised else None,
        )

    def on_path(self, questions: Sequence[int]) -> Tensor:
        """Return which nodes of some questions are on right paths, as numbers."""
        return self._tensor(self._on_path[self.rows(questions)[0]].astype(np.float32))

    def _tensor(self, values: npt.NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._device)


def on_right_paths(graphs: QuestionGraphs) -> Bools:
    """Return which nodes are on a shortest path from a topic to an answer, (num_nodes,): ends of right triples."""
    found = np.zeros(len(graphs.text_of), dtype=np.bool_)
    found[graphs.heads[graphs.is_positive]] = True
    found[graphs.tails[graphs.is_positive]] = True
    return found
