"""ReG@Triple learned from small subgraphs: better than chance, the same when taken up, read again, and at work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lodestar.models.kinds import CheckpointOpenOptions, TrainingOptions
from lodestar.models.reg import TRIPLE, TripleConfig, TripleDescription
from lodestar.models.reg.triples import SubgraphModel, compute_triple_figures, open_model
from lodestar.models.text.vectors import TextVectors

from tests.fakes.letter_encoder import LetterEncoder
from tests.made.reg_graphs import RELATIONS, question_graphs
from tests.made.trainings import train_sets

CONFIG = TripleConfig(
    hidden=32, batch_size=4, training=TrainingOptions(epochs=30, head_learning_rate=0.02, weight_decay=0.0, patience=99)
)


def train(folder: Path, **more: Any) -> TripleDescription:
    encode = LetterEncoder().encode
    return train_sets(
        TRIPLE, CONFIG, [question_graphs(0, 18)], [question_graphs(18, 30)], folder, encode=encode, **more
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    train(folder)
    return folder


def opened(folder: Path) -> SubgraphModel:
    vectors = TextVectors(LetterEncoder())
    return open_model(folder, CheckpointOpenOptions("cpu", torch.float32, lambda _: vectors))


def test_the_right_triple_of_new_questions_comes_first(trained: Path) -> None:
    model, graphs = opened(trained), question_graphs(30, 42)
    scores, _, _ = model.score(graphs)
    best = scores.reshape(-1, 4).argmax(axis=1)
    assert [RELATIONS[place] for place in best] == [RELATIONS[number % 3] for number in range(30, 42)]
    assert model.description.calibration[0] > 0
    assert scores[graphs.is_positive].mean() > scores[~graphs.is_positive].mean()


def test_recall_is_of_the_best_10_50_100_and_500_and_of_equal_scores_the_earlier_are_better() -> None:
    scores = (np.arange(1_200) % 2).astype(np.float32)
    for ranks, recall in (([50, 100, 500], [0, 1 / 3, 2 / 3, 1]), ([51, 101, 501], [0, 0, 1 / 3, 2 / 3])):
        right = np.zeros(1_200, dtype=np.bool_)
        right[[2 * rank - 1 for rank in ranks]] = True  # every other triple is worth 1
        expected = sum((place + 1) / rank for place, rank in enumerate(ranks)) / 3
        assert compute_triple_figures(scores, right) == pytest.approx([*recall, expected])
