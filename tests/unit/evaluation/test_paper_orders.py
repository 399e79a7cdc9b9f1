"""What an order of the papers is, by figures made by hand."""

import json
from argparse import Namespace
from itertools import product
from pathlib import Path

import pytest

from benchmarks.accuracy.papers import METAQA_3, PATHS_2, Cell, judge

GIVEN = {"seeds": 3, "questions": 150, "choose": 40, "epochs": 2}
JOINT, DUAL = ("joint", "separate"), ("dual encoder, hard paths", "dual encoder, F1 shares")


@pytest.mark.parametrize(
    ("name", "sides", "worse", "better", "num_seeds", "effect", "expected"),
    [
        (METAQA_3, JOINT, [0.5, 0.25], [0.75, 0.5], 1, 0, "**holds** 0.375→0.625 [+0.250,+0.250] 2×1"),
        (METAQA_3, JOINT, [0.75, 0.5], [0.5, 0.25], 1, 0, "**no** 0.625→0.375 [-0.250,-0.250] 2×1"),
        # differences of 1 and −1: 2.8 · 2 / 3.92 would show
        (METAQA_3, JOINT, [0, 1], [1, 0], 3, 1.4, "? (1.429) 0.500→0.500 [-1.000,+1.000] 2×3"),
        (METAQA_3, JOINT, [0, 1], [1, 0], 2, 1.5, "**no** 0.500→0.500 [-1.000,+1.000] 2×2"),
        (METAQA_3, JOINT, [0, 1], [1, 0], 1, 1.5, "? (one seed) 0.500→0.500 [-1.000,+1.000] 2×1"),
        (METAQA_3, JOINT, [0, 0.02], [0.03, 0.05], 3, 0, "? (floor) 0.010→0.040 [+0.030,+0.030] 2×3"),
        (METAQA_3, JOINT, [0.98, 1], [1, 1], 3, 0, "? (ceiling) 0.990→1.000 [+0.000,+0.020] 2×3"),
        (METAQA_3, DUAL, [0.5], [0.5], 3, 0, "? (equal) 0.500→0.500 [+0.000,+0.000] 1×3"),
        (PATHS_2, DUAL, [0.5], [0.5], 3, 0, "? (trained alike) 0.500→0.500 [+0.000,+0.000] 1×3"),
        (PATHS_2, JOINT, [], [], 0, 0, "not run"),
    ],
)
def test_an_order_is_judged(name, sides, worse, better, num_seeds, effect, expected, tmp_path: Path) -> None:
    given = Namespace(out=tmp_path, **GIVEN)
    for (side, figures), seed in product(zip(sides, (better, worse), strict=True), range(num_seeds)):
        cell = {"ids": list(range(len(figures))), "scores": {"F1": figures}}
        Cell(side, name, seed, given).file.write_text(json.dumps(cell), encoding="utf-8")
    assert judge(given, name, *sides, "F1", effect) == expected
