"""A checkpoint may come from anywhere: what it names is loaded only where the settings know it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lodestar.engine.errors import ModelError
from lodestar.engine.resources import EngineResources
from lodestar.engine.settings import Connection, Settings
from lodestar.models.causal_lm import CausalLMError, load_language_model
from lodestar.models.star import StarConfig, StarDescription
from lodestar.models.text.encoders import SentenceEncoder

SAID = StarDescription(
    calibration=(1, 0), config=StarConfig(mix=0, encoder="all-MiniLM-L6-v2"), train=(), dev=(), figures={}, mix=0.0
)


def resources(**settings: str) -> EngineResources:
    return EngineResources(Settings(**settings), Connection("bolt://127.0.0.1:1"))


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the encoders that were looked up."""
    names: list[str] = []

    def seen(self: SentenceEncoder, name: str, **_: object) -> None:
        names.append(name)

    monkeypatch.setattr(SentenceEncoder, "__init__", seen)
    return names


@pytest.mark.parametrize("name", ["stranger/encoder", "/tmp/another", "", "x\n\x1b[31my"])
def test_an_encoder_that_no_setting_names_is_not_loaded(name: str, loaded: list[str]) -> None:
    with pytest.raises(ModelError, match="which no setting names") as caught:
        resources(encoders="other/one").vectors_for(replace(SAID, config=replace(SAID.config, encoder=name)))
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert not loaded


def test_other_weights_of_the_same_name_are_an_error() -> None:
    digest = SentenceEncoder("all-MiniLM-L6-v2").weights_digest
    assert digest
    resources().vectors_for(replace(SAID, encoder_digest=digest))
    with pytest.raises(ModelError, match="trained with other weights of the encoder 'all-MiniLM-L6-v2'"):
        resources().vectors_for(replace(SAID, encoder_digest="0" * 32))


def test_a_language_model_that_only_a_checkpoint_names_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("the network was asked"))
    with pytest.raises(CausalLMError, match="cannot be loaded"):
        load_language_model("stranger/model", fetch=False)
