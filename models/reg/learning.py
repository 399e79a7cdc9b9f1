"""How ReG@Triple learns: binary cross-entropy over triples (equation 33), chosen by the recall of right ones on dev."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from ..training.objective import Figures, ParameterGroup
from ..training.options import TrainingOptions
from .config import TripleConfig
from .graphs import Ints, QuestionGraphs
from .inputs import EncodedGraphs
from .judging import figures_of, questions_with_right
from .network import TripleInputs, TripleScorer


class NothingToLearnError(Exception):
    """No question has a right triple in its subgraph; the message says of which set."""


class SubgraphObjective:
    """An `Objective` over the subgraphs of questions. Those without a right triple teach and judge nothing."""

    def __init__(
        self,
        network: nn.Module,
        train: Sequence[EncodedGraphs],
        dev: Sequence[EncodedGraphs],
        training: TrainingOptions,
        batch_size: int,
    ) -> None:
        self.network = network
        self._train, self._dev, self._training, self._batch_size = train, dev, training, batch_size
        self._questions = questions_with_right([each.graphs for each in train])
        if not self._questions:
            raise NothingToLearnError("no question to learn from has an answer in its subgraph")
        self._epoch = 0
        self._order = list(range(len(self._questions)))

    def logits_and_labels(
        self, network: nn.Module, encoded: EncodedGraphs, place: int, questions: Sequence[int]
    ) -> tuple[Tensor, Tensor]:
        """Return what is judged of some questions of a set, and whether it is right. place: of the set."""
        raise NotImplementedError

    def triple_scores(self, inputs: TripleInputs) -> Tensor:
        """Return the logit of each triple of a question."""
        raise NotImplementedError

    def groups(self) -> list[ParameterGroup]:
        """Return all parameters, which learn at one rate."""
        return [ParameterGroup(list(self.network.parameters()), self._training.head_learning_rate)]

    def saved(self) -> Mapping[str, Tensor]:
        """Return all weights."""
        return self.network.state_dict()

    @property
    def steps_per_epoch(self) -> int:
        """Batches of questions."""
        return -(-len(self._questions) // self._batch_size)

    def begin(self, epoch: int) -> None:
        """Order the questions anew."""
        self._epoch = epoch
        rng = np.random.default_rng((self._training.seed, epoch))
        self._order = rng.permutation(len(self._questions)).tolist()

    def state(self) -> dict[str, Tensor]:
        """Return nothing: an epoch depends on its number alone."""
        return {}

    def resume(self, epoch: int, state: Mapping[str, Tensor]) -> None:
        """Order the questions as `begin` did."""
        del state
        self.begin(epoch)

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        """Return the mean loss over what is judged of a batch of questions."""
        size = self._batch_size
        batch = self._order[step * size : (step + 1) * size]
        batch = batch[shard[0] :: shard[1]] or batch[:1]
        losses, labels = [], []
        for place, encoded in enumerate(self._train):
            chosen = [self._questions[each][1] for each in batch if self._questions[each][0] == place]
            if chosen:
                logits, right = self.logits_and_labels(network, encoded, place, chosen)
                losses.append(logits)
                labels.append(right)
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
                    yield encoded.graphs, question, self.triple_scores(inputs).cpu().numpy()

    def drawn(self, place: int, question: int) -> np.random.Generator:
        """Return what draws the wrong ones of a question in this epoch."""
        return np.random.default_rng((self._training.seed, self._epoch, place, question))


class TripleObjective(SubgraphObjective):
    """Judged are a question's right triples, and some of its wrong ones."""

    def __init__(
        self, network: TripleScorer, train: Sequence[EncodedGraphs], dev: Sequence[EncodedGraphs], config: TripleConfig
    ) -> None:
        super().__init__(network, train, dev, config.training, config.batch_size)
        self._num_negatives = config.num_negatives

    def logits_and_labels(
        self, network: nn.Module, encoded: EncodedGraphs, place: int, questions: Sequence[int]
    ) -> tuple[Tensor, Tensor]:
        """Return the logits of some triples of the questions, and which of them are right."""
        rows = [self._rows(encoded, place, question) for question in questions]
        return network(encoded.inputs(questions, rows)), encoded.labels(rows)

    def triple_scores(self, inputs: TripleInputs) -> Tensor:
        """Return what the network says."""
        logits: Tensor = self.network(inputs)
        return logits

    def _rows(self, encoded: EncodedGraphs, place: int, question: int) -> Ints:
        span = encoded.graphs.triples_of(question)
        is_positive = encoded.graphs.is_positive[span]
        negatives = np.flatnonzero(~is_positive)
        if len(negatives) > self._num_negatives:
            negatives = self.drawn(place, question).choice(negatives, self._num_negatives, replace=False)
        rows: Ints = span.start + np.concatenate([np.flatnonzero(is_positive), np.sort(negatives)])
        return rows
