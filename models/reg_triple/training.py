"""Train ReG@Triple, with the objective that all of ReG's subgraph scorers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from ..subgraphs import Ints, QuestionGraphs, encoding_width, supervision_of
from ..text.vectors import encode_each_once
from ..training.checkpoint import check_checkpoint, read_weights, translate_read_errors, write_weights
from ..training.kind import Figures, Inputs, NothingToLearnError, Outcome, Phase, Training, TrainingOptions
from ..training.trainer import ShuffledObjective, TrainingResult, fit_calibration
from .config import CHOOSE_AT, FIGURES, PART, RECALL_AT, ScorerConfig, TripleDescription
from .network import EncodedGraphs, TripleInputs, TripleScorer

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]
TIE_BREAK = 1e-3
"""Ties in recall go to the better average precision."""
CALIBRATED = 100
"""The number of best triples per dev question that calibration uses."""
Ranked = Iterable[tuple[QuestionGraphs, int, Floats]]
"""A set of subgraphs, the number of a question in it, and the scores of its triples."""


class SubgraphObjective(ShuffledObjective[nn.Module, tuple[int, int]]):
    """An `Objective` over the subgraphs of questions. Questions without a right triple are skipped in training and on
    dev.
    """

    def __init__(
        self,
        network: nn.Module,
        train: Sequence[EncodedGraphs],
        dev: Sequence[EncodedGraphs],
        training: TrainingOptions,
        batch_size: int,
    ) -> None:
        questions = list_learnable_questions([each.graphs for each in train])
        if not questions:
            raise NothingToLearnError("no question to learn from has an answer in its subgraph")
        super().__init__(network, questions, training, batch_size)
        self.train, self._dev = train, dev

    def logits_and_labels(
        self, network: nn.Module, encoded: EncodedGraphs, place: int, questions: Sequence[int]
    ) -> tuple[Tensor, Tensor]:
        """Return the logits of a training sample of some questions of a set, and which are right. place: of the set."""
        raise NotImplementedError

    def triple_scores(self, inputs: TripleInputs) -> Tensor:
        """Return the logit of each triple of a question."""
        raise NotImplementedError

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        """Return the mean loss over the samples of a batch of questions."""
        batch = self.batch(step, shard)
        losses, labels = [], []
        for place, encoded in enumerate(self.train):
            chosen = [question for of, question in batch if of == place]
            if chosen:
                with self.autocast():
                    logits, right = self.logits_and_labels(network, encoded, place, chosen)
                losses.append(logits.float())
                labels.append(right)
        return binary_cross_entropy_with_logits(torch.cat(losses), torch.cat(labels))

    def evaluate(self) -> Figures:
        """Return recall on dev."""
        figures = figures_of(self.iterate_scores())
        if figures is None:
            raise NothingToLearnError("no question to choose by has an answer in its subgraph")
        return figures

    def iterate_scores(self) -> Iterator[tuple[QuestionGraphs, int, npt.NDArray[np.float32]]]:
        """Yield the scores of each dev question's triples."""
        with torch.no_grad():
            for encoded in self._dev:
                for question, (_, inputs) in enumerate(encoded.iterate_rows()):
                    yield encoded.graphs, question, self.triple_scores(inputs).cpu().numpy()

    def generator(self, place: int, question: int) -> np.random.Generator:
        """Return the random generator of a question's negatives in this epoch."""
        return np.random.default_rng((self.training.seed, self.epoch, place, question))


class TripleObjective(SubgraphObjective):
    """Scores a question's right triples and some of its wrong ones."""

    def __init__(
        self, network: TripleScorer, train: Sequence[EncodedGraphs], dev: Sequence[EncodedGraphs], config: ScorerConfig
    ) -> None:
        super().__init__(network, train, dev, config.training, config.batch_size)
        self._num_negatives = config.num_negatives

    def logits_and_labels(
        self, network: nn.Module, encoded: EncodedGraphs, place: int, questions: Sequence[int]
    ) -> tuple[Tensor, Tensor]:
        """Return the logits of some triples of the questions, and which are right."""
        rows = [self._rows(encoded, place, question) for question in questions]
        return network(encoded.inputs(questions, rows)), encoded.labels(rows)

    def triple_scores(self, inputs: TripleInputs) -> Tensor:
        """Return the network's logits."""
        logits: Tensor = self.network(inputs)
        return logits

    def _rows(self, encoded: EncodedGraphs, place: int, question: int) -> Ints:
        span = encoded.graphs.triples_of(question)
        is_positive = encoded.graphs.is_positive[span]
        negatives = np.flatnonzero(~is_positive)
        num_drawn = min(self._num_negatives, len(negatives))
        negatives = self.generator(place, question).choice(negatives, num_drawn, replace=False)
        rows: Ints = span.start + np.concatenate([np.flatnonzero(is_positive), np.sort(negatives)])
        return rows


Sets = Sequence[EncodedGraphs]
NewObjective = Callable[[Sets, Sets, torch.device], SubgraphObjective]


def scorer_training(
    config: ScorerConfig,
    inputs: Inputs[QuestionGraphs],
    phase: str,
    part: str,
    new_objective: NewObjective,
    own_fields: Callable[[SubgraphObjective], Mapping[str, Any]] = lambda _: {},
) -> Training:
    """Return the training of one network over subgraphs.

    phase, part: its name and the folder of its files. new_objective: builds the objective from train and dev sets.
    own_fields: fields of the description beside the common ones.
    """
    objectives: list[SubgraphObjective] = []
    device = torch.device(inputs.device)
    encode = encode_each_once(inputs.vectors_of(config.encoder).encoder.encode)

    def objective() -> SubgraphObjective:
        train, dev = (
            [EncodedGraphs(graphs, encode, config.num_rounds, device) for graphs in sets]
            for sets in (inputs.train, inputs.dev)
        )
        objectives.append(new_objective(train, dev, device))
        return objectives[0]

    def outcome(_trained: Mapping[str, TrainingResult]) -> Outcome:
        (learned,) = objectives
        fields = {
            **own_fields(learned),
            "encoder": config.encoder,
            "dimension": learned.train[0].dimension,
            "hidden": config.hidden,
            "num_rounds": config.num_rounds,
            "subgraph": config.subgraph,
        }
        parts = {part: partial(write_weights, learned.network.state_dict())}
        return Outcome(parts, fit_calibration(calibration_pairs(learned.iterate_scores())), fields)

    depends_on = {key: value for key, value in config.as_json().items() if key != "training"}
    return Training(
        [Phase(phase, part, config.training, depends_on, objective)],
        outcome,
        identity={"supervision": supervision_of(inputs.train)},
    )


def read_triple_scorer(folder: Path, device: str = "cpu") -> tuple[TripleDescription, TripleScorer]:
    """Return a checkpoint after checking its hashes; raise `BadCheckpointError` if one is damaged."""
    description = check_checkpoint(folder, TripleDescription, lambda _: (PART,))
    with translate_read_errors(folder):
        network = TripleScorer(description.dimension, encoding_width(description.num_rounds), description.hidden)
        network.load_state_dict(read_weights(folder / PART))
    return description, network.eval().to(torch.device(device))


def figures_of(ranked: Ranked) -> Figures | None:
    """Return the means of `FIGURES` and the selection metric over questions with right triples; None without any."""
    found = [
        [*triple_figures(scores, right), *compute_answer_recall(graphs, question, scores)]
        for graphs, question, scores in ranked
        if (right := graphs.is_positive[graphs.triples_of(question)]).any()
    ]
    if not found:
        return None
    figures = dict(zip(FIGURES, np.mean(found, axis=0).tolist(), strict=True))
    return figures | {"selection_metric": figures[f"recall_at_{CHOOSE_AT}"] + TIE_BREAK * figures["average_precision"]}


def triple_figures(scores: Floats, right: Bools) -> list[float]:
    """Return recall and average precision of a question with right triples; the earlier of equal scores is first."""
    ranks = np.flatnonzero(right[np.argsort(-scores, kind="stable")]) + 1
    precisions = np.arange(1, len(ranks) + 1) / ranks
    return [*(float((ranks <= k).mean()) for k in RECALL_AT), float(precisions.mean())]


def compute_answer_recall(graphs: QuestionGraphs, question: int, scores: Floats) -> list[float]:
    """Return the recall of a question's answers by its best k triples, for each k; 0 if it has none."""
    answers = list(graphs.texts.answers[question].values())
    if not answers:
        return [0.0] * len(RECALL_AT)
    span, first = graphs.triples_of(question), int(graphs.node_starts[question])
    order = np.argsort(-scores, kind="stable")
    return [
        float(np.isin(answers, _ends(graphs.heads[span], graphs.tails[span], order[:k]) - first).mean())
        for k in RECALL_AT
    ]


def calibration_pairs(ranked: Ranked) -> list[tuple[float, float]]:
    """Return score and correctness of each question's best triples."""
    found: list[tuple[float, float]] = []
    for graphs, question, scores in ranked:
        right = graphs.is_positive[graphs.triples_of(question)]
        best = np.argsort(-scores, kind="stable")[:CALIBRATED]
        found += zip(scores[best].tolist(), right[best].astype(float).tolist(), strict=True)
    return found


def list_learnable_questions(sets: Sequence[QuestionGraphs]) -> list[tuple[int, int]]:
    """Return the questions that have a right triple in their subgraph: place of the set, number in it."""
    return [
        (place, question)
        for place, graphs in enumerate(sets)
        for question in range(len(graphs))
        if graphs.is_positive[graphs.triples_of(question)].any()
    ]


def _ends(heads: Ints, tails: Ints, rows: Ints) -> Ints:
    ends: Ints = np.concatenate([heads[rows], tails[rows]])
    return ends
