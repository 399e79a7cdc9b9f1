"""GRIL from a real graph to an answer: subgraphs read, a retriever trained, asked; the same on both sides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from lodestar import Engine
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion, QuestionSet
from lodestar.engine.retrieval.triples import Gril
from lodestar.engine.settings import Settings
from lodestar.engine.supervision.subgraphs import write_question_graphs
from lodestar.engine.training import training_config
from lodestar.engine.values import Question
from lodestar.models.gril import KIND
from lodestar.models.gril.training import EncodedSubgraphs, GrilCheckpoint
from lodestar.models.kinds import CheckpointOpenOptions
from lodestar.models.subgraphs import QuestionGraphs, SubgraphOptions, read_graphs

from tests.made.trainings import train_in

LEARNED = (
    ("What is the capital of Peru?", "m.peru", "m.lima"),
    ("Which currency is used in Peru?", "m.peru", "m.sol"),
    ("What language is spoken in Peru?", "m.peru", "m.quechua"),
    ("Which country borders Chile?", "m.chile", "m.peru"),
)
CHOSEN = (("What is the capital of Chile?", "m.chile", "m.santiago"),)


def graphs_of(engine: Engine, folder: Path, name: str, asked: tuple[tuple[str, str, str], ...]) -> QuestionGraphs:
    questions = tuple(
        GoldQuestion(f"{name}-{place}", text, (GoldAnswer(answer),), (topic,))
        for place, (text, topic, answer) in enumerate(asked)
    )
    path = folder / f"{name}.safetensors"
    write_question_graphs(
        QuestionSet(name, "test", "1" * 64, questions), engine, engine.resources.vectors, path, SubgraphOptions()
    )
    return read_graphs(path)


@pytest.fixture(scope="module")
def checkpoint(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("gril")
    train, dev = (graphs_of(engine, folder, *each) for each in (("train", LEARNED), ("dev", CHOSEN)))
    config = training_config(KIND, ["training.head_learning_rate=0.01", "hidden=32"], epochs=10)
    train_in(KIND, config, [train], [dev], folder / "gril", vectors=engine.resources.vectors)
    return str(folder / "gril")


@pytest.mark.long
def test_what_is_asked_is_what_was_trained_on(
    settings: Settings, engine: Engine, checkpoint: str, tmp_path: Path
) -> None:
    """The same logits from a file of subgraphs and from the graph, for every triple kept, one question or a batch."""
    asked = (*LEARNED, *CHOSEN)
    graphs = graphs_of(engine, tmp_path, "asked", asked)
    opening = CheckpointOpenOptions("cpu", torch.float32, lambda _: engine.resources.vectors)
    network = GrilCheckpoint(Path(checkpoint), opening).retriever._network
    encoded = EncodedSubgraphs(graphs, engine.resources.vectors.encoder.encode, torch.device("cpu"))
    with Engine(settings, recipe=Gril(checkpoint=checkpoint, keep=1_000)) as one:
        questions = [Question(text, (topic,)) for text, topic, _ in asked]
        together = one.retrieve_batch(questions, top_k=1_000)
        alone = [one.retrieve(question, top_k=1_000) for question in questions]
    for number, (batched, single) in enumerate(zip(together, alone, strict=True)):
        with torch.no_grad():
            grown = network(encoded.grow_inputs([number]))
        kept = grown.path_probability[grown.is_kept].double().clamp(1e-6, 1 - 1e-6)
        expected = sorted((kept / (1 - kept)).log().tolist(), reverse=True)
        assert 0 < len(batched.items) == int(grown.is_kept.sum())
        np.testing.assert_allclose([item.score for item in batched.items], expected, rtol=1e-3, atol=1e-3)
        assert {item.value for item in single.items} == {item.value for item in batched.items}
        np.testing.assert_allclose([i.score for i in single.items], expected, rtol=1e-3, atol=1e-3)
