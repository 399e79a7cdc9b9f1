"""How ReG@Triple learns: binary cross-entropy over triples (equation 33), chosen by the recall of right ones on dev."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from ..training.objective import Figures, NothingToLearnError
from ..training.options import TrainingOptions
from ..training.shuffled import Shuffled
from .config import ScorerConfig
from .graphs import Ints, QuestionGraphs
from .inputs import EncodedGraphs
from .judging import figures_of, questions_with_right
from .network import TripleInputs, TripleScorer


class SubgraphObjective(Shuffled[nn.Module, tuple[int, int]]):
    """An `Objective` over the subgraphs of questions. Those without a right triple teach and judge nothing."""

    def __init__(
        self,
        network: nn.Module,
        train: Sequence[EncodedGraphs],
        dev: Sequence[EncodedGraphs],
        training: TrainingOptions,
        batch_size: int,
    ) -> None:
        questions = questions_with_right([each.graphs for each in train])
        if not questions:
            raise NothingToLearnError("no question to learn from has an answer in its subgraph")
        super().__init__(network, questions, training, batch_size)
        self.train, self._dev = train, dev

    def logits_and_labels(
        self, network: nn.Module, encoded: EncodedGraphs, place: int, questions: Sequence[int]
    ) -> tuple[Tensor, Tensor]:
        """Return what is judged of some questions of a set, and whether it is right. place: of the set."""
        raise NotImplementedError

    def triple_scores(self, inputs: TripleInputs) -> Tensor:
        """Return the logit of each triple of a question."""
        raise NotImplementedError

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        """Return the mean loss over what is judged of a batch of questions."""
        batch = self.batch(step, shard)
        losses, labels = [], []
        for place, encoded in enumerate(self.train):
            chosen = [question for of, question in batch if of == place]
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
        return np.random.default_rng((self.training.seed, self.epoch, place, question))


class TripleObjective(SubgraphObjective):
    """Judged are a question's right triples, and some of its wrong ones."""

    def __init__(
        self, network: TripleScorer, train: Sequence[EncodedGraphs], dev: Sequence[EncodedGraphs], config: ScorerConfig
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
