"""Where noise stands in a recipe, and what its curve says of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lodestar.engine.evaluation.baselines import Noise
from lodestar.engine.evaluation.noise_curve import (
    NoiseCurve,
    NoiseRun,
    add_noise,
    noise_page,
    noise_report,
    noise_rows,
    remove_filters,
)
from lodestar.engine.evaluation.record import Record
from lodestar.engine.evaluation.runs import Run
from lodestar.engine.recipes.recipe import read_recipe
from lodestar.engine.recipes.reorganising import FI

STATED: dict[str, Any] = {
    "what": {"dataset": {"name": "<set>"}, "recipe": {"seed": 0}, "topics": "given"},
    "where": {},
}


@pytest.mark.parametrize(
    ("line", "noisy", "bare"),
    [
        ("similarity", "similarity + forms + noise", "similarity + forms"),
        ("similarity + merge", "similarity + merge + noise", "similarity + merge"),
        ("similarity + fi", "similarity + noise + fi", "similarity"),
        ("similarity + path-pooling + fi", "similarity + path-pooling + noise + fi", "similarity + path-pooling"),
        ("similarity + noise + merge + fi", "similarity + noise + merge + fi", "similarity + noise + merge"),
    ],
)
def test_noise_comes_before_the_first_filter(line: str, noisy: str, bare: str) -> None:
    recipe = read_recipe(line)
    assert str(add_noise(recipe, 20).stages) == noisy
    assert add_noise(recipe, 20).parts["noise"] == Noise(num=20)
    assert str(remove_filters(recipe).stages) == bare


def test_options_stay() -> None:
    recipe = read_recipe("similarity + noise + fi", ["noise.seed=3", "fi.coarse=5", "top_k=7"])
    noisy = add_noise(recipe, 5)
    assert (noisy.parts["noise"], noisy.parts["fi"], noisy.top_k) == (Noise(5, 3), FI(coarse=5), 7)
    assert remove_filters(noisy).parts["noise"] == Noise(5, 3)


def run(*f1: float) -> Run:
    scores = ({"strict/f1": value, "strict/hits_at_1": value, "path/answer_recall@10": 1.0} for value in f1)
    return Run((), tuple(Record(str(n), "?", (), scores=each) for n, each in enumerate(scores)), STATED)


def test_what_is_lost_is_held_against_what_is_lost_without_the_filter() -> None:
    with_filter = NoiseCurve(
        "a + filter", True, (NoiseRun(0, run(1, 0.5, 1, 0.5)), NoiseRun(10, run(1, 0.5, 0.8, 0.5)))
    )
    without = NoiseCurve("a", False, (NoiseRun(0, run(1, 1, 1, 1)), NoiseRun(10, run(0, 1, 1, 0.6))))
    report = json.loads(json.dumps(noise_report([with_filter, without])))
    losses = [[point["loss"]["mean"] for point in curve["points"]] for curve in report["curves"]]
    assert losses == [[0, pytest.approx(0.05)], [0, pytest.approx(0.35)]]
    assert report["loss_shares"] == {"10": pytest.approx(1 / 7)}
    assert [row[:3] for row in noise_rows(report)][1] == ("a + filter", "10", "0.700")
    page = noise_page(report)
    assert page.count("<svg") == 1
    assert "&lt;set&gt;" in page
    assert "<set>" not in page
    alone = noise_report([without])
    assert "loss_shares" not in alone
    free = NoiseCurve("a", False, (NoiseRun(0, run(1, 1)), NoiseRun(10, run(1, 1))))
    assert noise_report([with_filter, free])["loss_shares"] == {"10": None}
