"""The formulas of `models.star` against values worked out by hand."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from lodestar.models.calibration import GAP, PENALTY, fit_calibration
from lodestar.models.star import PoolTrainingOptions
from lodestar.models.star.network import compute_attention, mix_shortlist_scores
from lodestar.models.star.training import (
    choose_best_mix,
    compute_first_path_figures,
    compute_path_rarity_weights,
    draw_training_pool,
    listwise_loss,
    path_weighted_contrastive_loss,
)
from torch import nn

from tests.made.mined_examples import example, example_set

ROWS = {"capital": 0, "capital back": 1, "currency": 3, "borders": 5, "borders capital": 6, "borders borders": 7}
"""Where some reachable paths of `example` stand."""


def array(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)


def linear(weight: list[list[float]]) -> nn.Linear:
    layer = nn.Linear(len(weight[0]), len(weight), bias=False)
    layer.weight.data = torch.tensor(weight)
    return layer


def test_attend_reads_the_states_themselves() -> None:
    query = torch.tensor([[1.0, 0.0]])
    states = torch.tensor([[[2.0, 0.0], [0.0, 4.0], [9.0, 9.0]]])
    mask = torch.tensor([[True, True, False]])
    twice, once = linear([[2.0, 0.0], [0.0, 2.0]]), linear([[1.0, 0.0], [0.0, 1.0]])
    read = compute_attention(query, states, mask, twice, once)
    first = 1 / (1 + math.exp(-4 / math.sqrt(2)))  # logits: (2·2)/√2 and 0; the third is masked
    assert read[0].tolist() == pytest.approx([2 * first, 4 * (1 - first)])


def test_path_weights_are_scaled_over_both_classes() -> None:
    """Of 6 positives a has 6/3, b 6/2, c 6; of 2 negatives d has 2/2: between 1 and 6 they are at .2, .4, 1 and 0."""
    found = compute_path_rarity_weights(["a"] * 3 + ["b"] * 2 + ["c"], ["d"] * 2, 0.5, 1.5)
    assert found[True] == {"a": pytest.approx(0.7), "b": pytest.approx(0.9), "c": pytest.approx(1.5)}
    assert found[False] == {"d": pytest.approx(0.5)}
    assert compute_path_rarity_weights(["a", "b"], ["a", "b"], 0.5, 1.5) == {
        key: {"a": 1.5, "b": 1.5} for key in (True, False)
    }
    assert compute_path_rarity_weights([], [], 0.5, 1.5) == {True: {}, False: {}}


def test_path_weighted_contrastive() -> None:
    scores = torch.tensor([1.0, 0.0, 0.5, -0.5])
    is_positive = torch.tensor([True, True, False, False])
    weights = torch.tensor([2.0, 0.5, 1.5, 3.0])
    negatives = 1.5 * math.exp(0.5 / 0.5) + 3.0 * math.exp(-0.5 / 0.5)
    first = -math.log(math.exp(2) / (math.exp(2) + negatives))
    second = -math.log(1 / (1 + negatives))
    loss = path_weighted_contrastive_loss(scores, is_positive, weights, 0.5)
    assert float(loss) == pytest.approx((2 * first + 0.5 * second) / 2)
    alone = path_weighted_contrastive_loss(scores, torch.arange(4) == 0, weights, 0.5)
    assert float(alone) == pytest.approx(2 * -math.log(math.exp(2) / (math.exp(2) + negatives + 0.5)))


@pytest.mark.parametrize(
    ("is_positive", "weights"),
    [([True, True], [1.0, 1.0]), ([False, False], [1.0, 1.0]), ([True, False], [1.0, 0.0])],
    ids=["no negative", "no positive", "a negative that weighs nothing"],
)
def test_a_contrast_with_nothing_is_no_loss_and_no_gradient(is_positive: list[bool], weights: list[float]) -> None:
    scores = torch.tensor([0.3, 0.6], requires_grad=True)
    loss = path_weighted_contrastive_loss(scores, torch.tensor(is_positive), torch.tensor(weights), 0.05)
    loss.backward()
    assert loss.item() == pytest.approx(0.0, abs=1e-6)
    assert scores.grad is not None
    assert scores.grad.tolist() == pytest.approx([0.0, 0.0])


def test_listwise() -> None:
    scores = torch.tensor([1.0, 0.0, -1.0])
    total = math.e + 1 + 1 / math.e
    expected = -(0.75 * math.log(math.e / total) + 0.25 * math.log(1 / math.e / total))
    assert float(listwise_loss(scores, torch.tensor([0.75, 0.0, 0.25]))) == pytest.approx(expected)
    assert float(listwise_loss(scores, torch.zeros(3))) == 0


def test_mixed_scores_order_the_shortlist_and_leave_the_others_below() -> None:
    stop = array(5.0, 4.0, 3.0, 0.0)
    found = mix_shortlist_scores(stop, array(-1.0, 2.0), np.array([0, 1]), 0.5)
    # (5 − 1)/2 and (4 + 2)/2; 3 would be above 2 and comes down, and 0 with it
    assert found.tolist() == pytest.approx([2.0, 3.0, 2.0 - GAP, -1.0 - GAP], abs=1e-6)
    assert mix_shortlist_scores(stop, array(9.0, 9.0), np.array([0, 1]), 0.0).tolist() == [5.0, 4.0, 3.0, 0.0]
    assert mix_shortlist_scores(stop, array(9.0, 8.0), np.array([0, 1]), 1.0).tolist() == [9.0, 8.0, 3.0, 0.0]
    assert mix_shortlist_scores(stop, array(), np.zeros(0, dtype=np.int64), 0.7).tolist() == stop.tolist()


def test_the_best_mix_is_the_smallest_of_equal_ones() -> None:
    asked = example()
    stop = np.zeros(len(asked.reachable), dtype=np.float32)
    stop[ROWS["currency"]], stop[ROWS["capital"]] = 1.0, 0.9
    rows = np.array([ROWS["currency"], ROWS["capital"]])
    mix, figures = choose_best_mix([(asked, stop, array(0.0, 1.0), rows)])
    # (1 − λ) · 1 against (1 − λ) · 0.9 + λ: the right path is first where λ > 1/11
    assert mix == 0.1
    assert figures["selection_metric"] == 1.0
    assert choose_best_mix([(asked, stop, array(1.0, 0.0), rows)])[0] == 0.0  # wrong with every λ


def test_first_path_figures_are_means_over_questions() -> None:
    peru, peru_currency, chile = example_set(0, 2).examples[:3]
    first = [ROWS["capital"], ROWS["capital"], ROWS["borders borders"]]
    scores = [np.eye(9, dtype=np.float32)[row] for row in first]
    found = compute_first_path_figures(zip((peru, peru_currency, chile), scores, strict=True))
    # right (1, 1, 1); wrong (0, 0, 0); right in part: precision 1/4, recall 1/2, F1 1/3
    assert found["hits_at_1_any"] == pytest.approx(2 / 3)
    assert found["hits_at_1_expected"] == pytest.approx((1 + 0 + 0.25) / 3)
    assert found["f1"] == pytest.approx((1 + 0 + 1 / 3) / 3)
    assert found["selection_metric"] == pytest.approx((2 + 1.25 + 4 / 3) / 9)


@pytest.mark.parametrize("scores", [(0.0, 1.0), (-30.0, -28.0), (1e9, 1e9 + 2)])
def test_calibration_of_known_logistic_data(scores: tuple[float, float]) -> None:
    low, high = scores
    scored = [(low, 1.0), *[(low, 0.0)] * 3, (high, 0.0), *[(high, 1.0)] * 3]
    slope, intercept = fit_calibration(scored)
    # standardised the scores are ∓1, so by symmetry P = σ(± a) with (σ(a) − 3/4) + 2 · penalty · a = 0
    assert probability(high, slope, intercept) == pytest.approx(1 - probability(low, slope, intercept), abs=1e-4)
    a = slope * (high - low) / 2
    assert probability(high, slope, intercept) - 0.75 + 2 * PENALTY * a == pytest.approx(0.0, abs=1e-4)


def probability(score: float, slope: float, intercept: float) -> float:
    return 1.0 / (1.0 + math.exp(-(slope * score + intercept)))


def test_the_pool_has_mined_positives_and_mined_negatives() -> None:
    asked = example()
    hard = PoolTrainingOptions(num_positives=1, num_negatives=1, pool_size=2)
    pools = [draw_training_pool(asked, hard, random.Random(seed)) for seed in range(30)]
    drawn = [set(negatives[:, 0].tolist()) for _, negatives in pools]
    assert {len(each) for each in drawn} == {2}
    assert set.union(*drawn) == set(asked.negatives[:, 0].tolist())  # whatever kind comes first in the file
    assert pools[0][0][:, 0].tolist() == asked.reachable[np.flatnonzero(asked.positive)[:1], 0].tolist()
    without = replace(asked, negatives=asked.negatives[:0])
    assert len(draw_training_pool(without, hard, random.Random(1))[1]) == 0
