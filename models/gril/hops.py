"""The complexity assessment module (GRIL, appendix C.2): how many hops a question takes, from its vector alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ..reg.graphs import QuestionGraphs
from ..reg.shortest_paths import UNREACHED, hops_from
from ..text_vectors import TextVectors
from ..training.objective import Figures
from ..training.options import TrainingOptions
from ..training.shuffled import Shuffled
from .config import ACCURACY, MAJORITY
from .inputs import EncodedQuestions

Ints = npt.NDArray[np.int64]

TRIPLES_PER_HOP = 5
"""The paper's: a reader is given 5 · c triples."""
NO_HOPS = 0
TIE_BREAK = 1e-3
"""Of equal accuracy the lower cross-entropy counts."""


class HopPredictor(nn.Module):
    """A perceptron over question vectors; class c − 1 is c hops. The width of its hidden layer is ours."""

    def __init__(self, dimension: int, hidden: int, max_hops: int) -> None:
        super().__init__()
        self.inner = nn.Linear(dimension, hidden)
        self.out = nn.Linear(hidden, max_hops)

    def forward(self, questions: Tensor) -> Tensor:
        """Return the logit of each number of hops, (num_questions, max_hops)."""
        logits: Tensor = self.out(self.inner(questions).relu())
        return logits

    @property
    def max_hops(self) -> int:
        """The most that it predicts."""
        return self.out.out_features


class HopModel:
    """Predicts the hops of questions from their texts; `vectors` are of the encoder that it was trained with."""

    def __init__(self, network: HopPredictor, vectors: TextVectors) -> None:
        self._network = network
        self._vectors = vectors

    @property
    def max_hops(self) -> int:
        """The most that it predicts."""
        return self._network.max_hops

    def logits(self, questions: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the logits of each question's number of hops, from 1 on, (num_questions, max_hops)."""
        if not questions:
            return np.zeros((0, self.max_hops), dtype=np.float32)
        self._vectors.encode(questions)
        vectors = torch.stack([torch.from_numpy(self._vectors.sentence(each)) for each in questions])
        with torch.no_grad():
            logits: Tensor = self._network(vectors.to(self._network.out.weight.device))
        return logits.float().cpu().numpy()


def hops_of(graphs: QuestionGraphs, max_hops: int) -> Ints:
    """Return the hops of each question, (num_questions,), `NO_HOPS` where no topic leads to an answer.

    The paper's: the shortest path between topics and answers. Ours, where there are several: the farthest of what the
    topics have for their nearest answers, so that there is room for each topic's path; triples, mediators included; at
    most `max_hops`.
    """
    found = []
    for question in range(len(graphs)):
        nodes, triples = graphs.nodes_of(question), graphs.triples_of(question)
        heads, tails = graphs.heads[triples] - nodes.start, graphs.tails[triples] - nodes.start
        farthest = NO_HOPS
        for topic in np.flatnonzero(graphs.is_topic[nodes]).tolist():
            hops = hops_from(heads, tails, graphs.is_literal[nodes], topic)
            reached = hops[graphs.is_answer[nodes] & (hops != UNREACHED)]
            farthest = max(farthest, int(reached.min(initial=max_hops)) if len(reached) else NO_HOPS)
        found.append(farthest)
    return np.array(found, dtype=np.int64)


class HopObjective(Shuffled[HopPredictor, int]):
    """An `Objective`: cross-entropy over the questions whose answers can be reached."""

    def __init__(
        self,
        network: HopPredictor,
        train: Sequence[EncodedQuestions],
        dev: Sequence[EncodedQuestions],
        options: TrainingOptions,
        batch_size: int,
    ) -> None:
        self._train, self._dev = (_known(sets, network.max_hops) for sets in (train, dev))
        super().__init__(network, range(len(self._train[1])), options, batch_size)

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        """Return the mean loss of a batch of questions."""
        batch = self.batch(step, shard)
        questions, hops = self._train
        return cross_entropy(network(questions[batch]), hops[batch] - 1)

    def evaluate(self) -> Figures:
        """Return the share of dev questions whose hops are predicted, and what the commonest number would have."""
        questions, hops = self._dev
        if not len(hops) or not len(self._train[1]):
            return {ACCURACY: 0.0, MAJORITY: 0.0, "choose_by": 0.0}
        with torch.no_grad():
            logits = self.network(questions)
            accuracy = float((logits.argmax(dim=1) + 1 == hops).float().mean())
            loss = float(cross_entropy(logits, hops - 1))
        commonest = torch.bincount(self._train[1]).argmax()
        majority = float((hops == commonest).float().mean())
        return {ACCURACY: accuracy, MAJORITY: majority, "choose_by": accuracy - TIE_BREAK * loss}


def _known(sets: Sequence[EncodedQuestions], max_hops: int) -> tuple[Tensor, Tensor]:
    """Return the vectors of the questions whose hops are known, and the hops."""
    hops = [torch.from_numpy(hops_of(each.graphs, max_hops)) for each in sets]
    questions = torch.cat([each.questions[of != NO_HOPS] for each, of in zip(sets, hops, strict=True)])
    return questions, torch.cat([of[of != NO_HOPS] for of in hops]).to(questions.device)
