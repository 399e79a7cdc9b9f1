"""LoRA on a causal language model: what learns, what it computes, and its factors as safetensors."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from lodestar.models.causal_lm import ModelAndTokenizer, add_lora, get_lora_weights, load_language_model
from lodestar.models.kinds import LoraOptions, read_weights, restore_weights, write_weights
from torch import Tensor, nn

from tests.made.tiny_causal_lm import write_tiny_causal_lm

TEXT = "lima is the capital of peru"


@pytest.fixture(scope="module", params=["llama", "gpt2"])
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
    own = get_lora_weights(network)
    assert own
    assert all("lora_" in name for name in own)
    assert not any("lora_" in name for name in frozen)
    assert {min(each.shape) for each in own.values()} == {2}
    network.train()(**model.tokenizer(TEXT, return_tensors="pt", return_token_type_ids=False)).logits.sum().backward()
    with_gradient = {name for name, parameter in network.named_parameters() if parameter.grad is not None}
    assert with_gradient == set(own)


def test_factors_are_kept_as_safetensors_and_come_back(folder: Path, tmp_path: Path) -> None:
    model = load_language_model(str(folder))
    network = add_lora(model, LoraOptions(rank=2))
    expected = learned(model, network)
    write_weights(get_lora_weights(network), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]
    again = load_language_model(str(folder))
    other = add_lora(again, LoraOptions(rank=2)).eval()
    assert not torch.allclose(logits(again, other), expected)
    restore_weights(get_lora_weights(other), read_weights(tmp_path))
    torch.testing.assert_close(logits(again, other), expected)
    larger = add_lora(load_language_model(str(folder)), LoraOptions(rank=3))
    with pytest.raises(ValueError, match="belong to another network"):
        restore_weights(get_lora_weights(larger), read_weights(tmp_path))
