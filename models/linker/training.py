"""Train the linker's network and read its checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from ..training.checkpoint import check_checkpoint, read_weights, translate_read_errors, write_weights
from ..training.kind import Inputs, Outcome, Phase, Training
from ..training.loop import ShuffledObjective, TrainingResult
from ..training.objective import Figures, NothingToLearnError
from ..training.trainer import fit_calibration
from .config import PART, Bools, Floats, LinkedCandidates, LinkerConfig, LinkerDescription


class CandidateScorer(nn.Module):
    """num_features: of a candidate. hidden: units of the one hidden layer."""

    mean: Tensor
    spread: Tensor

    def __init__(self, num_features: int, hidden: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(num_features))
        self.register_buffer("spread", torch.ones(num_features))
        self.linear = nn.Linear(num_features, 1)
        self.inner = nn.Linear(num_features, hidden)
        self.out = nn.Linear(hidden, 1, bias=False)
        nn.init.zeros_(self.out.weight)  # starts as a logistic regression

    def standardise(self, features: Tensor) -> None:
        """Set mean and spread of the features from the training features, (num_candidates, num_features)."""
        self.mean.copy_(features.mean(dim=0))
        spread = features.std(dim=0, unbiased=False)
        self.spread.copy_(torch.where(spread > 1e-6, spread, torch.ones_like(spread)))

    def forward(self, features: Tensor) -> Tensor:
        """Return the logit of each candidate, (num_candidates,), from its features, (num_candidates, num_features)."""
        x = (features - self.mean) / self.spread
        logits: Tensor = self.linear(x) + self.out(torch.relu(self.inner(x)))
        return logits.squeeze(-1)


def read_linker(folder: Path) -> tuple[LinkerDescription, CandidateScorer]:
    """Return a checkpoint after checking its hashes; raise `BadCheckpointError` if one is damaged."""
    description = check_checkpoint(folder, LinkerDescription, lambda _: (PART,))
    with translate_read_errors(folder):
        network = CandidateScorer(len(description.features), description.hidden)
        network.load_state_dict(read_weights(folder / PART))
    return description, network.eval()


class LinkerObjective(ShuffledObjective[CandidateScorer, tuple[int, int]]):
    """An `Objective`. Questions without a candidate are skipped in training and count as misses on dev."""

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
        with self.autocast():
            logits = network(self._tensor(np.concatenate(features)))
        return binary_cross_entropy_with_logits(logits.float(), self._tensor(np.concatenate(labels)))

    def evaluate(self) -> Figures:
        """Return recall and loss on dev."""
        found = [linker_figures(logits, right, topics) for logits, right, topics in self.iterate_logits()]
        recall_1, recall_3 = np.mean([each[:2] for each in found], axis=0).tolist()
        loss = sum(each[2] for each in found) / sum(len(each.is_topic) for each in self._dev)
        return {
            "recall_at_1": recall_1,
            "recall_at_3": recall_3,
            "loss": loss,
            "selection_metric": recall_1 - 0.1 * loss,
        }

    def iterate_logits(self) -> Iterator[tuple[Floats, Bools, int]]:
        """Yield the logits of each dev question's candidates, which are topics, and the number of its topics."""
        with torch.no_grad():
            for each in self._dev:
                logits = self.network(self._tensor(each.features)).cpu().numpy()
                for at in range(len(each)):
                    span = slice(int(each.starts[at]), int(each.starts[at + 1]))
                    yield logits[span], each.is_topic[span], int(each.num_topics[at])

    def _tensor(self, values: Floats) -> Tensor:
        return torch.from_numpy(values).to(self.network.mean.device)


def linker_figures(logits: Floats, right: Bools, num_topics: int) -> tuple[float, float, float]:
    """Return recall@1 and recall@3 of a question with topics, and the summed cross-entropy of its candidates."""
    best = right[np.argsort(-logits, kind="stable")]
    recall = [float(best[:k].sum()) / min(k, num_topics) for k in (1, 3)]
    loss = float(np.where(right, np.logaddexp(0, -logits), np.logaddexp(0, logits)).sum())
    return recall[0], recall[1], loss


PHASE = "linker"


def linker_training(config: LinkerConfig, inputs: Inputs[LinkedCandidates]) -> Training:
    """Return the training of one network over the features of candidates."""
    features = inputs.train[0].feature_names
    learned: list[LinkerObjective] = []

    def objective() -> LinkerObjective:
        network = CandidateScorer(len(features), config.hidden).to(inputs.device)
        learned.append(LinkerObjective(network, inputs.train, inputs.dev, config))
        return learned[0]

    def outcome(_trained: Mapping[str, TrainingResult]) -> Outcome:
        scored = [
            (float(logit), float(right))
            for logits, rights, _ in learned[0].iterate_logits()
            for logit, right in zip(logits, rights, strict=True)
        ]
        fields = {
            "encoder": config.encoder,
            "features": features,
            "hidden": config.hidden,
            "candidates": config.candidates,
        }
        return Outcome({PART: partial(write_weights, learned[0].network.state_dict())}, fit_calibration(scored), fields)

    depends_on = {"features": list(features), **{k: v for k, v in config.as_json().items() if k != "training"}}
    return Training([Phase(PHASE, PART, config.training, depends_on, objective)], outcome)
