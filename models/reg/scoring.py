"""A checkpoint at work: subgraphs to the scores of their triples, what is projected once kept across questions."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from cachetools import LRUCache
from torch import Tensor

from ..text_vectors import TextVectors
from .config import TripleDescription
from .distances import distance_encoding
from .network import TripleInputs, TripleScorer

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MAX_KEPT = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class TripleColumns:
    """The subgraphs of a batch of questions as one graph: nodes and triples of all of them, counted through.

    questions, relations: their texts. names: the text of each node, None of an unnamed one. is_topic: (num_nodes,).
    heads, tails: (num_triples,) nodes. relation_of, question_of: (num_triples,) places in `relations`, `questions`.
    """

    questions: Sequence[str]
    relations: Sequence[str]
    names: Sequence[str | None]
    is_topic: Bools
    heads: Ints
    relation_of: Ints
    tails: Ints
    question_of: Ints


class TripleModel:
    """Scores triples with a checkpoint. Threads take turns; `vectors` are of the encoder that it was trained with."""

    def __init__(self, description: TripleDescription, network: TripleScorer, vectors: TextVectors) -> None:
        self.description = description
        self._network = network
        self._vectors = vectors
        self._device = network.unnamed.device
        self._turn = threading.RLock()
        self._of_relations: LRUCache[str, Tensor] = LRUCache(MAX_KEPT)
        self._of_entities: LRUCache[str, Tensor] = LRUCache(MAX_KEPT)

    def score(self, columns: TripleColumns) -> npt.NDArray[np.float32]:
        """Return the logit of each triple, (num_triples,)."""
        if not len(columns.heads):
            return np.zeros(0, dtype=np.float32)
        network = self._network
        with self._turn, torch.no_grad():
            distances = self._tensor(
                distance_encoding(columns.heads, columns.tails, columns.is_topic, self.description.num_rounds)
            )
            names = list(dict.fromkeys(columns.names))
            place = {name: number for number, name in enumerate(names)}
            text_of = self._tensor(np.array([place[name] for name in columns.names], dtype=np.int64))
            entities = self._entities(names)
            none = network.unnamed[:0]
            inputs = TripleInputs(
                *(none, none, none, none),
                distances,
                *map(self._tensor, (columns.question_of, columns.heads, columns.relation_of, columns.tails)),
            )
            scores = network.of_projected(
                network.of_question(self._tensor(self._vectors.stacked(columns.questions))),
                self._relations(columns.relations),
                entities[text_of, 0] + network.of_head_distance(distances),
                entities[text_of, 1] + network.of_tail_distance(distances),
                inputs,
            )
            return scores.float().cpu().numpy()

    def _entities(self, names: Sequence[str | None]) -> Tensor:
        """Return what each name comes to as a head and as a tail, (num_names, 2, hidden)."""
        network = self._network
        missing = [name for name in names if name is not None and name not in self._of_entities]
        found: dict[str, Tensor] = {}
        if missing:
            vectors = self._tensor(self._vectors.stacked(missing, lasting=True))
            both = torch.stack([network.of_head(vectors), network.of_tail(vectors)], dim=1)
            found = dict(zip(missing, both, strict=True))
        unnamed = torch.stack([network.of_head(network.unnamed), network.of_tail(network.unnamed)])
        rows = [
            unnamed if name is None else found[name] if name in found else self._of_entities[name] for name in names
        ]
        for name, row in found.items():
            self._of_entities[name] = row
        return torch.stack(rows)

    def _relations(self, texts: Sequence[str]) -> Tensor:
        missing = [text for text in dict.fromkeys(texts) if text not in self._of_relations]
        found: dict[str, Tensor] = {}
        if missing:
            vectors = self._tensor(self._vectors.stacked(missing, lasting=True))
            found = dict(zip(missing, self._network.of_relation(vectors), strict=True))
        rows = [found[text] if text in found else self._of_relations[text] for text in texts]
        for text, row in found.items():
            self._of_relations[text] = row
        return torch.stack(rows)

    def _tensor(self, values: npt.NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._device)
