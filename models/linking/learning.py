"""How the linker learns: binary cross-entropy over candidates, chosen by the recall of topics on dev."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from ..training.objective import Figures, NothingToLearnError
from ..training.shuffled import Shuffled
from .candidates import Bools, Floats, LinkedCandidates
from .config import LinkerConfig
from .network import CandidateScorer


class LinkerObjective(Shuffled[CandidateScorer, tuple[int, int]]):
    """An `Objective`. Questions without a candidate teach nothing; they count as not found."""

    def __init__(
        self,
        network: CandidateScorer,
        train: Sequence[LinkedCandidates],
        dev: Sequence[LinkedCandidates],
        config: LinkerConfig,
    ) -> None:
        questions = [
            (place, question)
            for place, each in enumerate(train)
            for question in range(len(each))
            if each.starts[question + 1] > each.starts[question]
        ]
        if not any(each.is_topic.any() for each in train):
            raise NothingToLearnError("no question to learn from has a topic among its candidates")
        if not any(each.is_topic.any() for each in dev):
            raise NothingToLearnError("no question to choose by has a topic among its candidates")
        network.standardise(torch.from_numpy(np.concatenate([each.features for each in train])))
        super().__init__(network, questions, config.training, config.batch_size)
        self._train, self._dev = train, dev

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        """Return the mean loss over the candidates of a batch of questions."""
        batch = self.batch(step, shard)
        features, labels = [], []
        for place, each in enumerate(self._train):
            rows = each.rows([question for of, question in batch if of == place])
            features.append(each.features[rows])
            labels.append(each.is_topic[rows].astype(np.float32))
        return binary_cross_entropy_with_logits(
            network(torch.from_numpy(np.concatenate(features))), torch.from_numpy(np.concatenate(labels))
        )

    def evaluate(self) -> Figures:
        """Return recall and loss on dev."""
        found = [judged(logits, right, topics) for logits, right, topics in self.scored()]
        recall_1, recall_3 = np.mean([each[:2] for each in found], axis=0).tolist()
        loss = sum(each[2] for each in found) / max(1, sum(len(each.is_topic) for each in self._dev))
        return {"recall_at_1": recall_1, "recall_at_3": recall_3, "loss": loss, "choose_by": recall_1 - 0.1 * loss}

    def scored(self) -> Iterator[tuple[Floats, Bools, int]]:
        """Yield the logits of each dev question's candidates, which of them are topics, and how many it has."""
        with torch.no_grad():
            for each in self._dev:
                logits = self.network(torch.from_numpy(each.features)).numpy()
                for at in range(len(each)):
                    span = slice(int(each.starts[at]), int(each.starts[at + 1]))
                    yield logits[span], each.is_topic[span], int(each.num_topics[at])


def judged(logits: Floats, right: Bools, num_topics: int) -> tuple[float, float, float]:
    """Return recall@1 and recall@3 of a question with topics, and the summed cross-entropy of its candidates."""
    best = right[np.argsort(-logits, kind="stable")]
    recall = [float(best[:k].sum()) / min(k, num_topics) for k in (1, 3)]
    loss = float(np.where(right, np.logaddexp(0, -logits), np.logaddexp(0, logits)).sum())
    return recall[0], recall[1], loss
