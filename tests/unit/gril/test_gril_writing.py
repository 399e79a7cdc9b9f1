"""The reader that writes: a causal language model with a LoRA, which learns with the retriever."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from lodestar.engine.context import CallCosts
from lodestar.models.gril import GrowOptions, JointOptions
from lodestar.models.gril.network import GraphRetriever, GraphTokenNetwork
from lodestar.models.gril.readers import GenerativeReader, ReaderPassage, make_reader
from lodestar.models.gril.training import EncodedSubgraphs, JointNetwork
from lodestar.models.kinds import LoraOptions

from tests.fakes.letter_encoder import LetterEncoder
from tests.made.reg_graphs import question_graphs
from tests.made.tiny_causal_lm import write_tiny_causal_lm

CPU = torch.device("cpu")
LORA = LoraOptions(rank=2, alpha=4, dropout=0.0)


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def language_model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_causal_lm(tmp_path_factory.mktemp("lm"), kind=request.param, num_layers=2))


def options(language_model: str, **changes: object) -> JointOptions:
    given = JointOptions(reader=language_model, reads="writing", inner=12, prior_weight=0.0, max_tokens=160, lora=LORA)
    return replace(given, **changes)


def network_of(joint: JointOptions) -> JointNetwork:
    torch.manual_seed(0)
    reader = make_reader(joint)
    retriever = GraphRetriever(26, 8, GrowOptions(num_layers=2))
    return JointNetwork(retriever, GraphTokenNetwork(8, joint.inner, reader.width), reader, joint).eval()


def encoded() -> EncodedSubgraphs:
    return EncodedSubgraphs(question_graphs(0, 3), LetterEncoder().encode, CPU)


def test_the_loss_reaches_the_retriever_the_bridge_and_the_factors_and_nothing_of_the_model(
    language_model: str,
) -> None:
    network = network_of(options(language_model))
    network.losses(encoded(), [0, 1, 2], [4, 4, 4])["reading"].backward()
    found = {name for name, p in network.named_parameters() if p.grad is not None and bool(p.grad.any())}
    assert {"retriever.score_out.weight", "retriever.score_question.weight", "bridge.out.weight"} <= found
    of_reader = {name for name in found if name.startswith("reader.")}
    assert of_reader
    assert all("lora_" in name for name in (*of_reader, *network.trained_weights()) if name.startswith("reader."))


def test_the_loss_is_the_mean_of_each_questions_answer_by_token(language_model: str) -> None:
    """Against transformers' own loss, of one question at a time, with the embeddings written down here."""
    network = network_of(options(language_model))
    sets = encoded()
    with torch.no_grad():
        given = network.give(sets, [0, 1, 2], [4, 4, 4])
        reader = network.reader
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


def test_a_reply_is_of_the_likeliest_token_each_time_and_each_is_a_batch(
    language_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lodestar.models.gril.readers.MAX_WRITTEN", 6)
    reader = make_reader(options(language_model))
    assert isinstance(reader, GenerativeReader)
    reader.eval()
    passages = [ReaderPassage(f"what is {word}", ("Peru",), (), ()) for word in ("it", "that", "this", "there")]
    expected, num_written = [], 0
    for passage in passages:
        written, logs = list[int](), list[float]()
        while len(written) < 6 and 0 not in written:  # the end
            words = reader._embeddings(torch.tensor([*reader._prompt(passage), *written]))
            with torch.no_grad():
                best = reader.language_model(inputs_embeds=words[None]).logits[0, -1].log_softmax(-1).max(-1)
            written.append(int(best.indices))
            logs.append(float(best.values))
        num_written += len(written)
        expected.append((reader._tokenizer.decode(written, skip_special_tokens=True), math.exp(sum(logs) / len(logs))))
    costs = CallCosts()
    with costs.stage("read"):
        replies = reader.replies(passages, None)
    assert [each.batches for each in costs.costs] == [num_written]
    likely = [probability for _, probability in expected]
    assert [reply.probability for reply in replies] == pytest.approx(likely, rel=1e-4)
    assert all(
        name in " ".join(text.split())
        for reply, (text, _) in zip(replies, expected, strict=True)
        for name in reply.names
    )
