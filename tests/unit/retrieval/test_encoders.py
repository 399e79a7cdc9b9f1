"""Encoders without PyTorch give the vectors of sentence-transformers; every other model goes through it."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from lodestar.engine.resources import EngineResources
from lodestar.engine.settings import Connection, Settings
from lodestar.models.placement import Placement
from lodestar.models.text.encoders import (
    EncoderUnavailableError,
    SentenceEncoder,
    SentenceTransformerEncoder,
    open_numpy_encoder,
)
from lodestar.models.training import TrainingFolder

from tests.made.mined_examples import tiny_encoder

MODEL = Path(SentenceEncoder("all-MiniLM-L6-v2").location)


def odd_texts() -> list[str]:
    """Texts of every script and length, with what a tokenizer treats in a way of its own."""
    rng = random.Random(7)
    ranges = [(0x20, 0x7F), (0x20, 0x7F), (0x00, 0x20), (0xA0, 0x250), (0x370, 0x530), (0x590, 0x700), (0x900, 0xA00)]
    ranges += [(0x300, 0x370), (0x2000, 0x2200), (0x4E00, 0x4F00), (0xAC00, 0xAD00), (0x1F300, 0x1F650)]
    drawn = [
        "".join(chr(rng.randrange(*rng.choice(ranges))) for _ in range(rng.choice((1, 3, 10, 40, 120))))
        for _ in range(80)
    ]
    named = ["", " ", "\t\n", "[SEP]", "[CLS] a [MASK] b [PAD]", "[UNK]", "capital", "CAPITAL", "Ünïcödé", "İstanbul"]
    long = [" ".join(["what is the capital of"] * n) for n in (50, 51, 60)] + ["x" * 99, "x" * 101, "a" * 1000]
    return drawn + named + long + ["twice", "twice"]


@pytest.mark.long
def test_vectors_are_those_of_sentence_transformers() -> None:
    reference = SentenceTransformerEncoder(str(MODEL), placement=Placement("cpu"))
    texts, ours = odd_texts(), open_numpy_encoder(MODEL)
    assert ours is not None
    vectors = ours.encode(texts)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    both = zip(texts, vectors, ours.encode_tokens(texts), reference.encode_tokens(texts), strict=True)
    for text, vector, (sentence, tokens), (wanted, wanted_tokens) in both:
        assert tokens.shape == wanted_tokens.shape, text
        np.testing.assert_allclose(vector, wanted, atol=1e-5, rtol=0)
        np.testing.assert_allclose(sentence, wanted, atol=1e-5, rtol=0)
        np.testing.assert_allclose(tokens, wanted_tokens, atol=1e-5, rtol=0)


def test_the_bundled_encoder_imports_neither_torch_nor_transformers() -> None:
    program = (
        "import sys; from lodestar.models.text.encoders import SentenceEncoder as E\n"
        "e = E('all-MiniLM-L6-v2'); assert e.encode(['a', 'b']).shape == (2, 384); e.encode_tokens(['a'])\n"
        "print([m for m in ('torch', 'transformers', 'sentence_transformers', 'sklearn', 'scipy') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize("precision", ["auto", "float32", "float16"])
def test_on_cuda_the_encoder_computes_in_the_precision_that_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str
) -> None:
    """By default in bfloat16; vectors of each precision have a file of their own."""
    made: list[object] = []
    monkeypatch.setattr("lodestar.models.placement._may_have_gpu", lambda: True)
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr(SentenceTransformerEncoder, "__init__", lambda _, *__, placement, **___: made.append(placement))
    monkeypatch.setattr(SentenceTransformerEncoder, "encode", lambda _, texts: np.ones((len(texts), 2), np.float32))
    EngineResources(Settings(home=str(tmp_path), precision=precision), Connection("")).vectors.stack(
        ["a"], lasting=True
    )
    TrainingFolder(tmp_path, "cuda", precision).vectors_of("all-MiniLM-L6-v2").stack(["a"])
    computed = "bfloat16" if precision == "auto" else precision
    assert [(each.torch_device, str(each.dtype)) for each in made] == [("cuda", f"torch.{computed}")] * 2
    (stored,) = (tmp_path / "vectors").glob("*.sqlite")
    assert stored.stem.partition("-")[2] == computed.replace("float32", "")


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("1_Pooling/config.json", {"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}),
        ("config.json", {"model_type": "roberta"}),
        ("config.json", {"hidden_act": "relu"}),
        ("config.json", {"torch_dtype": "float16"}),
        ("sentence_bert_config.json", {"do_lower_case": True}),
        ("tokenizer_config.json", {"tokenizer_class": "MPNetTokenizer"}),
        ("config_sentence_transformers.json", {"default_prompt_name": "query"}),
    ],
)
def test_a_model_of_another_kind_is_not_plain(tmp_path: Path, file: str, change: dict[str, object]) -> None:
    folder = copied(tmp_path)
    (folder / file).write_text(json.dumps(json.loads((folder / file).read_text()) | change))
    assert open_numpy_encoder(folder) is None


def test_code_beside_the_weights_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is anybody asked for leave, who would say yes."""
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    folder = tiny_encoder(tmp_path / "tiny")
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n", encoding="utf-8")
    said = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    classes = dict.fromkeys(("AutoConfig", "AutoModel", "AutoModelForSequenceClassification"), "own.Own")
    (folder / "config.json").write_text(json.dumps(said | {"model_type": "own", "auto_map": classes}), encoding="utf-8")
    with suppress(ValueError):
        SentenceTransformerEncoder(str(folder), placement=Placement("cpu"))
    assert not (tmp_path / "ran").exists()


def test_truncated_weights_are_one_clear_error(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(EncoderUnavailableError, match="could not be loaded"):
        SentenceEncoder(str(folder)).encode(["capital"])


def copied(tmp_path: Path) -> Path:
    """Return a folder with the bundled model's files, whose weights are linked."""
    shutil.copytree(MODEL, tmp_path / "model", copy_function=lambda a, b: Path(b).symlink_to(a))
    for path in (tmp_path / "model").rglob("*.json"):
        text = path.read_text()
        path.unlink()
        path.write_text(text)
    return tmp_path / "model"
