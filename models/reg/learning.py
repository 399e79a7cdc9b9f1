"""How ReG@Triple learns: binary cross-entropy over triples (equation 33), chosen by the recall of right ones on dev."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from ..training.objective import Figures, ParameterGroup
from .config import TripleConfig
from .graphs import Ints, QuestionGraphs
from .inputs import EncodedGraphs
from .judging import figures_of, questions_with_right
from .network import TripleScorer


class NothingToLearnError(Exception):
    """No question has a right triple in its subgraph; the message says of which set."""


class TripleObjective:
    """An `Objective`. Questions without a right triple in their subgraph teach and judge nothing."""

    def __init__(
        self,
        network: TripleScorer,
        train: Sequence[EncodedGraphs],
        dev: Sequence[EncodedGraphs],
        config: TripleConfig,
    ) -> None:
        self.network = network
        self._train, self._dev, self._config = train, dev, config
        self._questions = questions_with_right([each.graphs for each in train])
        if not self._questions:
            raise NothingToLearnError("no question to learn from has an answer in its subgraph")
        self._epoch = 0
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
        self._epoch = epoch
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
        """Return the mean loss over the right triples of a batch of questions, and as many wrong ones as are drawn."""
        size = self._config.batch_size
        batch = self._order[step * size : (step + 1) * size]
        batch = batch[shard[0] :: shard[1]] or batch[:1]
        losses, labels = [], []
        for place, encoded in enumerate(self._train):
            chosen = [self._questions[each][1] for each in batch if self._questions[each][0] == place]
            if chosen:
                rows = [self._drawn(encoded, place, question) for question in chosen]
                losses.append(network(encoded.inputs(chosen, rows)))
                labels.append(encoded.labels(rows))
        return binary_cross_entropy_with_logits(torch.cat(losses), torch.cat(labels))

    def evaluate(self) -> Figures:
        """Return recall on dev."""
        figures = figures_of(self.ranked())
        if figures is None:
            raise NothingToLearnError("no question to choose by has an answer in its subgraph")
        return figures

    def ranked(self) -> Iterator[tuple[QuestionGraphs, int, npt.NDArray[np.float32]]]:
        """Yield the scores of each dev question's triples."""
        with torch.no_grad():
            for encoded in self._dev:
                for question, (_, inputs) in enumerate(encoded.whole()):
                    yield encoded.graphs, question, self.network(inputs).cpu().numpy()

    def _drawn(self, encoded: EncodedGraphs, place: int, question: int) -> Ints:
        span = encoded.graphs.triples_of(question)
        is_positive = encoded.graphs.is_positive[span]
        negatives = np.flatnonzero(~is_positive)
        rng = np.random.default_rng((self._config.training.seed, self._epoch, place, question))
        if len(negatives) > self._config.num_negatives:
            negatives = rng.choice(negatives, self._config.num_negatives, replace=False)
        drawn: Ints = span.start + np.concatenate([np.flatnonzero(is_positive), np.sort(negatives)])
        return drawn
