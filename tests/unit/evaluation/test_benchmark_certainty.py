"""The fit of how sure a first answer is: weights of the right sign, each graph with the same weight."""

from __future__ import annotations

import random

import pytest

from benchmarks.accuracy.certainty import compute_weights, fit_weights, is_right, predict


def make_rows(graph: str, seed: int) -> list[dict[str, object]]:
    rng = random.Random(seed)
    rows: list[dict[str, object]] = []
    for number in range(200):
        good = number % 2 == 0
        kind = "plain" if good else ("none", "twin")[number % 4 == 1]
        rows.append(
            {
                "graph": graph,
                "kind": kind,
                "f1": float(good),
                "score": rng.gauss(2.0 if good else 1.0, 0.7),
                "margin": rng.uniform(0.1 if good else 0.0, 0.5 if good else 0.4),
                "lacking": rng.gauss(-0.2 if good else 0.1, 0.2),
            }
        )
    return rows


def test_the_fit_finds_what_speaks_for_and_against_an_answer() -> None:
    rows = make_rows("a", 1)
    weights = fit_weights([rows, make_rows("b", 2)])
    assert weights[0] > 0
    assert weights[1] > 0
    assert weights[2] < 0
    sure = predict(rows, weights)
    right = [is_right(row) for row in rows]
    assert sure[right].mean() > 0.6 > 0.4 > sure[[not r for r in right]].mean()


def test_a_graph_has_the_weight_of_one_whatever_it_has() -> None:
    assert compute_weights(make_rows("a", 3)).sum() == pytest.approx(1)
    assert compute_weights([{"kind": "set"}, {"kind": "twin"}, {"kind": "twin"}]).tolist() == [0.8, 0.1, 0.1]


def test_a_part_of_an_answer_is_right_for_a_set_and_not_for_people() -> None:
    assert [is_right({"kind": kind, "f1": 0.4}) for kind in ("plain", "set", "twin")] == [False, True, True]
