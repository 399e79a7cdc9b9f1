"""The plan learns which paths questions ask for, from those whose ends are right."""

from __future__ import annotations

import numpy as np
from lodestar.models.reader import MAX_HOPS, Floats, PathPlanWeights, SourceChainColumns
from lodestar.models.reader.fitting import fit_path_plan

from tests.unit.reader.test_fitting import made_columns

_FIRST, _OTHER = np.eye(4, dtype=np.float32)[:2]
HOPS = np.stack(
    [np.concatenate(pair) for pair in ((_FIRST, _FIRST), (_FIRST, -_FIRST), (_OTHER, _OTHER), [[0] * 4] * 2)]
)
"""A relation, the same walked backwards, another one; no hop."""
PATHS = np.array([[0, -1], [1, -1], [2, -1], [0, 1], [0, 2]])
ASKED = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], dtype=np.float32)
"""Three questions in other words, which ask for the second, the fourth and the last path."""
WANTED = (1, 3, 4)


def columns(num_questions: int) -> SourceChainColumns:
    return made_columns(
        num_questions,
        np.repeat(np.arange(num_questions), len(PATHS)),
        hops=np.tile((PATHS >= 0).sum(axis=1), num_questions),
        path=np.tile(PATHS, (num_questions, 1)),
        hop_vectors=HOPS,
    )


def right() -> Floats:
    found = np.zeros((3, len(PATHS)))
    found[np.arange(3), WANTED] = 0.8
    found[:, 0] = 0.3  # an answer by chance
    return found.ravel()


def best(plan: PathPlanWeights) -> list[int]:
    scores = plan.score(ASKED, columns(3)).reshape(3, -1)
    return [int(each) for each in scores.argmax(axis=1)]


def test_it_learns_relations_directions_and_lengths() -> None:
    assert best(fit_path_plan([(ASKED, columns(3), right())])) == list(WANTED)


def test_the_score_by_hand() -> None:
    """q · L · v_last + Σ q · S · v + q · l: with L = 1 and S = 10 in the first place of relation and question."""
    last, steps = np.zeros((4, 8)), np.zeros((4, 8))
    last[0, 0], steps[0, 0], last[0, 1] = 1.0, 10.0, 0.5
    length = np.zeros((4, MAX_HOPS + 1))
    length[0] = [0.0, 0.010004, 0.02, 0.03, 0.04]
    scores = PathPlanWeights(last, steps, length).score(ASKED[:1], columns(1))
    assert scores.tolist() == [11.01, 11.01, 0.51, 21.02, 10.52]
