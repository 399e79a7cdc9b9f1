"""ReG@Triple and GRIL from a real graph to an answer: subgraphs read, a model trained, asked; the same on both sides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from lodestar import Engine
from lodestar.engine import resources
from lodestar.engine.data_model import Chain, Question
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion, QuestionSet
from lodestar.engine.reorganising import Reorganise
from lodestar.engine.retrieval.triples import Gril, RegTriple
from lodestar.engine.settings import Settings
from lodestar.engine.supervision.subgraphs import read_subgraphs
from lodestar.engine.training import training_config
from lodestar.models.gril import KIND as GRIL
from lodestar.models.gril.training import EncodedSubgraphs, GrilCheckpoint
from lodestar.models.kinds import CheckpointOpenOptions, ModelKind
from lodestar.models.reg import TRIPLE as TRIPLES
from lodestar.models.subgraphs import QuestionGraphs, SubgraphOptions

from tests.made.trainings import train_sets

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
    asked_set = QuestionSet(name, "test", "1" * 64, questions)
    return read_subgraphs(asked_set, engine, engine.resources.vectors, SubgraphOptions())


def trained(kind: ModelKind, engine: Engine, folder: Path) -> str:
    train, dev = (graphs_of(engine, folder, *each) for each in (("train", LEARNED), ("dev", CHOSEN)))
    changes = ["training.head_learning_rate=0.01", "hidden=32", "encoder=all-MiniLM-L6-v2"]
    config = training_config(kind, changes, epochs=10)
    train_sets(kind, config, [train], [dev], folder / "checkpoint", vectors=engine.resources.vectors)
    return str(folder / "checkpoint")


@pytest.fixture(scope="module")
def checkpoint(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> str:
    return trained(TRIPLES, engine, tmp_path_factory.mktemp("reg"))


@pytest.fixture(scope="module")
def gril(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> str:
    return trained(GRIL, engine, tmp_path_factory.mktemp("gril"))


def test_chains_of_the_triples_answer(settings: Settings, engine: Engine, checkpoint: str) -> None:
    recipe = RegTriple(checkpoint=checkpoint) + Reorganise(max_length=2)
    with Engine(settings, recipe=recipe, options={"answerer.min_probability": 0.0, "top_k": 100}) as asked:
        answer = asked.ask("What is the capital of Chile?")
    assert answer.evidence.kind == "chain"
    chains = [item.value for item in answer.evidence.items if isinstance(item.value, Chain)]
    assert any(end.id == "m.santiago" for chain in chains for end in chain.ends)


@pytest.mark.long
def test_what_is_asked_is_what_was_trained_on(settings: Settings, engine: Engine, gril: str, tmp_path: Path) -> None:
    """The same logits from a file of subgraphs and from the graph, for every triple kept, one question or a batch."""
    asked = (*LEARNED, *CHOSEN)
    graphs = graphs_of(engine, tmp_path, "asked", asked)
    opening = CheckpointOpenOptions("cpu", torch.float32, lambda _: engine.resources.vectors)
    network = GrilCheckpoint(Path(gril), opening).retriever._network
    encoded = EncodedSubgraphs(graphs, engine.resources.vectors.encoder.encode, torch.device("cpu"))
    with Engine(settings, recipe=Gril(checkpoint=gril, keep=1_000)) as one:
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


def test_the_trace_counts_the_calls_of_each_recipe(
    settings: Settings, engine: Engine, checkpoint: str, gril: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One query names the topic, and two each hop: its relations, and what they lead to. FAISS is asked wherever several
    relations lead on: at the topic, and at the second hop from each entity that is kept. A network computes one batch, and texts that are known
    none.
    """
    monkeypatch.setattr(resources, "SHORTLIST_FROM", 1)
    asked = Question("What is the capital of Peru?", ("m.peru",))
    counted: dict[str, tuple[int, int, int]] = {}
    for name, recipe in {
        "similarity": "similarity",
        "reg-triple": RegTriple(checkpoint=checkpoint),
        "gril": Gril(checkpoint=gril),
    }.items():
        with Engine(settings, recipe=recipe, options={"plans": False}) as one:
            first, second = (one.retrieve(asked).trace.costs for _ in range(2))
        assert sum(cost.batches for cost in first) > 0
        counted[name] = tuple(
            sum(getattr(cost, call) for cost in second) for call in ("round_trips", "searches", "batches")
        )
    assert counted == {"similarity": (5, 4, 0), "reg-triple": (5, 3, 1), "gril": (5, 3, 1)}
