"""The cross-attentive scorer that comes with Lodestar: NumPy and PyTorch agree, and training starts from it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from lodestar.models.star.network import open_shipped_scorer
from lodestar.models.star.shipped import ShippedStar
from lodestar.models.text import DirectedRelation, Hop, RelationWords


def hop(domain: str, words: str, *, inverse: bool = False) -> Hop:
    return (DirectedRelation(RelationWords(domain, (words,)), inverse),)


DIRECTED, BORN, GENRE = hop("film", "directed by"), hop("person", "place of birth"), hop("film", "genre")
PAIRS = [
    ("Who directed Heat?", "Heat", (DIRECTED,)),
    ("Who directed Heat?", "Heat", (GENRE,)),
    ("Where was the director of Heat born?", "Heat", (DIRECTED, BORN)),
    ("Where was the director of Heat born?", "Heat", (DIRECTED,)),
    ("Which genre is Heat?", "Heat", (GENRE,)),
    ("Which genre is Heat?", "Heat", (DIRECTED,)),
    ("Who directed Heat?", "Heat", (DIRECTED,)),
]


@pytest.fixture(scope="module")
def shipped() -> ShippedStar:
    return ShippedStar()


def test_the_path_that_a_question_asks_for_is_above_another_one(shipped: ShippedStar) -> None:
    logits = shipped.cross(PAIRS)
    assert logits[0] == logits[6], "equal pairs are read once"
    assert all(logits[at] > logits[at + 1] for at in (0, 2, 4))


def test_numpy_and_pytorch_agree(shipped: ShippedStar) -> None:
    by_torch = open_shipped_scorer("cpu", torch.float32)
    assert np.allclose(shipped.cross(PAIRS), by_torch.cross(PAIRS), atol=1e-4)
