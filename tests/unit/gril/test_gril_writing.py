"""The reader that writes: a causal language model with a LoRA, which learns with the retriever."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from lodestar.models.gril import KIND, GrilConfig, GrilDescription, GrowOptions, JointOptions
from lodestar.models.gril.network import Bridge, GraphRetriever
from lodestar.models.gril.readers import (
    GenerativeReader,
    Passage,
    ReaderModel,
    new_reader,
)
from lodestar.models.gril.training import EncodedSubgraphs, GrilCheckpoint, JointNetwork
from lodestar.models.kinds import CheckpointOpenOptions, LoraOptions, TrainingOptions
from lodestar.models.text.vectors import TextVectors
from safetensors.torch import load_file

from tests.fakes.letter_encoder import LetterEncoder
from tests.made.reg_graphs import question_graphs
from tests.made.tiny_causal_lm import write_tiny_causal_lm
from tests.made.trainings import StoppedError, stop_at, train_sets

CPU = torch.device("cpu")
LORA = LoraOptions(rank=2, alpha=4, dropout=0.0)


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def language_model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_causal_lm(tmp_path_factory.mktemp("lm"), kind=request.param, num_layers=2))


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_causal_lm(tmp_path_factory.mktemp("lm"), num_layers=2))


def options(language_model: str, **changes: object) -> JointOptions:
    given = JointOptions(reader=language_model, reads="writing", inner=12, prior_weight=0.0, max_tokens=160, lora=LORA)
    return replace(given, **changes)


def network_of(joint: JointOptions) -> JointNetwork:
    torch.manual_seed(0)
    reader = new_reader(joint)
    retriever = GraphRetriever(26, 8, GrowOptions(num_layers=2))
    return JointNetwork(retriever, Bridge(8, joint.inner, reader.width), reader, joint).eval()


def encoded() -> EncodedSubgraphs:
    return EncodedSubgraphs(question_graphs(0, 3), LetterEncoder().encode, CPU)


def reached(network: torch.nn.Module) -> set[str]:
    return {name for name, p in network.named_parameters() if p.grad is not None and bool(p.grad.any())}


def test_the_loss_reaches_the_retriever_the_bridge_and_the_factors_and_nothing_of_the_model(
    language_model: str,
) -> None:
    network = network_of(options(language_model))
    network.losses(encoded(), [0, 1, 2], [4, 4, 4])["reading"].backward()
    found = reached(network)
    assert {"retriever.score_out.weight", "retriever.score_question.weight", "bridge.out.weight"} <= found
    of_reader = {name for name in found if name.startswith("reader.")}
    assert of_reader
    assert all("lora_" in name for name in of_reader)
    assert all("lora_" in name for name in network.trained_weights() if name.startswith("reader."))


def test_the_loss_is_the_mean_of_each_questions_answer_by_token(llama: str) -> None:
    """Against transformers' own loss, of one question at a time, with the embeddings written down here."""
    network = network_of(options(llama))
    sets = encoded()
    with torch.no_grad():
        given = network.give(sets, [0, 1, 2], [4, 4, 4])
        reader = network.reader
        assert isinstance(reader, GenerativeReader)
        assert given.tokens is not None
        losses = []
        for each, token in zip(given.questions, given.tokens, strict=True):
            prompt = reader._prompt(each.passage)
            answer = [*reader._ids(" | ".join(each.answers)), reader._tokenizer.eos_token_id]
            words = reader._embeddings(torch.tensor([*prompt, *answer]))
            labels = torch.tensor([[-100] * (1 + len(prompt)) + answer])
            whole = torch.cat([token[None], words])[None]
            losses.append(reader.language_model(inputs_embeds=whole, labels=labels).loss)
        questions = given.questions
        silent = replace(questions[0], answers=())
        tokens = given.tokens[[0, 0, 1, 2]]
        with_silent = reader.loss([silent, *questions], tokens)
        assert reader.loss([silent], tokens[:1]).item() == 0
    torch.testing.assert_close(reader.loss(questions, given.tokens), torch.stack(losses).mean())
    torch.testing.assert_close(with_silent, torch.stack(losses).mean())


def test_a_reply_is_of_the_likeliest_token_each_time(llama: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lodestar.models.gril.readers.MAX_WRITTEN", 6)
    reader = new_reader(options(llama))
    assert isinstance(reader, GenerativeReader)
    reader.eval()
    passages = [Passage(f"what is {word}", ("Peru",), (), ()) for word in ("it", "that", "this", "there")]
    expected = []
    for passage in passages:
        written, logs = list[int](), list[float]()
        while len(written) < 6 and 0 not in written:  # the end
            words = reader._embeddings(torch.tensor([*reader._prompt(passage), *written]))
            with torch.no_grad():
                best = reader.language_model(inputs_embeds=words[None]).logits[0, -1].log_softmax(-1).max(-1)
            written.append(int(best.indices))
            logs.append(float(best.values))
        expected.append((reader._tokenizer.decode(written, skip_special_tokens=True), math.exp(sum(logs) / len(logs))))
    replies = reader.replies(passages, None)
    likely = [probability for _, probability in expected]
    assert [reply.probability for reply in replies] == pytest.approx(likely, rel=1e-4)
    assert all(
        name in " ".join(text.split())
        for reply, (text, _) in zip(replies, expected, strict=True)
        for name in reply.names
    )


def test_a_prompt_of_a_chat_model_is_its_users_turn(tmp_path: Path) -> None:
    """What its template writes is all that it begins with: no special token is put before it."""
    reader = new_reader(options(str(write_tiny_causal_lm(tmp_path, num_layers=1, is_chat=True, begins=True))))
    assert isinstance(reader, GenerativeReader)
    text = reader._tokenizer.decode(reader._prompt(Passage("what", ("Peru", "Sol"), ((0, "money", 1),), ())))
    assert text.startswith("<user>Facts:\nPeru \u2192 money \u2192 Sol\n\nQuestion: what\nAnswer with names")
    assert text.endswith("separated by |<end><assistant>")


def config(language_model: str, **joint: object) -> GrilConfig:
    few = TrainingOptions(epochs=2, learning_rate=1e-2, head_learning_rate=0.01, patience=99, accumulate=2)
    return GrilConfig(
        hidden=8,
        batch_size=2,
        grow=GrowOptions(num_layers=2),
        training=few,
        hop_training=few,
        joint=options(language_model, **joint),
        joint_training=replace(few, precision="bfloat16"),
    )


def train(folder: Path, chosen: GrilConfig, **more: Any) -> GrilDescription:
    encode = LetterEncoder().encode
    sets = [question_graphs(0, 6)], [question_graphs(9, 12)]
    return train_sets(KIND, chosen, *sets, folder, encode=encode, **more)


def opened_reader(folder: Path) -> ReaderModel:
    vectors = TextVectors(LetterEncoder())
    return GrilCheckpoint(folder, CheckpointOpenOptions("cpu", torch.float32, lambda _: vectors)).reader


@pytest.mark.long
def test_in_bf16_with_accumulation_it_is_taken_up_and_at_work(llama: str, tmp_path: Path) -> None:
    whole, halted = tmp_path / "whole", tmp_path / "halted"
    description = train(whole, config(llama))
    with pytest.raises(StoppedError):
        train(halted, config(llama), on_step=stop_at("reader", 1, 1))
    train(halted, config(llama))
    for part in ("retriever", "hops", "bridge", "reader"):
        weights = [folder / part / "model.safetensors" for folder in (whole, halted)]
        assert weights[0].read_bytes() == weights[1].read_bytes(), part
    assert (whole / "reader/model.safetensors").stat().st_size < 40_000  # the factors alone

    assert description.reader_width
    model = opened_reader(whole)
    reader = model._reader
    assert isinstance(reader, GenerativeReader)
    written = load_file(whole / "reader/model.safetensors")
    assert written.keys() >= reader.trained_weights().keys()
    assert all(torch.equal(each, written[name]) for name, each in reader.trained_weights().items())
    network = network_of(config(llama).joint)
    with torch.no_grad():
        asked = network.give(encoded(), [0, 1], [4, 4]).questions
    tokens = [[0.1] * reader.width, [0.2] * reader.width]
    replies = model.write([each.passage for each in asked], tokens)
    assert [model.write([each.passage], [tokens[place]])[0] for place, each in enumerate(asked)] == replies
    assert all(0 <= reply.probability <= 1 for reply in replies)
    assert model.write([], []) == []
