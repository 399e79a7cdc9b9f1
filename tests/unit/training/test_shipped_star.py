"""The cross-attentive scorer that comes with Lodestar: NumPy and PyTorch agree, and training starts from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from lodestar.models.star.network import open_shipped_scorer
from lodestar.models.star.shipped import WEIGHTS, ShippedStar
from lodestar.models.text import DirectedRelation, Hop, RelationWords
from lodestar.models.text.encoders import EncoderUnavailableError
from safetensors import safe_open
from safetensors.numpy import load_file, save_file


def hop(domain: str, words: str, *, inverse: bool = False) -> Hop:
    return (DirectedRelation(RelationWords(domain, (words,)), inverse),)


DIRECTED, BORN, GENRE = hop("film", "directed by"), hop("person", "place of birth"), hop("film", "genre")
FILM, HIS, KIND = "Who directed Heat?", "Where was the director of Heat born?", "Which genre is Heat?"
PATHS = [(FILM, (DIRECTED,)), (FILM, (GENRE,)), (HIS, (DIRECTED, BORN)), (HIS, (DIRECTED,)), (KIND, (GENRE,))]
PAIRS = [(text, "Heat", path) for text, path in (*PATHS, (KIND, (DIRECTED,)), PATHS[0])]


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


@pytest.mark.parametrize("name", ["special", "feed_forward.4.bias"])
def test_damaged_weights_are_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with safe_open(WEIGHTS, "numpy") as file:
        whole, said = load_file(WEIGHTS), file.metadata()
    monkeypatch.setattr("lodestar.models.star.shipped.WEIGHTS", tmp_path / "it")
    rest = {each: values for each, values in whole.items() if each != name}
    for tensors in (rest, {**rest, name: whole[name][..., :0]}, {**rest, name: whole[name] * np.float16(np.nan)}):
        save_file(tensors, tmp_path / "it", said)
        with pytest.raises(EncoderUnavailableError, match=f"it (cannot|have) .*{name}"):
            ShippedStar()
