"""GRIL's retriever learned from small subgraphs: better than chance, the same when taken up, read again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lodestar.models.gril import KIND, GrilConfig, GrilDescription, GrowOptions
from lodestar.models.gril.network import GraphTokenNetwork, GrilModel, HopPredictor, logit
from lodestar.models.gril.training import EncodedSubgraphs, GrilCheckpoint, HopObjective, compute_hops_to_answers
from lodestar.models.kinds import CheckpointOpenOptions, TrainingOptions
from lodestar.models.text.vectors import TextVectors

from tests.fakes.letter_encoder import LetterEncoder
from tests.made.reg_graphs import question_graphs
from tests.made.trainings import train_sets

CPU = torch.device("cpu")
CONFIG = GrilConfig(
    hidden=24,
    batch_size=4,
    grow=GrowOptions(num_layers=2),
    training=TrainingOptions(epochs=20, head_learning_rate=0.02, weight_decay=0.0, patience=99),
)


def train(folder: Path, **more: Any) -> GrilDescription:
    encode = LetterEncoder().encode
    sets = [question_graphs(0, 18)], [question_graphs(18, 30)]
    return train_sets(KIND, CONFIG, *sets, folder, encode=encode, **more)


def opened(folder: Path) -> GrilCheckpoint:
    vectors = TextVectors(LetterEncoder())
    return GrilCheckpoint(folder, CheckpointOpenOptions("cpu", torch.float32, lambda _: vectors))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    train(folder)
    return folder


def test_the_right_triple_of_new_questions_comes_first(trained: Path) -> None:
    checkpoint = opened(trained)
    description, network = checkpoint.description, checkpoint.retriever._network
    graphs = question_graphs(30, 42)
    encoded = EncodedSubgraphs(graphs, LetterEncoder().encode, CPU)
    with torch.no_grad():
        found = network(encoded.grow_inputs(range(12))).path_probability.numpy()
    assert (found.reshape(-1, 4).argmax(axis=1) == [number % 3 for number in range(30, 42)]).all()
    assert description.calibration[0] > 0
    assert found[graphs.is_positive].mean() > found[~graphs.is_positive].mean() + 0.1


def test_the_model_at_work_grows_what_the_training_side_grows(trained: Path) -> None:
    checkpoint = opened(trained)
    description, network = checkpoint.description, checkpoint.retriever._network
    graphs = question_graphs(30, 36)
    encoder = LetterEncoder()
    model = GrilModel(description, network, TextVectors(encoder))
    scores, is_kept, _ = model.score(graphs)
    encoded = EncodedSubgraphs(graphs, encoder.encode, CPU)
    with torch.no_grad():
        alone = [network(encoded.grow_inputs([question])) for question in range(len(graphs))]
    probability, is_seen, kept = (
        torch.cat([getattr(each, name) for each in alone]) for name in ("path_probability", "is_seen", "is_kept")
    )
    torch.testing.assert_close(torch.from_numpy(scores), logit(probability))
    assert (is_kept == kept.numpy()).all()

    # What nothing is asked of grows to nothing.
    assert [len(each) for each in model.score(question_graphs(0, 0))] == [0, 0, 0]

    # The mask of a reader's bridge, σ(logit P / τ): of τ = ¼ it is P⁴ / (P⁴ + (1 − P)⁴).
    bridge, given = GraphTokenNetwork(description.config.hidden, 12, 7), list[torch.Tensor]()
    bridge.register_forward_pre_hook(lambda _, arguments: given.append(arguments[2]))
    grow = replace(description.config.grow, temperature=0.25)
    sharp = replace(description, config=replace(description.config, grow=grow))
    GrilModel(sharp, network, TextVectors(encoder), bridge).score(graphs)
    powers, others = probability**4, (1 - probability) ** 4
    torch.testing.assert_close(given, [powers / (powers + others) * is_seen])


def test_hops_are_predicted_from_the_question(trained: Path) -> None:
    checkpoint = opened(trained)
    description, network = checkpoint.description, checkpoint.hops
    assert description.figures["hops"]["accuracy"] == description.figures["hops"]["majority"] == 1  # all take one hop
    assert compute_hops_to_answers(question_graphs(0, 3), 4).tolist() == [1, 1, 1]
    near = question_graphs(0, 12)
    is_far = np.arange(12) % 2 == 1
    is_answer = near.is_answer.reshape(12, 5) & ~is_far[:, None]
    is_answer[is_far, 4] = True
    texts = tuple(f"{text} far away" if far else text for text, far in zip(near.texts.questions, is_far, strict=True))
    graphs = replace(near, is_answer=is_answer.reshape(-1), texts=replace(near.texts, questions=texts))
    assert (compute_hops_to_answers(graphs, 4) == 1 + is_far).all()
    assert (compute_hops_to_answers(graphs, 1) == 1).all()
    encoded = EncodedSubgraphs(graphs, LetterEncoder().encode, CPU)
    torch.manual_seed(0)
    objective = HopObjective(HopPredictor(26, 8, 4), encoded, encoded, CONFIG.hop_training)
    optimizer = torch.optim.Adam(objective.network.parameters(), 0.05)
    for _ in range(80):
        optimizer.zero_grad()
        objective.loss(range(12)).backward()
        optimizer.step()
    figures = objective.evaluate()
    assert figures["accuracy"] > 0.9 > figures["majority"] == 0.5
    assert network.max_hops == 4
