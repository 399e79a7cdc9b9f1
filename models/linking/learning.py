"""How the linker learns: binary cross-entropy over candidates, chosen by the recall of topics on dev."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from ..training.objective import Figures, ParameterGroup
from .candidates import Bools, Floats, LinkedCandidates
from .config import LinkerConfig
from .network import CandidateScorer

NAMES = ("recall_at_1", "recall_at_3", "loss")
"""Figures of a checkpoint: the mean share of a question's topics that are its first candidate (of as many as there can
be), among its first three; and the mean cross-entropy of a candidate."""


class NothingToLearnError(Exception):
    """No question has a topic among its candidates; the message says so."""


class LinkerObjective:
    """An `Objective`. Questions without a candidate teach nothing; they count as not found."""

    def __init__(
        self,
        network: CandidateScorer,
        train: Sequence[LinkedCandidates],
        dev: Sequence[LinkedCandidates],
        config: LinkerConfig,
    ) -> None:
        self.network = network
        self._train, self._dev, self._config = train, dev, config
        self._questions = [
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
        self._order = list(range(len(self._questions)))

    def groups(self) -> list[ParameterGroup]:
        """Return all parameters, which learn at one rate."""
        return [ParameterGroup(list(self.network.parameters()), self._config.training.head_learning_rate)]

    def saved(self) -> Mapping[str, Tensor]:
        """Return all weights."""
        return self.network.state_dict()

    @property
    def steps_per_epoch(self) -> int:
        """Batches of questions."""
        return -(-len(self._questions) // self._config.batch_size)

    def begin(self, epoch: int) -> None:
        """Order the questions anew."""
        rng = np.random.default_rng((self._config.training.seed, epoch))
        self._order = rng.permutation(len(self._questions)).tolist()

    def state(self) -> dict[str, Tensor]:
        """Return nothing: an epoch depends on its number alone."""
        return {}

    def resume(self, epoch: int, state: Mapping[str, Tensor]) -> None:
        """Order the questions as `begin` did."""
        del state
        self.begin(epoch)

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        """Return the mean loss over the candidates of a batch of questions."""
        size = self._config.batch_size
        batch = self._order[step * size : (step + 1) * size]
        batch = batch[shard[0] :: shard[1]] or batch[:1]
        features, labels = [], []
        for place, each in enumerate(self._train):
            rows = each.rows([self._questions[at][1] for at in batch if self._questions[at][0] == place])
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
