"""Low-rank changes of a network's linear maps (LoRA), and the loop that trains them, resumable."""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lodestar.models.text.encoders import KNOWN_BY, sample_map
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

RANK, ALPHA = 8, 16
DECAY, WARM_UP, FLOOR = 0.01, 40, 0.05
"""Weight decay, steps of warm-up, and the share of the rate at the end of the cosine."""
EVERY = 50
"""Steps from checkpoint to checkpoint."""
WORKERS = max(1, min(8, (os.cpu_count() or 1) - 2))
"""Processes that make batches."""


class Adapted(nn.Module):
    """A linear map W x + b with a low-rank change: (W + alpha / r · B A) x + b."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base, self.strength = base, 1.0
        device = base.weight.device
        self.a = nn.Parameter((torch.randn(RANK, base.in_features) / math.sqrt(base.in_features)).to(device))
        self.b = nn.Parameter(torch.zeros(base.out_features, RANK, device=device))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.base(x)
        if not self.strength:
            return out
        return out + (self.strength * ALPHA / RANK) * (x @ self.a.to(x.dtype).T @ self.b.to(x.dtype).T)


class LoRA:
    """The changes of all linear maps of a transformer's layers; all else is frozen, on a GPU in bfloat16."""

    def __init__(self, model: Any, device: str) -> None:
        self.base = sample_map(model.get_parameter(f"{KNOWN_BY}.weight").detach().float().cpu().numpy())
        """Of the network that is changed, for `models.text.encoders`."""
        model.to(device, torch.float32 if device == "cpu" else torch.bfloat16).eval()
        if device == "cpu":
            model.set_attn_implementation("eager")  # several times faster than the fused one, backwards
        for each in model.parameters():
            each.requires_grad_(False)
        self.maps: dict[str, Adapted] = {}
        layers = model.encoder
        for place in [place for place, each in layers.named_modules() if isinstance(each, nn.Linear)]:
            parent, _, last = place.rpartition(".")
            adapted = Adapted(layers.get_submodule(place))
            setattr(layers.get_submodule(parent), last, adapted)
            self.maps[f"encoder.{place}"] = adapted

    def parameters(self) -> list[nn.Parameter]:
        return [each for adapted in self.maps.values() for each in (adapted.a, adapted.b)]

    @contextmanager
    def frozen(self, strength: float = 0.0) -> Iterator[None]:
        """Compute without gradients, with the changes at a strength: at 0 as the network was."""
        for adapted in self.maps.values():
            adapted.strength = strength
        try:
            with torch.no_grad():
                yield
        finally:
            for adapted in self.maps.values():
                adapted.strength = 1.0

    def tensors(self, strength: float = 1.0) -> dict[str, np.ndarray[Any, Any]]:
        """Return the matrices as `models.text.encoders` reads them, in half precision."""
        tensors = {}
        for name, adapted in self.maps.items():
            tensors[f"{name}.a"] = adapted.a.detach().cpu().numpy().astype(np.float16)
            tensors[f"{name}.b"] = (adapted.b.detach() * (strength * ALPHA / RANK)).cpu().numpy().astype(np.float16)
        return tensors


def train_steps(
    out: Path,
    groups: Sequence[tuple[Sequence[nn.Parameter], float]],
    batches: Dataset[dict[str, Any]],
    compute_loss: Callable[[Mapping[str, Any]], tuple[Tensor, dict[str, Tensor]]],
    write: Callable[[], None],
    num_steps: int,
    seconds: float,
) -> None:
    """Train by AdamW with warm-up and cosine; write a checkpoint and the log into ``out`` every `EVERY` steps.

    groups: parameters with their rate. batches: by the number of a step. compute_loss: of a batch, with its parts for
    the log.
    """
    out.mkdir(parents=True, exist_ok=True)
    optimizer = torch.optim.AdamW([{"params": list(some), "lr": rate} for some, rate in groups], weight_decay=DECAY)
    rates = [rate for _, rate in groups]
    trained = [each for some, _ in groups for each in some]
    first, spent = _resume(out, trained, optimizer)
    started = time.monotonic()
    left = range(first, num_steps)
    loader = DataLoader(batches, batch_size=None, sampler=left, num_workers=WORKERS, prefetch_factor=4)
    for step, batch in zip(left, loader, strict=False):
        share = max(0.0, (step - WARM_UP) / max(1, num_steps - WARM_UP))
        factor = min(1.0, (step + 1) / WARM_UP) * (FLOOR + (1 - FLOOR) * (1 + math.cos(math.pi * share)) / 2)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * factor
        loss, parts = compute_loss(batch)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        total = spent + time.monotonic() - started
        if step % 10 == 0 or step == first:
            figures = {name: round(each.item(), 4) for name, each in parts.items()}
            note(out, {"step": step, "seconds": round(total), **figures})
        is_last = step + 1 == num_steps or time.monotonic() - started > seconds
        if (step + 1) % EVERY == 0 or is_last:
            write()
            state = {"step": step + 1, "seconds": total, "optimizer": optimizer.state_dict()}
            torch.save(state | {"trained": [each.detach() for each in trained]}, out / "last.tmp")
            (out / "last.tmp").replace(out / "last.pt")
        if is_last:
            break


def _resume(out: Path, trained: Sequence[nn.Parameter], optimizer: torch.optim.Optimizer) -> tuple[int, float]:
    if not (out / "last.pt").exists():
        return 0, 0.0
    state = torch.load(out / "last.pt", weights_only=True)
    with torch.no_grad():
        for parameter, stored in zip(trained, state["trained"], strict=True):
            parameter.copy_(stored)
    optimizer.load_state_dict(state["optimizer"])
    return state["step"], state["seconds"]


def read_arguments(text: str, num_steps: int) -> dict[str, Any]:
    """Return what a training is told on the command line. text: what it is; num_steps: by default."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", dest="num_steps", type=int, default=num_steps)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop, resumably, after so many")
    return vars(parser.parse_args())


def note(out: Path, record: dict[str, Any]) -> None:
    """Append a record to the log."""
    with (out / "log.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
