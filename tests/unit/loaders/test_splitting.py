"""Batches that a device has no memory for: computed in parts, to the same results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lodestar.models.star.network import BatchSplitter, HopSequence, StarModel, read_checkpoint
from lodestar.models.text.verbalise import DirectedRelation, RelationWords
from torch import Tensor, nn

from tests.made.tiny_checkpoint import write_tiny_checkpoint


class Device:
    """Doubles numbers, of at most `most` at once."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.asked: list[int] = []

    def __call__(self, numbers: Tensor) -> Tensor:
        self.asked.append(len(numbers))
        if len(numbers) > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return numbers * 2


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 64, 100])
@pytest.mark.parametrize("most", [1, 3, 10, 1_000])
def test_what_does_not_fit_is_halved_until_it_does(rows: int, most: int) -> None:
    device, split = Device(most), BatchSplitter()
    numbers = torch.arange(rows)
    assert split(numbers, device).tolist() == (numbers * 2).tolist()
    device.asked.clear()
    assert split(numbers, device).tolist() == (numbers * 2).tolist()
    assert max(device.asked) <= most  # what did not fit is not tried again


def test_a_row_that_does_not_fit_and_other_errors_are_raised() -> None:
    with pytest.raises(torch.OutOfMemoryError):
        BatchSplitter()(torch.arange(4), Device(0))

    def broken(_: Tensor) -> Tensor:
        raise RuntimeError("shapes do not fit")

    with pytest.raises(RuntimeError, match="shapes do not fit"):
        BatchSplitter()(torch.arange(4), broken)


def paths() -> list[HopSequence]:
    words = [RelationWords("country", (name,)) for name in ("capital", "currency used", "official", "lima", "peru")]
    hops = [(DirectedRelation(each, inverse),) for each in words for inverse in (False, True)]
    return [(hop,) for hop in hops] + [(first, second) for first in hops for second in hops]


class LittleMemory:
    """Lets encoders read at most `most` texts at once."""

    def __init__(self, *encoders: nn.Module, most: int) -> None:
        self.most = most
        self.num_refused = 0
        self.hooks = [each.register_forward_pre_hook(self._check, with_kwargs=True) for each in encoders]

    def _check(self, _: nn.Module, __: Any, kwargs: dict[str, Tensor]) -> None:
        if len(kwargs["input_ids"]) > self.most:
            self.num_refused += 1
            raise torch.OutOfMemoryError("CUDA out of memory.")


@pytest.fixture
def model(tmp_path: Path) -> Iterator[StarModel]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield StarModel(read_checkpoint(write_tiny_checkpoint(tmp_path / "star")))
    torch.set_num_threads(threads)


def scores(model: StarModel) -> list[np.ndarray[Any, Any]]:
    question = "What is the capital of peru?"
    model.encode_ahead([question], paths())
    stop, extend = model.dual(question, paths())
    return [stop, extend, model.cross([(question, "Peru", path) for path in paths()])]


def test_a_scorer_on_a_device_with_little_memory_scores_the_same(model: StarModel, tmp_path: Path) -> None:
    whole = scores(model)
    little = StarModel(read_checkpoint(tmp_path / "star"))
    assert little.checkpoint.cross
    memory = LittleMemory(little.checkpoint.dual.encoder, little.checkpoint.cross.encoder, most=3)
    for one, other in zip(whole, scores(little), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    assert 0 < memory.num_refused <= 10
