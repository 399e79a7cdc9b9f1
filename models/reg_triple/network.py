"""Score every triple of a question's subgraph: ReG@Triple.

The first layer is linear in the question, the relation and the two nodes. Each is projected once, not once per triple,
and a triple's hidden layer is the sum of its four projections.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from cachetools import LRUCache
from torch import Tensor, nn

from ..subgraphs import UNNAMED, Floats, Ints, QuestionGraphs, distance_encoding
from ..text.vectors import TextVectors
from .config import TripleDescription

Encode = Callable[[Sequence[str]], npt.NDArray[np.float32]]
"""Unit vectors of texts, (num_texts, dimension)."""


class EncodedGraphs:
    """A set of subgraphs with the vectors of all their texts, each encoded once, and their distance encodings."""

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
        """Return some triples of some questions; `rows` has those of each question."""
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
        """Return which of the triples are right, as 0 and 1."""
        chosen = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
        return self._tensor(self.graphs.is_positive[chosen].astype(np.float32))

    def iterate_rows(self) -> Iterator[tuple[Ints, TripleInputs]]:
        """Yield each question's rows with all its triples."""
        for question in range(len(self.graphs)):
            span = self.graphs.triples_of(question)
            rows = np.arange(span.start, span.stop)
            yield rows, self.inputs([question], [rows])

    def _tensor(self, values: npt.NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._device)


BLOCK = 512
"""Triples per block: few enough for a processor's cache."""


@dataclass(frozen=True, slots=True)
class TripleInputs:
    """The triples of some questions. questions, relations: unit vectors, (num, dimension). entities: (num_nodes,
    dimension), rows of unnamed nodes are ignored. is_named: (num_nodes,). distances: (num_nodes, width). question_of,
    heads, relation_of, tails: (num_triples,) rows of these.
    """

    questions: Tensor
    relations: Tensor
    entities: Tensor
    is_named: Tensor
    distances: Tensor
    question_of: Tensor
    heads: Tensor
    relation_of: Tensor
    tails: Tensor


class TripleScorer(nn.Module):
    """dimension: of the text vectors. distance_width: of the encodings. hidden: units of the one hidden layer."""

    def __init__(self, dimension: int, distance_width: int, hidden: int) -> None:
        super().__init__()
        self.unnamed = nn.Parameter(torch.zeros(dimension))
        self.of_question = nn.Linear(dimension, hidden)
        self.of_head = nn.Linear(dimension, hidden, bias=False)
        self.of_relation = nn.Linear(dimension, hidden, bias=False)
        self.of_tail = nn.Linear(dimension, hidden, bias=False)
        self.of_head_distance = nn.Linear(distance_width, hidden, bias=False)
        self.of_tail_distance = nn.Linear(distance_width, hidden, bias=False)
        self.out = nn.Linear(hidden, 1)

    def forward(self, inputs: TripleInputs) -> Tensor:
        """Return the logit of each triple, (num_triples,)."""
        heads, head_of = torch.unique(inputs.heads, return_inverse=True)
        tails, tail_of = torch.unique(inputs.tails, return_inverse=True)
        return self.score_projected(
            self.of_question(inputs.questions),
            self.of_relation(inputs.relations),
            self._nodes(self.of_head, inputs, heads) + self.of_head_distance(inputs.distances[heads]),
            self._nodes(self.of_tail, inputs, tails) + self.of_tail_distance(inputs.distances[tails]),
            replace(inputs, heads=head_of, tails=tail_of),
        )

    def _nodes(self, layer: nn.Linear, inputs: TripleInputs, nodes: Tensor) -> Tensor:
        """Return a layer's projection of nodes, (num_nodes, hidden); text vectors get no gradient."""
        is_named = inputs.is_named[nodes][:, None]
        return torch.where(is_named, layer(inputs.entities[nodes]), layer(self.unnamed))

    def score_projected(
        self, questions: Tensor, relations: Tensor, heads: Tensor, tails: Tensor, inputs: TripleInputs
    ) -> Tensor:
        """Return the logits from the projections, (num, hidden) each, block by block."""
        logits = [self.out.bias.new_zeros(0)]
        for rows in _blocks(len(inputs.heads)):
            hidden = heads.index_select(0, inputs.heads[rows])
            hidden += tails.index_select(0, inputs.tails[rows])
            hidden += relations.index_select(0, inputs.relation_of[rows])
            hidden += questions.index_select(0, inputs.question_of[rows])
            logits.append(self.out(hidden.relu_()).squeeze(1))
        return torch.cat(logits)


def _blocks(size: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, size, BLOCK))


Bools = npt.NDArray[np.bool_]

MAX_KEPT = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class TripleColumns:
    """The subgraphs of a batch of questions as one graph; nodes and triples are numbered across the batch.

    questions, relations: their texts. names: the text of each node, None for an unnamed one. is_topic: (num_nodes,).
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
    """Scores triples with a checkpoint. Threads take turns; `vectors` must come from its training's encoder."""

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
            text_of = self._tensor(np.array([place[name] for name in columns.names]))
            entities = self._entities(names)
            none = network.unnamed[:0]
            inputs = TripleInputs(
                *(none, none, none, none),
                distances,
                *map(self._tensor, (columns.question_of, columns.heads, columns.relation_of, columns.tails)),
            )
            scores = network.score_projected(
                network.of_question(self._tensor(self._vectors.stack(columns.questions))),
                self._relations(columns.relations),
                entities[text_of, 0] + network.of_head_distance(distances),
                entities[text_of, 1] + network.of_tail_distance(distances),
                inputs,
            )
            return scores.float().cpu().numpy()

    def _entities(self, names: Sequence[str | None]) -> Tensor:
        """Return each name's projections as head and as tail, (num_names, 2, hidden)."""
        network = self._network
        missing = [name for name in names if name is not None and name not in self._of_entities]
        found: dict[str, Tensor] = {}
        if missing:
            vectors = self._tensor(self._vectors.stack(missing, lasting=True))
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
            vectors = self._tensor(self._vectors.stack(missing, lasting=True))
            found = dict(zip(missing, self._network.of_relation(vectors), strict=True))
        rows = [found[text] if text in found else self._of_relations[text] for text in texts]
        for text, row in found.items():
            self._of_relations[text] = row
        return torch.stack(rows)

    def _tensor(self, values: npt.NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._device)
