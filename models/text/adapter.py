"""Adapters of sentence encoders: low-rank changes of linear maps, merged when the encoder is loaded.

An encoder's name says its adapter: ``all-MiniLM-L6-v2+relations`` is MiniLM with the shipped adapter `relations`, which
has seen questions over many graphs (relations.md); ``NAME+FILE.safetensors`` is any other. The file holds for each map
W (out, in) of the network two matrices ``MAP.b`` (out, r) and ``MAP.a`` (r, in): W becomes W + b a. Its metadata
``base`` is the digest of one map of the encoder that it was trained on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

SHIPPED = {"relations": Path(__file__).parent / "relations.safetensors"}
"""The adapters that come with the product, by name."""
KNOWN_BY = "encoder.layer.0.attention.self.query"
"""The map whose digest tells encoders apart."""

Floats = npt.NDArray[np.float32]


class EncoderUnavailableError(Exception):
    """The encoder's files are unavailable, or its adapter is damaged or of another encoder; the message says which."""


def split_adapter(name: str) -> tuple[str, Path | None]:
    """Return an encoder's name without its adapter, and the adapter's file."""
    base, plus, adapter = name.rpartition("+")
    if plus and adapter in SHIPPED:
        return base, SHIPPED[adapter]
    return (base, Path(adapter)) if plus and adapter.endswith(".safetensors") else (name, None)


def digest_map(weight: npt.NDArray[Any]) -> str:
    """Return the digest of a map's weight, by which an adapter knows its encoder."""
    return hashlib.sha256(np.ascontiguousarray(weight, dtype="<f4").tobytes()).hexdigest()[:16]


def merge_adapter(path: Path, weight_of: Callable[[str], Floats]) -> None:
    """Add the changes of an adapter to the weights of its encoder, in place.

    weight_of: returns a map's weight by its name, (out, in), writable; raises `KeyError` or `AttributeError` if there
    is none. Raises `EncoderUnavailableError` before anything is changed.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            base = (file.metadata() or {}).get("base")
            maps = sorted(name.removesuffix(".a") for name in file.keys() if name.endswith(".a"))  # noqa: SIM118
            changes = {
                name: file.get_tensor(f"{name}.b").astype(np.float32) @ file.get_tensor(f"{name}.a").astype(np.float32)
                for name in maps
            }
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise EncoderUnavailableError(
            f"the encoder's adapter {path} cannot be read ({reason}): fetch it again"
        ) from error
    weights: dict[str, Floats] = {}
    try:
        weights |= {name: weight_of(name) for name in changes}
        fits = base == digest_map(weight_of(KNOWN_BY))
    except (KeyError, AttributeError):
        fits = False
    if not fits or any(weights[name].shape != change.shape for name, change in changes.items()):
        raise EncoderUnavailableError(
            f"the encoder's adapter {path} was trained on another encoder: leave it out of the encoder's name, or "
            "name the encoder that it belongs to"
        )
    for name, change in changes.items():
        weights[name] += change
