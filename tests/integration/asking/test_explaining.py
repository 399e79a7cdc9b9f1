"""`Engine.explain` and a checkpoint's own answerer over a real Neo4j, with a checkpoint of random weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from lodestar import Engine
from lodestar.engine.data_model import Question
from lodestar.engine.errors import ModelError
from lodestar.engine.evidence import SIMILARITY, Calibration
from lodestar.engine.retrieval.star import Star
from lodestar.engine.settings import Settings

from tests.made.trainings import grow_weights

CURRENCY = Question("Which currency is used in Peru?", ("m.peru",))


@pytest.fixture(scope="module")
def trained(checkpoint: str, settings: Settings) -> Iterator[Engine]:
    with Engine(settings, recipe=Star(checkpoint=checkpoint)) as engine:
        yield engine


@pytest.mark.usefixtures("engine")
def test_a_union_says_which_source_found_an_item_and_what_each_stage_left(settings: Settings) -> None:
    options = {"answerer.kind": "reader", "similarity.max_hop": 1}
    with Engine(settings, recipe="(similarity + merge) | similarity", options=options) as engine:
        reasons = engine.explain(CURRENCY, top_k=2)
        answer = engine.ask(CURRENCY)
        left = engine.retrieve(CURRENCY).trace.sources[0][1]
    assert reasons.answer == answer
    first, second = reasons.items
    assert [(each.source, each.rank) for each in first.rankings] == [("similarity + merge", 1), ("similarity", 1)]
    assert first.rankings[0].score == left.items[0].score
    assert first.reading == "read by its own words: country currency used"
    assert first.reading != second.reading
    assert {"similarity", "merge"} <= {stage for stage, _, _ in answer.evidence.trace.stages}
    data = reasons.to_dict()
    assert data["answer"] == answer.text
    assert [row["rank"] for row in data["trace"]["items"]] == [1, 2]
    assert data["trace"]["items"][0]["rankings"][1]["source"] == "similarity"


def test_answers_take_their_probability_from_the_checkpoint(trained: Engine, engine: Engine) -> None:
    answer = trained.ask(CURRENCY)
    evidence = answer.evidence
    assert answer.found
    assert evidence.calibration == Calibration("logit", 0.5, 1.5)
    assert evidence.probability(0) == pytest.approx(1 / (1 + math.exp(-0.5 * evidence.items[0].score - 1.5)))
    weights = [math.exp(item.score) for item in evidence.items]
    share = sum(weights[i] for i in answer.entities[0].evidence) / sum(weights)
    assert answer.entities[0].confidence == pytest.approx((evidence.probability(0) or 0.0) * share)
    assert engine.ask(CURRENCY).evidence.calibration == SIMILARITY


def test_without_a_checkpoint_the_shipped_scorer_reads_the_best_paths_again(settings: Settings) -> None:
    with Engine(settings, recipe="star") as engine, Engine(settings) as plain:
        answer, by_similarity = (each.ask(CURRENCY) for each in (engine, plain))
    assert answer.text == by_similarity.text
    first, before = (each.evidence.items[0] for each in (answer, by_similarity))
    assert first.value == before.value and first.score != before.score


def test_scores_that_are_no_numbers_are_an_error(settings: Settings, checkpoint: str, tmp_path: Path) -> None:
    recipe = Star(checkpoint=grow_weights(checkpoint, tmp_path / "huge"))
    with (
        Engine(settings, recipe=recipe) as asked,
        pytest.raises(ModelError, match="expected finite scores of a checkpoint of kind"),
    ):
        asked.ask(CURRENCY)
