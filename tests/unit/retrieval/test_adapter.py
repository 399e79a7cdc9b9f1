"""An encoder's adapter changes its maps as it says, in NumPy and PyTorch alike; a wrong one is one clear line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lodestar.models.text.encoders import (
    KNOWN_BY,
    EncoderUnavailableError,
    SentenceEncoder,
    merge_adapter,
    open_numpy_encoder,
    sample_map,
)
from safetensors.numpy import save_file

MODEL = Path(SentenceEncoder("all-MiniLM-L6-v2").location)
MAP = "encoder.layer.3.output.dense"


def write_adapter(path: Path, base: str, name: str = MAP, width: int = 1536) -> Path:
    rng = np.random.default_rng(7)
    a, b = rng.normal(size=(2, width)), rng.normal(size=(384, 2))
    save_file({f"{name}.a": 0.1 * a.astype("f2"), f"{name}.b": 0.1 * b.astype("f2")}, path, {"base": base})
    return path


@pytest.fixture(scope="module")
def base() -> str:
    found = open_numpy_encoder(MODEL)
    assert found is not None
    return sample_map(found.bert.weights[f"{KNOWN_BY}.weight"])


def test_a_map_becomes_w_plus_b_times_a(tmp_path: Path) -> None:
    known, changed = np.eye(2, dtype="f4"), np.ones((2, 3), dtype="f4")
    maps = {"b": np.array([[1], [2]], "f2"), "a": np.array([[1, 0, 3]], "f2")}
    elsewhere = known + np.float32(2e-4)  # another processor rounds what it merged otherwise
    save_file({f"x.{name}": value for name, value in maps.items()}, tmp_path / "it", {"base": sample_map(elsewhere)})
    merge_adapter(tmp_path / "it", {KNOWN_BY: known, "x": changed}.__getitem__)
    assert changed.tolist() == [[2, 1, 4], [3, 1, 7]]


@pytest.mark.long
def test_vectors_are_the_same_in_numpy_and_pytorch(tmp_path: Path, base: str) -> None:
    adapter = write_adapter(tmp_path / "it.safetensors", base)
    encoder = SentenceEncoder(f"all-MiniLM-L6-v2+{adapter}", device="cpu")
    texts = ["capital", "who directed it"]
    assert encoder.is_plain
    assert encoder.weights_digest != SentenceEncoder("all-MiniLM-L6-v2").weights_digest
    assert np.abs(encoder.encode(texts) - SentenceEncoder("all-MiniLM-L6-v2").encode(texts)).max() > 0.01
    np.testing.assert_allclose(encoder.encode(texts), encoder._any.encode(texts), atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"base": "0" * 16}, "was trained on another encoder"),
        ({"name": "encoder.layer.9.output.dense"}, "was trained on another encoder"),
        ({"width": 384}, "was trained on another encoder"),
        (None, "cannot be read"),
    ],
)
def test_a_wrong_adapter_is_one_clear_line(tmp_path: Path, base: str, change: dict[str, object], said: str) -> None:
    adapter = tmp_path / "it.safetensors"
    if change is None:
        adapter.write_bytes(write_adapter(adapter, base).read_bytes()[:99])
    else:
        write_adapter(adapter, **({"base": base} | change))
    with pytest.raises(EncoderUnavailableError, match=said) as caught:
        SentenceEncoder(f"all-MiniLM-L6-v2+{adapter}").encode(["capital"])
    assert "\n" not in str(caught.value)
