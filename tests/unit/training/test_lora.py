"""LoRA on a causal language model: what learns, what it computes, and its factors as safetensors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from lodestar.engine.errors import MissingExtraError
from lodestar.engine.extras import translate_import_errors
from lodestar.models.language.causal_lm import CausalLMError
from lodestar.models.language.lora import (
    ModelAndTokenizer,
    adapter_weights,
    add_lora,
    fingerprint,
    load_language_model,
    restore_adapter,
)
from lodestar.models.training.checkpoint import read_weights, write_weights
from lodestar.models.training.kind import LoraOptions
from torch import Tensor, nn

from tests.made.tiny_causal_lm import KINDS, write_tiny_causal_lm

TEXT = "lima is the capital of peru"


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_causal_lm(tmp_path_factory.mktemp("lm"), kind=request.param)


def logits(model: ModelAndTokenizer, network: nn.Module) -> Tensor:
    with torch.inference_mode():
        found: Tensor = network(**model.tokenizer(TEXT, return_tensors="pt", return_token_type_ids=False)).logits
    return found


def learned(model: ModelAndTokenizer, network: nn.Module) -> Tensor:
    """Give the factors some other values, and return what the network computes then."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn_like(parameter))
    network.eval()
    return logits(model, network)


def test_new_factors_change_nothing_and_alone_learn(folder: Path) -> None:
    model = load_language_model(str(folder))
    before = logits(model, model.network)
    network = add_lora(model, LoraOptions(rank=2))
    torch.testing.assert_close(logits(model, network.eval()), before)
    frozen = {name for name, parameter in network.named_parameters() if not parameter.requires_grad}
    own = adapter_weights(network)
    assert own
    assert all("lora_" in name for name in own)
    assert not any("lora_" in name for name in frozen)
    assert {min(each.shape) for each in own.values()} == {2}
    network.train()(**model.tokenizer(TEXT, return_tensors="pt", return_token_type_ids=False)).logits.sum().backward()
    with_gradient = {name for name, parameter in network.named_parameters() if parameter.grad is not None}
    assert with_gradient == set(own)


def layers_with_factors(network: nn.Module) -> list[Any]:
    return [each for each in network.modules() if hasattr(each, "lora_A")]


@pytest.mark.parametrize(("alpha", "rank"), [(3, 2), (8, 2), (8, 4)])
def test_factors_add_alpha_by_rank_times_their_product(folder: Path, alpha: int, rank: int) -> None:
    """W x + (alpha / rank) · B A x, in every layer that has factors."""
    model = load_language_model(str(folder))
    network = add_lora(model, LoraOptions(rank=rank, alpha=alpha))
    learned(model, network)
    layers = layers_with_factors(network)
    assert layers
    for layer in layers:
        a, b = layer.lora_A["default"].weight, layer.lora_B["default"].weight
        x = torch.randn(5, a.shape[1])
        torch.testing.assert_close(layer(x), layer.base_layer(x) + alpha / rank * (x @ a.T @ b.T))


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_dropout_is_before_the_factors_and_in_training_alone(folder: Path, dropout: float) -> None:
    model = load_language_model(str(folder))
    network = add_lora(model, LoraOptions(rank=2, dropout=dropout))
    torch.testing.assert_close(learned(model, network), logits(model, network))
    layer = layers_with_factors(network)[0]
    x = torch.randn(5, layer.lora_A["default"].weight.shape[1])
    assert torch.equal(layer.eval()(x), layer(x))
    assert torch.equal(layer.train()(x), layer(x)) is (dropout == 0)


def test_factors_are_kept_as_safetensors_and_come_back(folder: Path, tmp_path: Path) -> None:
    model = load_language_model(str(folder))
    network = add_lora(model, LoraOptions(rank=2))
    expected = learned(model, network)
    write_weights(adapter_weights(network), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]
    again = load_language_model(str(folder))
    other = add_lora(again, LoraOptions(rank=2)).eval()
    assert not torch.allclose(logits(again, other), expected)
    restore_adapter(other, read_weights(tmp_path))
    torch.testing.assert_close(logits(again, other), expected)
    larger = add_lora(load_language_model(str(folder)), LoraOptions(rank=3))
    with pytest.raises(ValueError, match="belongs to another language model or another rank"):
        restore_adapter(larger, read_weights(tmp_path))


def test_the_seed_decides_what_is_left_to_chance(folder: Path) -> None:
    found = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        found.append(adapter_weights(add_lora(load_language_model(str(folder)), LoraOptions(rank=2))))
    same, other = (all(torch.equal(found[0][n], each[n]) for n in found[0]) for each in found[1:])
    assert (same, other) == (True, False)


def test_what_is_missing_is_one_line(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CausalLMError, match=r"cannot be loaded .*give a folder, or a name") as caught:
        load_language_model(str(tmp_path))
    assert "\n" not in str(caught.value)
    model = load_language_model(str(folder))
    with pytest.raises(CausalLMError, match="cannot have a LoRA on 'nothing_like_it'"):
        add_lora(model, LoraOptions(targets="nothing_like_it"))
    with pytest.raises(ValueError, match="expected 1 to 4096 for rank, found 0"):
        LoraOptions(rank=0)
    monkeypatch.setitem(sys.modules, "peft", None)
    with (
        pytest.raises(MissingExtraError, match=r"needs peft, .*: pip install 'lodestar-kg\[lora\]'"),
        translate_import_errors("a training"),
    ):
        add_lora(model, LoraOptions())


def test_weights_in_a_pickle_are_refused(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        if path.suffix != ".safetensors":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    torch.save({}, tmp_path / "pytorch_model.bin")
    with pytest.raises(CausalLMError, match="cannot be loaded"):
        load_language_model(str(tmp_path))


def test_a_model_is_at_rest_padded_on_the_right_and_of_the_type_that_is_wanted(folder: Path) -> None:
    model = load_language_model(str(folder))
    assert not model.network.training
    assert {parameter.dtype for parameter in model.network.parameters()} == {torch.float32}
    assert model.tokenizer.pad_token == "<end>"
    short, long = model.tokenizer(["lima", TEXT], padding=True)["attention_mask"]
    assert (short[0], short[-1], set(long)) == (1, 0, {1})
    half = load_language_model(str(folder), dtype=torch.float16)
    assert {parameter.dtype for parameter in half.network.parameters()} == {torch.float16}


def linear(num_in: int, num_out: int) -> nn.Module:
    return nn.Linear(num_in, num_out, bias=False)


def fingerprint_of(network: nn.Module, changed: int | None = None) -> str:
    """Of the network, whose parameter `weight` is changed at a place."""
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
            if changed is not None:
                parameter.view(-1)[changed] = 1.0
    return fingerprint(ModelAndTokenizer("tiny", network, None))


def test_a_fingerprint_is_of_names_shapes_and_sixty_four_values_of_each() -> None:
    plain = fingerprint_of(linear(8, 8))
    assert fingerprint_of(linear(8, 8)) == plain
    assert len({plain, *(fingerprint_of(linear(8, 8), place) for place in range(64))}) == 65
    of_large = [fingerprint_of(linear(16, 8), place) for place in (None, 0, 1, 125, 126, 127)]
    assert [each == of_large[0] for each in of_large] == [True, False, True, True, False, True]
    assert fingerprint_of(linear(4, 16)) != plain
    assert fingerprint_of(nn.Sequential(linear(8, 8))) != plain
    assert fingerprint_of(linear(1, 1), 0) != fingerprint_of(linear(1, 1))
    one, other = nn.Module(), nn.Module()
    for made, names in ((one, "ab"), (other, "ba")):
        for name in names:
            made.register_parameter(name, nn.Parameter(torch.zeros(1)))
    assert fingerprint_of(one) == fingerprint_of(other)
