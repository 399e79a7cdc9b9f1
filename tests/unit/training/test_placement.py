"""Copies of batches, their growing size, and the GPU benchmark's small form on a CPU."""

from __future__ import annotations

import pytest
import torch
from lodestar.models.placement import AdaptiveBatchSize, copy_in_one_transfer, move_batch

from benchmarks.speed import gpu

TENSORS = [
    torch.tensor([[True, False], [False, True]]),
    torch.arange(5),
    torch.tensor([[0.5, -1.0, 3.0]]),
    torch.zeros(0, dtype=torch.long),
    torch.tensor([1.5], dtype=torch.bfloat16),
]


def test_a_batch_is_copied_by_one_call_and_comes_out_as_it_was() -> None:
    copied: list[torch.Tensor] = []
    found = copy_in_one_transfer(TENSORS, lambda packed: copied.append(packed) or packed.clone())  # type: ignore[func-returns-value]
    assert [each.numel() for each in copied] == [4 + 5 * 8 + 3 * 4 + 2]
    for before, after in zip(TENSORS, found, strict=True):
        assert torch.equal(before, after) and before.dtype == after.dtype
    assert all(map(torch.equal, move_batch(TENSORS, torch.device("cpu")), TENSORS))


def test_a_batch_doubles_until_memory_is_short() -> None:
    """4, 8, 16 fit, 32 does not: 16 from then on."""
    sizes: list[int] = []

    def compute(items: range) -> list[int]:
        if len(items) > 20:
            raise torch.OutOfMemoryError("no room")
        sizes.append(len(items))
        return list(items)

    batch = AdaptiveBatchSize(4)
    assert [each for some in batch.run(range(100), compute) for each in some] == list(range(100))
    assert sizes == [4, 8, 16, 16, 16, 16, 16, 8]
    with pytest.raises(torch.OutOfMemoryError):
        AdaptiveBatchSize(4).run(range(4), lambda _: (_ for _ in ()).throw(torch.OutOfMemoryError("none")))
    assert AdaptiveBatchSize(4, most=4).run(range(10), len) == [4, 4, 2]


def test_the_gpu_benchmark_runs_on_a_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    gpu.main(["--small", "--device", "cpu"])
    printed = capsys.readouterr().out
    assert "Not run on a GPU" in printed
    assert all(f"| {name}" in printed for name in ("encoder", "STAR", "ReG", "GRIL", "FAISS"))
