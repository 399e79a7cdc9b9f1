"""ReG@Triple from a real graph to an answer: subgraphs read, a scorer trained, asked with and without reorganisation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lodestar import Engine
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion, QuestionSet
from lodestar.engine.reorganising import Reorganise
from lodestar.engine.retrieval.triples import RegTriple
from lodestar.engine.settings import Settings
from lodestar.engine.supervision.subgraphs import write_question_graphs
from lodestar.engine.training import training_config
from lodestar.engine.values import Chain, Question, Triple
from lodestar.models.reg import TRIPLE as TRIPLES
from lodestar.models.subgraphs import QuestionGraphs, SubgraphOptions, read_graphs

from tests.made.trainings import train_in

LEARNED = (
    ("What is the capital of Peru?", "m.peru", "m.lima"),
    ("Which currency is used in Peru?", "m.peru", "m.sol"),
    ("What language is spoken in Peru?", "m.peru", "m.quechua"),
    ("Which country borders Chile?", "m.chile", "m.peru"),
)
CHOSEN = (("What is the capital of Chile?", "m.chile", "m.santiago"),)


def question_set(name: str, asked: tuple[tuple[str, str, str], ...]) -> QuestionSet:
    questions = tuple(
        GoldQuestion(f"{name}-{place}", text, (GoldAnswer(answer),), (topic,))
        for place, (text, topic, answer) in enumerate(asked)
    )
    return QuestionSet(name, "test", "1" * 64, questions)


def graphs_of(engine: Engine, folder: Path, name: str, asked: tuple[tuple[str, str, str], ...]) -> QuestionGraphs:
    path = folder / f"{name}.safetensors"
    write_question_graphs(question_set(name, asked), engine, engine.resources.vectors, path, SubgraphOptions())
    return read_graphs(path)


@pytest.fixture(scope="module")
def checkpoint(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("reg")
    train, dev = (graphs_of(engine, folder, *each) for each in (("train", LEARNED), ("dev", CHOSEN)))
    config = training_config(TRIPLES, ["training.head_learning_rate=0.01", "hidden=32"], epochs=10)
    vectors = engine.resources.vectors
    train_in(TRIPLES, config, [train], [dev], folder / "reg", vectors=vectors)
    return str(folder / "reg")


def test_triples_come_best_first_with_probabilities(settings: Settings, engine: Engine, checkpoint: str) -> None:
    with Engine(settings, recipe=RegTriple(checkpoint=checkpoint)) as asked:
        evidence = asked.retrieve("What is the capital of Chile?", top_k=100)
    assert evidence.kind == "triple"
    scores = [item.score for item in evidence.items]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < (evidence.probability(rank) or 0) < 1 for rank in range(len(scores)))
    facts = {(i.value.head.id, i.value.tail.id) for i in evidence.items if isinstance(i.value, Triple)}
    assert ("m.chile", "m.santiago") in facts


def test_a_batch_is_each_question_alone(settings: Settings, engine: Engine, checkpoint: str) -> None:
    asked = [Question(text, (topic,)) for text, topic, _ in (*LEARNED, *CHOSEN)]
    with Engine(settings, recipe=RegTriple(checkpoint=checkpoint)) as one:
        together = one.retrieve_batch(asked)
        alone = [one.retrieve(question) for question in asked]
    for left, right in zip(together, alone, strict=True):
        assert [item.value for item in left.items] == [item.value for item in right.items]
        np.testing.assert_allclose([i.score for i in left.items], [i.score for i in right.items], rtol=1e-4)


def test_chains_of_the_triples_answer(settings: Settings, engine: Engine, checkpoint: str) -> None:
    recipe = RegTriple(checkpoint=checkpoint) + Reorganise(max_length=2)
    with Engine(settings, recipe=recipe, options={"answerer.min_probability": 0.0, "top_k": 100}) as asked:
        answer = asked.ask("What is the capital of Chile?")
    assert answer.evidence.kind == "chain"
    chains = [item.value for item in answer.evidence.items if isinstance(item.value, Chain)]
    assert any(end.id == "m.santiago" for chain in chains for end in chain.ends)
