"""The local language model, with random weights: what it attends to."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lodestar.models.causal_lm import AttentionExtractor, CausalLMError, Messages, load_language_model
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.made.tiny_causal_lm import KINDS, write_tiny_causal_lm

TEXT = "the capital of é is\nquito " * 8


def asked(text: str) -> Messages:
    return [{"role": "user", "content": text}]


@pytest.fixture(scope="module", params=KINDS)
def lm(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AttentionExtractor:
    return AttentionExtractor(str(write_tiny_causal_lm(tmp_path_factory.mktemp("lm"), kind=request.param)))


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> AttentionExtractor:
    return AttentionExtractor(str(write_tiny_causal_lm(tmp_path_factory.mktemp("chat"), is_chat=True)))


def eager(lm: AttentionExtractor, text: str) -> Any:
    """Return what the model gives with all attention kept."""
    model = AutoModelForCausalLM.from_pretrained(lm.name, attn_implementation="eager").eval()
    encoded = AutoTokenizer.from_pretrained(lm.name)(text, return_tensors="pt", return_token_type_ids=False)
    with torch.inference_mode():
        return model(**encoded, output_attentions=True)


class TestLoading:
    @pytest.mark.parametrize(
        "load", [lambda name: AttentionExtractor(name).attention(asked("x"), 0), load_language_model]
    )
    @pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
    def test_code_beside_a_model_is_not_run(
        self, load: Callable[[str], object], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nor is anybody asked for leave, who would say yes."""
        monkeypatch.setattr("builtins.input", lambda *_: "y")
        folder = write_tiny_causal_lm(tmp_path / "tiny")
        (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n", encoding="utf-8")
        said = json.loads((folder / name).read_text(encoding="utf-8")) | {"model_type": "own", "tokenizer_class": "Own"}
        classes = dict.fromkeys(("AutoConfig", "AutoModelForCausalLM"), "own.Own") | {
            "AutoTokenizer": ["own.Own", None]
        }
        (folder / name).write_text(json.dumps(said | {"auto_map": classes}), encoding="utf-8")
        with suppress(CausalLMError):
            load(str(folder))
        assert not (tmp_path / "ran").exists()

    def test_weights_in_a_pickle_are_not_read(self, tmp_path: Path) -> None:
        folder = write_tiny_causal_lm(tmp_path)
        torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
        with pytest.raises(CausalLMError, match="cannot be loaded"):
            AttentionExtractor(str(folder)).attention(asked("x"), 0)


class TestAttention:
    @pytest.mark.parametrize("layer", [0, 3])
    def test_it_is_the_last_row_of_the_whole(self, lm: AttentionExtractor, layer: int) -> None:
        found = lm.attention(asked(TEXT), layer)
        whole = eager(lm, lm.render(asked(TEXT))).attentions[layer][0, :, -1]
        np.testing.assert_allclose(found.weights, whole.numpy(), atol=1e-5)
        assert len(found.offsets) == found.weights.shape[1]

    def test_offsets_are_those_of_the_content(self, chat: AttentionExtractor) -> None:
        content = "  lima is the capital\n"
        assert chat.render(asked(content)) == "<user>lima is the capital<end><assistant>"
        offsets = chat.attention(asked(content), 1).offsets.tolist()
        pieces = [content[first:after] for first, after in offsets if first >= 2 and after <= len(content.rstrip())]
        assert "".join(pieces) == content.strip()

    def test_a_prompt_that_is_too_long_is_refused(self, chat: AttentionExtractor) -> None:
        with pytest.raises(CausalLMError, match=r"a prompt of 5\d\d tokens exceeds the 512"):
            chat.attention(asked("x" * 520), 1)
