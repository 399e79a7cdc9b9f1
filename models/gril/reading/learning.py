"""How retriever, bridge and reader learn together, and what they are chosen by: Hits@1 of the reader on dev."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ...training.objective import Figures, ParameterGroup
from ...training.shuffled import Shuffled
from ..config import F1, HITS, GrilConfig
from ..hops import TRIPLES_PER_HOP, HopPredictor
from ..inputs import EncodedQuestions
from .asked import Bools, Floats, Judged
from .joint import JointNetwork

TIE_BREAK = 1e-3
"""Of equal Hits@1 the better F1 counts."""
SHARES: tuple[float, ...] = tuple(np.linspace(0.05, 1.0, 20).tolist())
"""Of the best candidate's probability, what another needs to be an answer as well: the best of these on dev."""


class JointObjective(Shuffled[JointNetwork, tuple[int, int]]):
    """An `Objective`. Figures are over all dev questions with an answer in their subgraph, found or not; in the open
    domain over all that have a subgraph."""

    def __init__(
        self,
        network: JointNetwork,
        hops: HopPredictor,
        train: Sequence[EncodedQuestions],
        dev: Sequence[EncodedQuestions],
        config: GrilConfig,
    ) -> None:
        self._train, self._dev, self._config = train, dev, config
        self._numbers = {id(each): numbers_of_triples(hops, each, config) for each in (*train, *dev)}
        questions = [(place, question) for place, each in enumerate(train) for question in self._asked(each)]
        super().__init__(network, questions, config.joint_training, config.batch_size)

    def groups(self) -> list[ParameterGroup]:
        """Return the parameters of the reader that were trained before, and all others, which are new."""
        inside = {id(parameter) for parameter in self.network.reader.pretrained()}
        learning = [p for p in self.network.parameters() if p.requires_grad]
        parts = [[p for p in learning if (id(p) in inside) is within] for within in (True, False)]
        rates = (self.training.learning_rate, self.training.head_learning_rate)
        return [ParameterGroup(part, rate) for part, rate in zip(parts, rates, strict=True)]

    def saved(self) -> Mapping[str, Tensor]:
        """Return the weights that are trained, of a LoRA its factors alone."""
        return self.network.learned()

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        """Return the mean loss of a batch of questions."""
        batch = self.batch(step, shard)
        losses = []
        for place, encoded in enumerate(self._train):
            chosen = [question for of, question in batch if of == place]
            if chosen:
                numbers = [self._numbers[id(encoded)][each] for each in chosen]
                read = network(encoded, chosen, numbers, self.training.dtype)
                losses.append(read.loss * len(chosen))
        return torch.stack(losses).sum() / len(batch)

    def evaluate(self) -> Figures:
        """Return Hits@1 and F1 on dev, F1 by the best of `SHARES`."""
        found = self.judged()
        hits = float(np.mean([hit(each.scores, each.is_right) for each in found])) if found else 0.0
        f1: float = max(f1_at(share, found) for share in SHARES)
        return {HITS: hits, F1: f1, "choose_by": hits + TIE_BREAK * f1}

    def best_share(self) -> float:
        """Return that of `SHARES` with the best F1 on dev, the highest of equal ones."""
        found = self.judged()
        best: float = max(SHARES, key=lambda share: (f1_at(share, found), share))
        return best

    def judged(self) -> list[Judged]:
        """Return what the reader says to each dev question."""
        found: list[Judged] = []
        size = self._config.batch_size
        with torch.no_grad():
            for encoded in self._dev:
                asked = self._asked(encoded)
                for batch in (asked[start : start + size] for start in range(0, len(asked), size)):
                    numbers = [self._numbers[id(encoded)][each] for each in batch]
                    found += self.network.judged(encoded, batch, numbers, self.training.dtype)
        return found

    def _asked(self, encoded: EncodedQuestions) -> list[int]:
        """Return the questions that teach and judge: those that are a choice, or have an answer in their subgraph."""
        return list(range(len(encoded.graphs))) if self._config.joint.open_domain else answered(encoded)


def answered(encoded: EncodedQuestions) -> list[int]:
    """Return the questions that have an answer in their subgraph."""
    graphs = encoded.graphs
    return [each for each in range(len(graphs)) if graphs.is_answer[graphs.nodes_of(each)].any()]


def numbers_of_triples(hops: HopPredictor, encoded: EncodedQuestions, config: GrilConfig) -> list[int]:
    """Return how many triples the reader is given of each question."""
    if config.joint.num_triples:
        return [config.joint.num_triples] * len(encoded.graphs)
    with torch.no_grad():
        predicted = hops(encoded.questions).argmax(dim=1) + 1
    return [TRIPLES_PER_HOP * c for c in predicted.tolist()]


def hit(scores: Floats, right: Bools) -> bool:
    """Return whether the best candidate is right; none that is written down is not."""
    return bool(len(scores) and scores.max() > 0 and right[scores.argmax()])


def is_answer(scores: Floats, share: float) -> Bools:
    """Return which candidates are answers: those with a share of the best one's probability."""
    said: Bools = (scores > 0) & (scores >= share * scores.max(initial=0.0))
    return said


def f1_at(share: float, found: Sequence[Judged]) -> float:
    """Return the mean F1 of what is an answer by a share."""
    figures = []
    for each in found:
        said = is_answer(each.scores, share)
        figures.append(2 * int((said & each.is_right).sum()) / max(int(said.sum()) + each.num_answers, 1))
    return float(np.mean(figures)) if figures else 0.0
