"""ReG@Triple and GRIL from a real graph to an answer: subgraphs read, a model trained, asked; the same on both sides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lodestar import Engine
from lodestar.engine import resources
from lodestar.engine.context import merge_stage_costs
from lodestar.engine.data_model import Chain, Question
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion, QuestionSet
from lodestar.engine.parts import Expression
from lodestar.engine.reorganising import Reorganise
from lodestar.engine.reorganising.filtering import FIFilter
from lodestar.engine.retrieval.similarity import Similarity
from lodestar.engine.retrieval.triples import Gril, RegEntity, RegTriple
from lodestar.engine.settings import Settings
from lodestar.engine.supervision.subgraphs import read_subgraphs
from lodestar.engine.training import training_config
from lodestar.models.gril import KIND as GRIL
from lodestar.models.gril.training import EncodedSubgraphs, GrilCheckpoint
from lodestar.models.kinds import CheckpointOpenOptions, ModelKind
from lodestar.models.reg import ENTITY as ENTITIES
from lodestar.models.reg import TRIPLE as TRIPLES
from lodestar.models.subgraphs import QuestionGraphs, SubgraphOptions

from tests.made.tiny_causal_lm import write_tiny_causal_lm
from tests.made.trainings import train_sets

LEARNED = (
    ("What is the capital of Peru?", "m.peru", "m.lima"),
    ("Which currency is used in Peru?", "m.peru", "m.sol"),
    ("What language is spoken in Peru?", "m.peru", "m.quechua"),
    ("Which country borders Chile?", "m.chile", "m.peru"),
)
CHOSEN = (("What is the capital of Chile?", "m.chile", "m.santiago"),)


def graphs_of(engine: Engine, name: str, asked: tuple[tuple[str, str, str], ...]) -> QuestionGraphs:
    questions = tuple(
        GoldQuestion(f"{name}-{place}", text, (GoldAnswer(answer),), (topic,))
        for place, (text, topic, answer) in enumerate(asked)
    )
    asked_set = QuestionSet(name, "test", "1" * 64, questions)
    return read_subgraphs(asked_set, engine, engine.resources.vectors, SubgraphOptions())


def trained(kind: ModelKind, engine: Engine, folder: Path) -> str:
    train, dev = (graphs_of(engine, *each) for each in (("train", LEARNED), ("dev", CHOSEN)))
    changes = ["training.head_learning_rate=0.01", "hidden=32", "encoder=all-MiniLM-L6-v2"]
    config = training_config(kind, changes, epochs=10)
    train_sets(kind, config, [train], [dev], folder / "checkpoint", vectors=engine.resources.vectors)
    return str(folder / "checkpoint")


@pytest.fixture(scope="module")
def checkpoints(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return [trained(kind, engine, tmp_path_factory.mktemp("trained")) for kind in (TRIPLES, ENTITIES, GRIL)]


def test_chains_of_the_triples_answer(settings: Settings, engine: Engine, checkpoints: list[str]) -> None:
    recipe = RegTriple(checkpoint=checkpoints[0]) + Reorganise(max_length=2)
    with Engine(settings, recipe=recipe, options={"answerer.min_probability": 0.0, "top_k": 100}) as asked:
        answer = asked.ask("What is the capital of Chile?")
    assert answer.evidence.kind == "chain"
    chains = [item.value for item in answer.evidence.items if isinstance(item.value, Chain)]
    assert any(end.id == "m.santiago" for chain in chains for end in chain.ends)


@pytest.mark.long
def test_what_is_asked_is_what_was_trained_on(settings: Settings, engine: Engine, checkpoints: list[str]) -> None:
    """The same logits from a file of subgraphs and from the graph, for every triple kept, one question or a batch."""
    asked = (*LEARNED, *CHOSEN)
    graphs = graphs_of(engine, "asked", asked)
    opening = CheckpointOpenOptions("cpu", torch.float32, lambda _: engine.resources.vectors)
    network = GrilCheckpoint(Path(checkpoints[2]), opening).retriever._network
    encoded = EncodedSubgraphs(graphs, engine.resources.vectors.encoder.encode, torch.device("cpu"))
    with Engine(settings, recipe=Gril(checkpoint=checkpoints[2], keep=1_000)) as one:
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
    settings: Settings, checkpoints: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One query names the topic, and two each hop: its relations, and what they lead to. FAISS is asked wherever several
    relations lead on: at the topic, and at the second hop from each entity that is kept. A network computes one batch,
    as does the model whose attention filters, and texts that are known none.
    """
    monkeypatch.setattr(resources, "SHORTLIST_FROM", 1)
    triples, entities, gril = checkpoints
    attends = str(write_tiny_causal_lm(tmp_path / "lm", num_layers=1))
    expected: dict[Expression, tuple[int, int, int]] = {
        Similarity(): (5, 4, 0),
        Similarity() + FIFilter(model=attends, fine=False, integrate=False): (5, 4, 1),
        RegTriple(checkpoint=triples): (5, 3, 1),
        RegEntity(checkpoint=entities): (5, 3, 1),
        Gril(checkpoint=gril): (5, 3, 1),
    }
    for recipe, calls in expected.items():
        with Engine(settings, recipe=recipe, options={"plans": False}) as one:
            asked = [one.retrieve(Question("What is the capital of Peru?", ("m.peru",))) for _ in range(2)]
        first, second = (merge_stage_costs(replace(c, stage="") for c in each.trace.costs)[0] for each in asked)
        assert first.batches > 0
        assert (second.round_trips, second.searches, second.batches) == calls, recipe
