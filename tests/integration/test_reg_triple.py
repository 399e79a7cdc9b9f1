"""ReG@Triple from a real graph to an answer: subgraphs read, a scorer trained, asked with and without reorganisation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from lodestar import Engine
from lodestar.engine.errors import CheckpointError, GraphError, UsageError
from lodestar.engine.evidence.chain import Chain
from lodestar.engine.questions.gold import GoldAnswer, GoldQuestion, QuestionSet
from lodestar.engine.recipes.recipe import read_recipe
from lodestar.engine.recipes.reorganising import Reorganise
from lodestar.engine.recipes.triples import RegTriple
from lodestar.engine.settings import Settings
from lodestar.engine.supervision.subgraphs import write_question_graphs
from lodestar.engine.training.reg_triple import trained_triples, triple_config
from lodestar.engine.values import Question, Triple
from lodestar.models.reg.config import SubgraphOptions
from lodestar.models.reg.graphs import QuestionGraphs, read_graphs
from lodestar.models.training.trainer import Watcher

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
    config = triple_config(["training.head_learning_rate=0.01", "hidden=32"], encoder=None, epochs=10, seed=0)
    vectors = engine.resources.vectors
    trained_triples(config, [train], [dev], vectors, folder / "reg", fresh=False, watcher=Watcher())
    return str(folder / "reg")


def test_right_are_the_triples_on_shortest_paths(engine: Engine, tmp_path: Path) -> None:
    graphs = graphs_of(engine, tmp_path, "train", LEARNED)
    assert graphs.texts.questions == tuple(text for text, _, _ in LEARNED)
    right = [
        sorted(graphs.texts.relations[place] for place in graphs.relation_of[span][graphs.is_positive[span]])
        for span in map(graphs.triples_of, range(len(graphs)))
    ]
    assert [len(relations) for relations in right] == [
        1,
        1,
        1,
        8,
    ]  # to Peru by either mediator, the continent, or Spanish
    assert "capital" in right[0][0]
    assert "currency used" in right[1][0]
    unnamed = np.flatnonzero(graphs.text_of < 0)
    assert len(unnamed) == 2 * len(graphs)


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
        in_database = {"reorganise.in_database": True, "top_k": 100, "answerer.min_probability": 0.0}
        with Engine(settings, recipe=read_recipe(recipe, options=in_database)) as other:
            same = other.ask("What is the capital of Chile?")
    assert answer.evidence.kind == "chain"
    assert [item.value for item in same.evidence.items] == [item.value for item in answer.evidence.items]
    chains = [item.value for item in answer.evidence.items if isinstance(item.value, Chain)]
    assert any(end.id == "m.santiago" for chain in chains for end in chain.ends)


def test_what_does_not_fit_is_one_line(settings: Settings, engine: Engine, checkpoint: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--set reg-triple\.checkpoint=FOLDER"):
        RegTriple().check()
    with pytest.raises(GraphError, match="expected questions about this graph, found none"):
        graphs_of(engine, tmp_path, "other", (("Who is it?", "m.nobody", "m.nothing"),))
    path = Path(checkpoint) / "reg-triple.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    other = tmp_path / "other-graph"
    (other / "mlp").mkdir(parents=True)
    (other / "mlp" / "model.safetensors").write_bytes((Path(checkpoint) / "mlp" / "model.safetensors").read_bytes())
    said["train"][0]["graph"] = "0" * 64
    (other / "reg-triple.json").write_text(json.dumps(said), encoding="utf-8")
    with (
        Engine(settings, recipe=RegTriple(checkpoint=str(other))) as asked,
        pytest.raises(CheckpointError, match="was trained on another graph"),
    ):
        asked.retrieve("What is the capital of Chile?")
