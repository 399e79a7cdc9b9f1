"""The local language model, with random weights: what it replies, how sure it is, and what it attends to."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lodestar.models.language.causal_lm import CausalLM, CausalLMError, Messages, load_language_model
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.made.tiny_causal_lm import KINDS, write_tiny_causal_lm

TEXTS = ["which paths are useful? 1, 2, 3", "lima", "the capital of é is\nquito " * 8]


def asked(text: str) -> Messages:
    return [{"role": "user", "content": text}]


@pytest.fixture(scope="module", params=KINDS)
def lm(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CausalLM:
    return CausalLM(str(write_tiny_causal_lm(tmp_path_factory.mktemp("lm"), kind=request.param)))


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> CausalLM:
    return CausalLM(str(write_tiny_causal_lm(tmp_path_factory.mktemp("chat"), is_chat=True)))


def eager(lm: CausalLM, text: str) -> Any:
    """Return what the model gives with all attention kept."""
    model = AutoModelForCausalLM.from_pretrained(lm.name, attn_implementation="eager").eval()
    encoded = AutoTokenizer.from_pretrained(lm.name)(text, return_tensors="pt", return_token_type_ids=False)
    with torch.inference_mode():
        return model(**encoded, output_attentions=True)


class TestReplies:
    def test_tokens_add_up_to_the_text_and_are_the_most_probable(self, lm: CausalLM) -> None:
        text = lm.render(asked(TEXTS[0]))
        (reply,) = lm.replies([asked(TEXTS[0])], 6)
        assert "".join(piece for piece, _ in reply.tokens) == reply.text
        tokenizer = AutoTokenizer.from_pretrained(lm.name)
        ids = tokenizer(text)["input_ids"]
        assert reply.num_prompt_tokens == len(ids)
        first = eager(lm, text).logits[0, -1].log_softmax(dim=-1)
        assert reply.tokens[0][0] == tokenizer.decode([int(first.argmax())])
        assert reply.tokens[0][1] == pytest.approx(float(first.max()), abs=1e-4)

    def test_a_batch_replies_as_each_alone(self, lm: CausalLM) -> None:
        together = lm.replies([asked(text) for text in TEXTS], 8)
        for text, reply in zip(TEXTS, together, strict=True):
            (alone,) = lm.replies([asked(text)], 8)
            assert alone.text == reply.text
            assert [p for _, p in alone.tokens] == pytest.approx([p for _, p in reply.tokens], abs=1e-3)

    def test_a_prompt_that_is_too_long_is_refused(self, chat: CausalLM) -> None:
        with pytest.raises(CausalLMError, match=r"a prompt of 5\d\d tokens and 20 of reply exceed the 512"):
            chat.replies([asked("x" * 500)], 20)


class TestLoading:
    @pytest.mark.parametrize("load", [lambda name: CausalLM(name).replies([asked("x")], 1), load_language_model])
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
            CausalLM(str(folder)).replies([asked("x")], 1)


class TestAttention:
    @pytest.mark.parametrize("layer", [0, 3])
    def test_it_is_the_last_row_of_the_whole(self, lm: CausalLM, layer: int) -> None:
        found = lm.attention(asked(TEXTS[2]), layer)
        whole = eager(lm, lm.render(asked(TEXTS[2]))).attentions[layer][0, :, -1]
        np.testing.assert_allclose(found.weights, whole.numpy(), atol=1e-5)
        assert len(found.offsets) == found.weights.shape[1]

    def test_offsets_are_those_of_the_content(self, chat: CausalLM) -> None:
        content = "  lima is the capital\n"
        assert chat.render(asked(content)) == "<user>lima is the capital<end><assistant>"
        offsets = chat.attention(asked(content), 1).offsets.tolist()
        pieces = [content[first:after] for first, after in offsets if first >= 2 and after <= len(content.rstrip())]
        assert "".join(pieces) == content.strip()
