"""From subgraphs and text vectors to what the network takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from .distances import Floats, distance_encoding
from .graphs import UNNAMED, Ints, QuestionGraphs
from .network import TripleInputs

Encode = Callable[[Sequence[str]], npt.NDArray[np.float32]]
"""Unit vectors of texts, (num_texts, dimension)."""


class EncodedGraphs:
    """A set of subgraphs with the vectors of all its texts, each encoded once, and its distance encodings."""

    def __init__(self, graphs: QuestionGraphs, encode: Encode, num_rounds: int, device: torch.device) -> None:
        self.graphs = graphs
        self._device = device
        texts = graphs.texts
        self._questions = encode(texts.questions)
        self._relations = encode(texts.relations)
        self._entities = encode(texts.entities) if texts.entities else np.zeros((1, self._questions.shape[1]), "f4")
        self._distances: Floats = distance_encoding(graphs.heads, graphs.tails, graphs.is_topic, num_rounds)

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._questions.shape[1])

    def inputs(self, questions: Sequence[int], rows: Sequence[Ints]) -> TripleInputs:
        """Return some triples of some questions: `rows` has those of each question."""
        graphs = self.graphs
        chosen = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
        nodes, ends = np.unique(np.concatenate([graphs.heads[chosen], graphs.tails[chosen]]), return_inverse=True)
        relations, relation_of = np.unique(graphs.relation_of[chosen], return_inverse=True)
        text_of = graphs.text_of[nodes]
        return TripleInputs(
            questions=self._tensor(self._questions[list(questions)]),
            relations=self._tensor(self._relations[relations]),
            entities=self._tensor(self._entities[np.maximum(text_of, 0)]),
            is_named=self._tensor(text_of != UNNAMED),
            distances=self._tensor(self._distances[nodes]),
            question_of=self._tensor(np.repeat(np.arange(len(rows)), [len(each) for each in rows])),
            heads=self._tensor(ends[: len(chosen)]),
            relation_of=self._tensor(relation_of),
            tails=self._tensor(ends[len(chosen) :]),
        )

    def labels(self, rows: Sequence[Ints]) -> Tensor:
        """Return which of the triples are right, as numbers."""
        chosen = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
        return self._tensor(self.graphs.is_positive[chosen].astype(np.float32))

    def whole(self) -> Iterator[tuple[Ints, TripleInputs]]:
        """Yield each question's rows with all its triples."""
        for question in range(len(self.graphs)):
            span = self.graphs.triples_of(question)
            rows = np.arange(span.start, span.stop)
            yield rows, self.inputs([question], [rows])

    def _tensor(self, values: npt.NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._device)
