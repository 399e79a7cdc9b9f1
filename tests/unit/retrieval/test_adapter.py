"""An encoder's adapter changes its maps as it says, in NumPy and PyTorch alike; a wrong one is one clear line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lodestar.engine.cli.start import check_installation
from lodestar.engine.settings import Settings
from lodestar.models.text.encoders import KNOWN_BY, EncoderUnavailableError, SentenceEncoder, merge_adapter, sample_map
from safetensors.numpy import load_file, save_file

MODEL = Path(SentenceEncoder("all-MiniLM-L6-v2").location)
MAP = "encoder.layer.3.output.dense"


A, B = f"{MAP}.a", f"{MAP}.b"
RNG = np.random.default_rng(7)
GOOD = {name: (0.1 * RNG.normal(size=shape)).astype("f2") for name, shape in ((A, (2, 1536)), (B, (384, 2)))}


@pytest.fixture(scope="module")
def base() -> str:
    return sample_map(load_file(MODEL / "model.safetensors")[f"{KNOWN_BY}.weight"])


def test_a_map_becomes_w_plus_b_times_a(tmp_path: Path) -> None:
    known, changed = np.eye(2, dtype="f4"), np.ones((2, 3), dtype="f4")
    maps = {"b": np.array([[1], [2]], "f2"), "a": np.array([[1, 0, 3]], "f2")}
    elsewhere = known + np.float32(2e-4)  # another processor rounds what it merged otherwise
    save_file({f"x.{name}": value for name, value in maps.items()}, tmp_path / "it", {"base": sample_map(elsewhere)})
    merge_adapter(tmp_path / "it", {KNOWN_BY: known, "x": changed}.__getitem__)
    assert changed.tolist() == [[2, 1, 4], [3, 1, 7]]


@pytest.mark.long
def test_vectors_are_the_same_in_numpy_and_pytorch(tmp_path: Path, base: str) -> None:
    adapter = tmp_path / "it.safetensors"
    save_file(GOOD, adapter, {"base": base})
    encoder = SentenceEncoder(f"all-MiniLM-L6-v2+{adapter}", device="cpu")
    texts = ["capital", "who directed it"]
    assert encoder.is_plain
    assert encoder.weights_digest != SentenceEncoder("all-MiniLM-L6-v2").weights_digest
    assert np.abs(encoder.encode(texts) - SentenceEncoder("all-MiniLM-L6-v2").encode(texts)).max() > 0.01
    np.testing.assert_allclose(encoder.encode(texts), encoder._any.encode(texts), atol=1e-5, rtol=0)


WRONG = [
    GOOD | {A: GOOD[A] * np.float16(np.nan)}, GOOD | {B: GOOD[B] * np.float16(np.inf)}, {}, {A: GOOD[A]}, {B: GOOD[B]},
    {A: GOOD[A][:1], B: GOOD[B]}, {A: GOOD[A][:, :384], B: GOOD[B]}, {n.replace("3", "9"): m for n, m in GOOD.items()},
    {n: (9 * m).astype("i2") for n, m in GOOD.items()}, {n: 1e30 * m.astype("f4") for n, m in GOOD.items()}, None,
]  # fmt: skip


@pytest.mark.parametrize("tensors", WRONG)
def test_a_wrong_adapter_is_one_clear_line(tmp_path: Path, base: str, tensors: dict[str, Any] | None) -> None:
    adapter = tmp_path / "it.safetensors"
    save_file(GOOD if tensors is None else tensors, adapter, {"base": "0" * 16 if tensors is None else base})
    for cut in (None, 99):
        adapter.write_bytes(adapter.read_bytes()[:cut])
        with pytest.raises(EncoderUnavailableError, match=f"{adapter}.*: (fetch|leave)") as caught:
            SentenceEncoder(f"all-MiniLM-L6-v2+{adapter}").encode(["capital"])
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2+relation", "on/hub+none.safetensors"])
def test_doctor_misses_an_adapter(name: str) -> None:
    found = {each.part: each for each in check_installation(Settings(uri="bolt://127.0.0.1:1", encoder=name))}
    assert found["encoder"].level == "missing"
    assert ("known: relations" in found["encoder"].found) == (name[-1] == "n")
