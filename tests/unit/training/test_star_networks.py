"""Both networks: what they read, the formula they compute, that all of them learns, and what batching may not change."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from lodestar.models.star import SPECIAL_TOKENS
from lodestar.models.star import network as star
from lodestar.models.star.network import CachedTokenizer, CrossAttentiveScorer, DualEncoder
from lodestar.models.star.training import make_dual_batch
from lodestar.models.text import verbalise_directed_hop
from lodestar.models.text.bert import (
    Bert,
    compute_hidden_states,
    open_pretrained,
    open_stored_backbone,
    pad_token_ids,
    write_backbone_description,
)
from lodestar.models.text.encoders import EncoderUnavailableError
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, normalize

from tests.made.mined_examples import example_set, tiny_encoder
from tests.made.tiny_checkpoint import tiny_backbone

QUESTION, PATH, END = SPECIAL_TOKENS


def learned(network: nn.Module) -> Any:
    """Give every weight some other value: layers that begin as zero hide what comes before them."""
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return network.eval()


@pytest.fixture(scope="module")
def texts() -> CachedTokenizer:
    return CachedTokenizer(tiny_backbone().tokenizer)


@pytest.fixture(scope="module")
def dual() -> DualEncoder:
    return learned(DualEncoder(tiny_backbone()))


@pytest.fixture(scope="module")
def cross() -> CrossAttentiveScorer:
    return learned(CrossAttentiveScorer(tiny_backbone(1), key_dimension=8))


def test_the_encoder_that_scores_is_the_one_that_was_trained(tmp_path: Path) -> None:
    trained = tiny_backbone(3)
    trained.model.save_pretrained(tmp_path)
    write_backbone_description(trained, tmp_path)
    scoring = open_stored_backbone("tiny", tmp_path).model
    assert isinstance(scoring, Bert)
    scoring.load_state_dict(trained.model.state_dict())
    ids = torch.randint(0, 20, (4, 11), generator=torch.Generator().manual_seed(0))
    mask = torch.arange(11)[None, :] < torch.tensor([[11], [1], [7], [10]])
    with torch.inference_mode():
        for is_low in (False, True):
            with torch.autocast("cpu", torch.bfloat16, enabled=is_low):
                wanted = compute_hidden_states(trained.model, ids, mask)
                torch.testing.assert_close(compute_hidden_states(scoring, ids, mask)[mask], wanted[mask])


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_code_that_an_encoder_brings_is_never_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is anybody asked for leave, who would say yes."""
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    write_backbone_description(tiny_backbone(), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps(config | {"hidden_act": "relu"}), encoding="utf-8")
    open_stored_backbone("tiny", tmp_path)
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n", encoding="utf-8")
    said = json.loads((tmp_path / name).read_text(encoding="utf-8"))
    said |= {"model_type": "own", "tokenizer_class": "Own"}
    said["auto_map"] = {"AutoConfig": "own.Own", "AutoTokenizer": ["own.Own", None]}
    (tmp_path / name).write_text(json.dumps(said), encoding="utf-8")
    with suppress(ValueError):
        open_stored_backbone("tiny", tmp_path)
    assert not (tmp_path / "ran").exists()


def test_an_encoder_whose_weights_are_a_pickle_alone_is_not_loaded(tmp_path: Path) -> None:
    folder = tiny_encoder(tmp_path / "tiny")
    torch.save(open_pretrained(str(folder)).model.state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(EncoderUnavailableError, match="could not be loaded"):
        open_pretrained(str(folder))


def test_a_pair_is_laid_out_as_the_paper_says(texts: CachedTokenizer) -> None:
    first = texts.pair("what is the capital", "peru, capital")
    second = texts.pair("the", "lima")
    assert texts.tokenizer.convert_ids_to_tokens(list(first[0])) == [
        *("[CLS]", QUESTION, "what", "is", "the", "capital", "[SEP]"),
        *(PATH, "peru", ",", "capital", END, "[SEP]"),
    ]
    assert (first[1], second[1]) == (7, 4)
    ids, mask = pad_token_ids([first[0], second[0]])
    assert mask.dtype == torch.bool
    assert mask.sum(dim=1).tolist() == [13, 8]
    assert not ids[1, 8:].any()


def test_the_dual_encoder_against_its_formula(dual: DualEncoder, texts: CachedTokenizer) -> None:
    def unit(text: str) -> Tensor:
        hidden = dual.encoder(input_ids=torch.tensor([texts.encode_single(text)])).last_hidden_state[0]
        return normalize(hidden.mean(dim=0), dim=0)

    def mlp(network: nn.Module, inputs: Tensor) -> Any:
        return network[2](torch.nn.functional.gelu(network[0](inputs)))

    examples = example_set(0, 1)
    asked = examples.examples[0]
    with torch.inference_mode():
        stop, extend = dual(make_dual_batch(texts, examples.table, [asked], [asked.reachable]))
        question = unit(asked.masked[0])
        for row, path in enumerate(asked.reachable[:, 0].tolist()):
            first, *second = [unit(verbalise_directed_hop(hop)) for hop in examples.table.path_hops(path)]
            state = first
            for hop in second:
                change = mlp(dual.compose, torch.cat([state, hop, state * hop]))
                state = normalize(normalize(state + hop, dim=0) + change, dim=0)
            cost = len(second) * (dual.hop_cost.bias[0] + dual.hop_cost.weight[0] @ question)
            encode_prefixes = state + mlp(dual.promise, state)
            scale = math.exp(dual.log_scale)
            assert float(stop[row]) == pytest.approx(
                float(scale * cosine_similarity(question, state, 0) + cost), abs=1e-4
            )
            expected = scale * cosine_similarity(question, encode_prefixes, 0) + cost
            assert float(extend[row]) == pytest.approx(float(expected), abs=1e-4)


def test_the_cross_attentive_scorer_against_its_formula(cross: CrossAttentiveScorer, texts: CachedTokenizer) -> None:
    tokens, at = texts.pair("what is the capital", "peru, capital")
    with torch.inference_mode():
        logits = cross([(tokens, at)])
        hidden = cross.encoder(input_ids=torch.tensor([tokens])).last_hidden_state[0]

        def read(query: Tensor, states: Tensor) -> Tensor:
            logits = (query @ cross.query_map.weight.T) @ (states @ cross.key_map.weight.T).T / 8**0.5
            return torch.softmax(logits, 0) @ states

        from_question, from_path = read(hidden[1], hidden[2:6]), read(hidden[at], hidden[at + 1 : len(tokens) - 1])
        joined = torch.cat([hidden[0], hidden[1] + from_question, hidden[at] + from_path])
        first, last = cross.feed_forward[1], cross.feed_forward[4]
        expected = last(torch.nn.functional.gelu(first(joined)))
    assert float(logits) == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.parametrize(("device", "learns"), [("cuda", False), ("cuda", True), ("cpu", False)])
def test_on_cuda_as_many_pairs_are_scored_together_as_fit(
    cross: CrossAttentiveScorer, texts: CachedTokenizer, device: str, learns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 200 pairs 32 and 64 fit together, the other 104 do not."""
    pairs, read = [texts.pair("the", "peru " * (1 + number % 7)) for number in range(200)], []

    def move(tensors: list[Tensor], _: torch.device) -> list[Tensor]:
        if len(tensors[0]) > 100:
            raise torch.OutOfMemoryError("no room")
        read.append(len(tensors[0]))
        return tensors

    expected = cross(pairs)
    monkeypatch.setattr(star, "get_network_device", lambda _: torch.device(device))
    monkeypatch.setattr(star, "move_batch", move)
    with torch.set_grad_enabled(learns):
        torch.testing.assert_close(cross(pairs), expected, check_device=False)
    assert read == ([32, 64, 52, 52] if (device, learns) == ("cuda", False) else [32] * 6 + [8])
