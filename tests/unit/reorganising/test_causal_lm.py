"""The local language model, with random weights: what it replies, how sure it is, and what it attends to."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from lodestar.models.language.attention import NAME, last_row, record_last_row
from lodestar.models.language.causal_lm import CausalLM, CausalLMError, Messages, StoppedError, as_error
from lodestar.models.language.lora import load_language_model
from safetensors.torch import load_file, save_file
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AttentionInterface, AutoModelForCausalLM, AutoTokenizer
from transformers.utils.logging import enable_progress_bar, is_progress_bar_enabled

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
    model = AutoModelForCausalLM.from_pretrained(lm.name, attn_implementation="eager").eval()  # type: ignore[no-untyped-call]
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

    def test_the_limit_and_the_end(self, lm: CausalLM) -> None:
        (reply,) = lm.replies([asked(TEXTS[0])], 3)
        assert reply.is_cut
        assert len(reply.tokens) == 3

    def test_nothing_asked(self, chat: CausalLM) -> None:
        assert chat.replies([], 3) == []

    def test_a_prompt_that_is_too_long_is_refused(self, chat: CausalLM) -> None:
        with pytest.raises(CausalLMError, match=r"a prompt of 5\d\d tokens and 20 of reply exceed the 512"):
            chat.replies([asked("x" * 500)], 20)


class TestEncoding:
    def test_a_prompt_may_be_as_long_as_the_model_reads(self, tmp_path: Path) -> None:
        """Each x is a token, and the end of the line: 44 of the prompt and 20 of the reply are 64."""
        lm = CausalLM(str(write_tiny_causal_lm(tmp_path, max_length=64)))
        (reply,) = lm.replies([asked("x" * 43)], 20)
        assert reply.num_prompt_tokens == 44
        assert lm.attention(asked("x" * 62), 0).weights.shape == (4, 63)
        assert lm.choice_logprobs(asked("x" * 58), "", ("xxx", "x"))[1] == 59 + 4 + 2
        with pytest.raises(CausalLMError, match="a prompt of 45 tokens and 20 of reply exceed the 64"):
            lm.replies([asked("x" * 44)], 20)
        with pytest.raises(CausalLMError, match="a prompt of 64 tokens and 1 of reply exceed the 64"):
            lm.attention(asked("x" * 63), 0)
        with pytest.raises(CausalLMError, match="a prompt of 61 tokens and 4 of reply exceed the 64"):
            lm.choice_logprobs(asked("x" * 60), "", ("xxx", "x"))

    def test_a_text_begins_with_a_special_token_where_no_template_writes_it(self, tmp_path: Path) -> None:
        for is_chat, text, num_tokens in ((False, "x\n", 3), (True, "<user>x<end><assistant>", 4)):
            lm = CausalLM(str(write_tiny_causal_lm(tmp_path / str(is_chat), is_chat=is_chat, begins=True)))
            assert lm.render(asked("x")) == text
            assert lm.replies([asked("x")], 1)[0].num_prompt_tokens == num_tokens
            assert lm.choice_logprobs(asked("x"), "", ("x", "xx"))[1] == num_tokens + 2 + 3
        found = CausalLM(str(tmp_path / "False")).attention(asked(" x"), 0)
        assert found.offsets.tolist() == [[0, 0], [0, 1], [1, 2], [2, 3]]


class TestStopping:
    def test_a_reply_that_is_stopped_leaves_nothing_behind(self, tmp_path: Path) -> None:
        lm = CausalLM(str(write_tiny_causal_lm(tmp_path)))
        goes_on = Mock()
        for ask in (
            lambda: lm.replies([asked("lima")], 50, goes_on=goes_on),
            lambda: lm.choice_logprobs(asked("lima"), "", ("x",) * 20, goes_on=goes_on),
        ):
            goes_on.side_effect = [True] * 9 + [False]
            with pytest.raises(StoppedError, match="was stopped before its reply ended"):
                ask()
            assert len(lm.replies([asked("lima")], 2)[0].tokens) == 2

    def test_it_is_asked_at_the_start_and_at_every_layer_of_every_token(self, tmp_path: Path) -> None:
        lm = CausalLM(str(write_tiny_causal_lm(tmp_path)))
        goes_on = Mock(return_value=True)
        lm.replies([asked("lima")], 3, goes_on=goes_on)
        assert goes_on.call_count == 1 + 4 * 3

    def test_no_model_is_loaded_for_what_is_stopped_already(self, tmp_path: Path) -> None:
        folder = write_tiny_causal_lm(tmp_path)
        (folder / "model.safetensors").unlink()
        with pytest.raises(StoppedError):
            CausalLM(str(folder)).replies([asked("lima")], 3, goes_on=lambda: False)


class TestLoading:
    def test_what_a_model_says_of_sampling_changes_no_reply(self, tmp_path: Path) -> None:
        folder = write_tiny_causal_lm(tmp_path)
        (plain,) = CausalLM(str(folder)).replies([asked("lima")], 12)
        path = folder / "generation_config.json"
        said = json.loads(path.read_text(encoding="utf-8"))
        said |= {"do_sample": True, "temperature": 9.0, "num_beams": 3, "repetition_penalty": 9.0}
        path.write_text(json.dumps(said), encoding="utf-8")
        assert CausalLM(str(folder)).replies([asked("lima")], 12) == [plain]

    def test_a_choice_is_read_after_a_prompt_that_is_kept_whatever_the_model_says(self, tmp_path: Path) -> None:
        folder = write_tiny_causal_lm(tmp_path)
        found, _ = CausalLM(str(folder)).choice_logprobs(asked("capital?"), "", ("lima", "quito"))
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"use_cache": False}), "utf-8")
        again, _ = CausalLM(str(folder)).choice_logprobs(asked("capital?"), "", ("lima", "quito"))
        assert again == pytest.approx(found)

    def test_weights_are_of_the_type_that_is_stored(self, tmp_path: Path) -> None:
        folder = write_tiny_causal_lm(tmp_path)
        weights = load_file(folder / "model.safetensors")
        save_file({name: each.half() for name, each in weights.items()}, folder / "model.safetensors", {"format": "pt"})
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"dtype": "float16"}), "utf-8")
        assert CausalLM(str(folder))._model.dtype == torch.float16

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

    @pytest.mark.parametrize("load", [lambda name: CausalLM(name).replies([asked("x")], 1), load_language_model])
    def test_a_model_is_loaded_without_a_bar_of_progress(self, load: Callable[[str], object], tmp_path: Path) -> None:
        enable_progress_bar()  # type: ignore[no-untyped-call]
        load(str(write_tiny_causal_lm(tmp_path)))
        assert not is_progress_bar_enabled()


class TestAttention:
    @pytest.mark.parametrize("scaling", [None, 2.0])
    def test_a_row_is_scaled_as_its_model_says_else_by_the_root_of_its_width(self, scaling: float | None) -> None:
        """q · k is 1 and 0, times 2 or 1 / √4; of another layer the output is what PyTorch's is."""
        attend = cast("Callable[..., tuple[torch.Tensor, None]]", AttentionInterface()[NAME])  # type: ignore[no-untyped-call]
        layer = torch.nn.Module()
        layer.layer_idx = 1  # type: ignore[assignment]
        query = torch.tensor([1.0, 0, 0, 0]).reshape(1, 1, 1, 4)
        key = torch.eye(4)[:2].reshape(1, 1, 2, 4)
        with record_last_row(1) as row:
            attend(layer, query, key, key, None, scaling=scaling)
        by = math.exp(scaling or 0.5)
        assert row.weights is not None
        assert row.weights.tolist() == [[pytest.approx([by / (by + 1), 1 / (by + 1)])]]
        with record_last_row(0) as row:
            output, _ = attend(layer, query, key, key, None, scaling=scaling)
        assert output[0, 0, 0, :2].tolist() == pytest.approx([by / (by + 1), 1 / (by + 1)])
        assert row.weights is None

    @pytest.mark.parametrize("layer", [0, 3])
    def test_it_is_the_last_row_of_the_whole(self, lm: CausalLM, layer: int) -> None:
        found = lm.attention(asked(TEXTS[2]), layer)
        whole = eager(lm, lm.render(asked(TEXTS[2]))).attentions[layer][0, :, -1]
        np.testing.assert_allclose(found.weights, whole.numpy(), atol=1e-5)
        assert len(found.offsets) == found.weights.shape[1]

    @pytest.mark.parametrize("mask", [torch.tensor([False, True, True]), torch.tensor([float("-inf"), 0.0, 0.0])])
    def test_what_a_mask_hides_is_not_read(self, mask: torch.Tensor) -> None:
        weights = last_row(torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 3, 2), mask.reshape(1, 1, 1, 3), 1.0)
        assert weights[0, 0].tolist() == [0.0, 0.5, 0.5]

    def test_offsets_are_those_of_the_content(self, chat: CausalLM) -> None:
        content = "  lima is the capital\n"
        assert chat.render(asked(content)) == "<user>lima is the capital<end><assistant>"
        offsets = chat.attention(asked(content), 1).offsets.tolist()
        pieces = [content[first:after] for first, after in offsets if first >= 2 and after <= len(content.rstrip())]
        assert "".join(pieces) == content.strip()

    def test_no_square_of_the_length_is_ever_made(self, chat: CausalLM) -> None:
        chat.attention(asked("lima"), 2)
        largest = Largest()
        with largest:
            length = chat.attention(asked("xy" * 240), 2).weights.shape[1]
        assert length > 400
        assert 0 < largest.num_elements < length * length

    def test_a_layer_that_is_not_there(self, chat: CausalLM) -> None:
        with pytest.raises(CausalLMError, match="no layer 7 of attention: expected one of 4"):
            chat.attention(asked("lima"), 7)
        assert chat.num_layers == 4


class Largest(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the size of the largest tensor that any operation gives."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.num_elements = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tensors_in(result):
            self.num_elements = max(self.num_elements, tensor.numel())
        return result


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from tensors_in(each)


def test_a_character_of_several_tokens_is_said_by_its_last_one(lm: CausalLM) -> None:
    """The tokenizer knows bytes: an é is two tokens. A reply that ends within one shows that something is missing."""
    ids = lm._tokenizer("é", add_special_tokens=False)["input_ids"]
    assert len(ids) == 2
    assert list(lm._pieces([*ids, *ids])) == ["", "é", "", "é"]
    assert list(lm._pieces(ids[:1])) == ["\N{REPLACEMENT CHARACTER}"]


def test_a_folder_without_a_model_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(CausalLMError, match=r"the tokenizer of .* cannot be loaded") as caught:
        CausalLM(str(tmp_path)).replies([asked("lima")], 3)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no such\nlayer"), "it cannot reply (no such layer): train it"),
        (ValueError(), "it cannot reply (ValueError): train it"),
        (CausalLMError("too long"), "too long"),
    ],
)
def test_an_error_of_a_models_code_says_its_reason_or_its_kind_and_one_of_ours_stays(
    error: Exception, said: str
) -> None:
    with pytest.raises(CausalLMError) as caught, as_error("it cannot reply", ": train it"):
        raise error
    assert str(caught.value) == said
