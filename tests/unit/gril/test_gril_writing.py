"""The reader that writes: a causal language model with a LoRA, which learns with the retriever."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lodestar.models.gril.config import GrilConfig, GrilDescription, GrilReaderDescription, GrowOptions, JointOptions
from lodestar.models.gril.kind import KIND
from lodestar.models.gril.network import EncodedSubgraphs, GraphRetriever
from lodestar.models.gril.passages import Passage, ReaderQuestion, ReaderTarget
from lodestar.models.gril.reader_training import JointNetwork
from lodestar.models.gril.readers import ReaderModel, new_reader, open_reader
from lodestar.models.gril.scoring import Bridge
from lodestar.models.gril.training import read_reader
from lodestar.models.gril.writing import GenerativeReader, WrittenReply
from lodestar.models.language.causal_lm import CausalLMError
from lodestar.models.training.checkpoint import write_weights
from lodestar.models.training.kind import BadCheckpointError, LoraOptions, TrainingOptions
from lodestar.models.training.trainer import TrainingCallbacks
from safetensors.torch import load_file

from tests.fakes.letter_encoder import LetterEncoder
from tests.made.reg_graphs import question_graphs
from tests.made.tiny_causal_lm import write_tiny_causal_lm
from tests.made.trainings import labels_of, train_sets

CPU = torch.device("cpu")
LORA = LoraOptions(rank=2, alpha=4, dropout=0.0)


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def language_model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_causal_lm(tmp_path_factory.mktemp("lm"), kind=request.param, num_layers=2))


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_causal_lm(tmp_path_factory.mktemp("lm"), num_layers=2))


def options(language_model: str, **changes: object) -> JointOptions:
    given = JointOptions(
        reader=language_model, reads="writing", inner=12, prior_weight=0.0, max_tokens=160, num_triples=4, lora=LORA
    )
    return replace(given, **changes)  # type: ignore[arg-type]


def network_of(joint: JointOptions, wanted: dict[str, ReaderTarget] | None = None) -> JointNetwork:
    torch.manual_seed(0)
    reader = new_reader(joint)
    retriever = GraphRetriever(26, 8, "mlp", GrowOptions(num_layers=2))
    return JointNetwork(retriever, Bridge(8, joint.inner, reader.width), reader, joint, wanted).eval()


def test_of_the_model_the_factors_alone_are_given_to_learn(llama: str) -> None:
    reader = new_reader(options(llama))
    learned = reader.pretrained_parameters()
    assert len(learned) == len(reader.trained_weights())
    assert all(parameter.requires_grad for parameter in learned)


def encoded() -> EncodedSubgraphs:
    return EncodedSubgraphs(question_graphs(0, 3), LetterEncoder().encode, CPU)


def reached(network: torch.nn.Module) -> set[str]:
    return {name for name, p in network.named_parameters() if p.grad is not None and bool(p.grad.any())}


def test_the_loss_reaches_the_retriever_the_bridge_and_the_factors_and_nothing_of_the_model(
    language_model: str,
) -> None:
    network = network_of(options(language_model))
    network(encoded(), [0, 1, 2], [4, 4, 4]).losses["reading"].backward()
    found = reached(network)
    assert {"retriever.score_out.weight", "retriever.score_question.weight", "bridge.out.weight"} <= found
    of_reader = {name for name in found if name.startswith("reader.")}
    assert of_reader
    assert all("lora_" in name for name in of_reader)
    assert all("lora_" in name for name in network.trained_weights() if name.startswith("reader."))


def test_separate_without_the_token_the_factors_alone_learn(llama: str) -> None:
    network = network_of(options(llama, token=False))
    network(encoded(), [0, 1], [4, 4]).losses["reading"].backward()
    assert {name.split(".")[0] for name in reached(network)} == {"reader"}


def test_the_loss_is_the_mean_of_each_questions_answer_by_token(llama: str) -> None:
    """Against transformers' own loss, of one question at a time, with the embeddings written down here."""
    network = network_of(options(llama))
    sets = encoded()
    with torch.no_grad():
        read = network(sets, [0, 1, 2], [4, 4, 4])
        reader = network.reader
        assert isinstance(reader, GenerativeReader)
        assert read.tokens is not None
        losses = []
        for each, token in zip(read.reader_questions, read.tokens, strict=True):
            prompt = reader._prompt(each.passage)
            answer = [*reader._ids(" | ".join(each.wanted.answers)), reader._tokenizer.eos_token_id]
            words = reader._embeddings(torch.tensor([*prompt, *answer]))
            labels = torch.tensor([[-100] * (1 + len(prompt)) + answer])
            whole = torch.cat([token[None], words])[None]
            losses.append(reader.language_model(inputs_embeds=whole, labels=labels).loss)
        questions = read.reader_questions
        silent = replace(questions[0], wanted=ReaderTarget(()))
        tokens = read.tokens[[0, 0, 1, 2]]
        with_silent = reader.loss([silent, *questions], tokens)
        assert reader.loss([silent], tokens[:1]).item() == 0
    torch.testing.assert_close(read.losses["reading"], torch.stack(losses).mean())
    torch.testing.assert_close(with_silent, torch.stack(losses).mean())


def test_what_is_read_begins_with_what_a_text_begins_with_and_the_token(llama: str) -> None:
    reader = new_reader(options(llama))
    assert isinstance(reader, GenerativeReader)
    token = torch.full((1, reader.width), 7.0)
    embedded, seen = reader._embed([[5, 6, 9]], [[]], token)
    assert torch.equal(embedded[0, 0], token[0])
    assert seen.dtype == torch.int64
    reader._tokenizer.bos_token = "<user>"
    begin = reader._tokenizer.bos_token_id
    embedded, seen = reader._embed([[begin, 6, 9]], [[]], token)
    assert torch.equal(embedded[0, 1], token[0])
    assert torch.equal(embedded[0, 0], reader._embeddings(torch.tensor(begin)))
    assert seen.tolist() == [[1, 1, 1, 1]]


def test_of_several_prompts_the_token_follows_the_beginning_where_all_have_it(llama: str) -> None:
    reader = new_reader(options(llama))
    assert isinstance(reader, GenerativeReader)
    reader._tokenizer.bos_token = "<user>"
    begin = reader._tokenizer.bos_token_id
    tokens = torch.full((2, reader.width), 7.0)
    mixed, _ = reader._embed([[begin, 6], [5, 6]], [[], []], tokens)
    assert torch.equal(mixed[:, 0], tokens)
    both, _ = reader._embed([[begin, 6], [begin, 5]], [[], []], tokens)
    assert torch.equal(both[:, 1], tokens)


def test_a_reply_is_to_the_passage_and_its_own_token(llama: str) -> None:
    reader = new_reader(options(llama))
    assert isinstance(reader, GenerativeReader)
    reader.eval()
    passage = Passage("what", ("Peru", "Lima"), ((0, "capital", 1),), (1,))
    tokens = torch.stack([torch.zeros(reader.width), torch.linspace(-3, 3, reader.width)])
    replies = [*reader.replies([passage], None), *reader.replies([passage, passage], tokens)]
    assert len({round(reply.probability, 6) for reply in replies}) == 3
    assert reader.replies([passage], None, torch.bfloat16) != replies[:1]


def test_a_reply_is_of_the_likeliest_token_each_time(llama: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lodestar.models.gril.writing.MAX_WRITTEN", 6)
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


@pytest.mark.parametrize("own", [{"do_sample": True}, {"num_beams": 4}, {"eos_token_id": list(range(40, 400))}])
def test_a_reply_is_greedy_whatever_the_model_s_own_settings_are(llama: str, own: dict[str, object]) -> None:
    reader = new_reader(options(llama))
    assert isinstance(reader, GenerativeReader)
    reader.eval()
    passages = [Passage(f"what is {word}", ("Peru",), (), ()) for word in ("it", "that", "this", "there")]
    greedy = reader.replies(passages, None)
    reader.language_model.generation_config.update(**own)
    assert reader.replies(passages, None) == greedy


def test_a_written_name_is_right_whatever_its_case_and_the_first_is_the_best(
    llama: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = new_reader(options(llama))
    assert isinstance(reader, GenerativeReader)
    monkeypatch.setattr(reader, "replies", lambda *_: [WrittenReply(("LIMA", "Sol"), 0.5), WrittenReply((), 0.1)])
    passage = Passage("what", ("Peru",), (), ())
    asked = [ReaderQuestion(passage, (), 1, ReaderTarget(names)) for names in (("Lima", "lima", "Cusco"), ("Sol",))]
    some, none = reader.outputs(asked, None)
    assert (some.is_right.tolist(), some.num_answers) == ([True, False], 2)
    assert some.scores.tolist() == pytest.approx([1.0, 0.9])
    assert some.scores.dtype == np.float32
    assert (len(none.scores), none.num_answers) == (0, 1)
    assert none.is_right.dtype == np.bool_


def test_a_reply_that_does_not_end_has_128_tokens(llama: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = new_reader(options(llama))
    assert isinstance(reader, GenerativeReader)
    monkeypatch.setattr(GenerativeReader, "_end", reader.language_model.config.vocab_size - 1)
    written: list[int] = []

    def decode(ids: torch.Tensor, **_: object) -> str:
        written.append(len(ids))
        return ""

    monkeypatch.setattr(reader._tokenizer, "decode", decode)
    reader.eval().replies([Passage("what", ("Peru",), (), ())], None)
    assert written == [128]


def test_triples_are_read_whole_as_many_as_fit(llama: str) -> None:
    network = network_of(options(llama))
    with torch.no_grad():
        asked = network(encoded(), [0], [4]).reader_questions[0]
    texts = []
    for max_tokens, has_text in ((400, True), (100, True), (400, False)):
        reader = new_reader(options(llama, max_tokens=max_tokens, text=has_text))
        assert isinstance(reader, GenerativeReader)
        ids = reader._prompt(asked.passage)
        assert len(ids) <= max_tokens
        texts.append(reader._tokenizer.decode(ids))
    assert texts[0].count("\u2192") == 2 * len(asked.passage.triples)
    assert texts[0].count("\u2192") > texts[1].count("\u2192")
    assert texts[2].count("\u2192") == 0
    assert all(asked.passage.question in text for text in texts)


def test_a_prompt_may_have_as_many_tokens_as_are_allowed_and_what_has_no_name_is_a_question_mark(llama: str) -> None:
    passage = Passage("what", ("Peru", None, "Sol"), ((0, "of", 1), (1, "used", 2)), ())
    reader = new_reader(options(llama, max_tokens=400))
    assert isinstance(reader, GenerativeReader)
    whole = reader._prompt(passage)
    text = reader._tokenizer.decode(whole)
    assert "Peru \u2192 of \u2192 ?\n? \u2192 used \u2192 Sol\n" in text
    reader.max_tokens = len(whole)
    assert reader._prompt(passage) == whole
    reader.max_tokens = len(whole) - 1
    assert reader._tokenizer.decode(reader._prompt(passage)) == text.replace("\n? \u2192 used \u2192 Sol", "")


def test_a_prompt_of_a_chat_model_is_its_users_turn(tmp_path: Path) -> None:
    """What its template writes is all that it begins with: no special token is put before it."""
    reader = new_reader(options(str(write_tiny_causal_lm(tmp_path, num_layers=1, is_chat=True, begins=True))))
    assert isinstance(reader, GenerativeReader)
    text = reader._tokenizer.decode(reader._prompt(Passage("what", ("Peru", "Sol"), ((0, "money", 1),), ())))
    assert text.startswith("<user>Facts:\nPeru \u2192 money \u2192 Sol\n\nQuestion: what\nAnswer with names")
    assert text.endswith("separated by |<end><assistant>")


def test_an_answer_is_learned_in_the_precision_that_is_asked_for(llama: str) -> None:
    reader = new_reader(options(llama))
    assert isinstance(reader, GenerativeReader)
    asked = [ReaderQuestion(Passage("what", ("Peru",), (), ()), (), 1, ReaderTarget(("Sol",)))]
    with torch.no_grad():
        losses = {reader.eval().loss(asked, None, each).item() for each in (None, torch.bfloat16, torch.float16)}
    assert len(losses) == 3


def test_every_token_of_an_answer_counts(llama: str) -> None:
    """Against transformers' own loss, whose number for what does not count is -100; token 100 is the end of an ã."""
    reader = new_reader(options(llama))
    assert isinstance(reader, GenerativeReader)
    passage = Passage("what", ("Peru",), (), ())
    prompt, answer = reader._prompt(passage), [*reader._ids("Sã"), reader._tokenizer.eos_token_id]
    assert 100 in answer
    words = reader._embeddings(torch.tensor([[*prompt, *answer]]))
    with torch.no_grad():
        found = reader.loss([ReaderQuestion(passage, (), 1, ReaderTarget(("Sã",)))], None)
        labels = torch.tensor([[-100] * len(prompt) + answer])
        torch.testing.assert_close(found, reader.language_model(inputs_embeds=words, labels=labels).loss)


@pytest.mark.parametrize("token", [True, False])
def test_recomputing_gives_the_same_gradients(llama: str, token: bool) -> None:
    found = []
    for checkpointing in (False, True):
        network = network_of(options(llama, checkpointing=checkpointing, token=token)).train()
        assert isinstance(network.reader, GenerativeReader)
        assert network.reader.language_model.is_gradient_checkpointing is checkpointing
        torch.manual_seed(1)
        network(encoded(), [0, 1], [4, 4]).losses["reading"].backward()
        found.append({name: p.grad for name, p in network.named_parameters() if p.grad is not None})
    assert found[0].keys() == found[1].keys()
    for name, gradient in found[0].items():
        torch.testing.assert_close(gradient, found[1][name])


def config(language_model: str, **joint: object) -> GrilConfig:
    few = TrainingOptions(epochs=2, learning_rate=1e-2, head_learning_rate=0.01, patience=99, accumulate=2)
    return GrilConfig(
        hidden=8,
        batch_size=2,
        grow=GrowOptions(num_layers=2),
        training=few,
        hop_training=few,
        joint=options(language_model, **joint),
        joint_training=replace(few, precision="bf16"),
    )


def train(
    folder: Path,
    chosen: GrilConfig,
    watcher: TrainingCallbacks | None = None,
    wanted: dict[str, ReaderTarget] | None = None,
) -> GrilDescription:
    encode = LetterEncoder().encode
    sets = [question_graphs(0, 6)], [question_graphs(9, 12)]
    return train_sets(KIND, chosen, *sets, folder, encode=encode, beside=labels_of(wanted or {}), watcher=watcher)


def test_in_bf16_with_accumulation_it_is_taken_up_and_at_work(llama: str, tmp_path: Path) -> None:
    class StoppedError(Exception):
        pass

    def stop(name: str, epoch: int, done: int, _total: int, _loss: float) -> None:
        if (name, epoch, done) == ("reader", 1, 1):
            raise StoppedError

    whole, halted = tmp_path / "whole", tmp_path / "halted"
    description = train(whole, config(llama))
    with pytest.raises(StoppedError):
        train(halted, config(llama), TrainingCallbacks(step=stop))
    train(halted, config(llama))
    for part in ("retriever", "hops", "bridge", "reader"):
        weights = [folder / part / "model.safetensors" for folder in (whole, halted)]
        assert weights[0].read_bytes() == weights[1].read_bytes(), part
    assert (whole / "reader/model.safetensors").stat().st_size < 40_000  # the factors alone

    assert description.reader is not None
    assert (description.reader.reads, description.reader.lora) == ("writing", LORA)
    _, reader = read_reader(whole)
    assert isinstance(reader, GenerativeReader)
    written = load_file(whole / "reader/model.safetensors")
    assert written.keys() >= reader.trained_weights().keys()
    assert all(torch.equal(each, written[name]) for name, each in reader.trained_weights().items())
    model = ReaderModel(description, reader)
    network = network_of(config(llama).joint)
    with torch.no_grad():
        asked = network(encoded(), [0, 1], [4, 4]).reader_questions
    tokens = [[0.1] * reader.width, [0.2] * reader.width]
    replies = model.write([each.passage for each in asked], tokens)
    assert [model.write([each.passage], [tokens[place]])[0] for place, each in enumerate(asked)] == replies
    assert all(0 <= reply.probability <= 1 for reply in replies)
    assert model.write([], []) == []


def test_in_the_open_domain_it_learns_answers_that_no_graph_has(llama: str, tmp_path: Path) -> None:
    graphs = question_graphs(0, 6)
    wanted = {id_: ReaderTarget(("nowhere",)) for id_ in (*graphs.texts.ids, *question_graphs(9, 12).texts.ids)}
    description = train(tmp_path, config(llama, graph_supervision=False, prior_weight=0.1), wanted=wanted)
    assert description.figures.keys() == {"hops", "reader"}


def test_without_its_language_model_a_checkpoint_says_so(llama: str, tmp_path: Path) -> None:
    folder = write_tiny_causal_lm(tmp_path / "lm", num_layers=1)
    few = replace(config(str(folder)), joint_training=TrainingOptions(epochs=1, precision="bf16"))
    train(tmp_path / "out", few)
    for path in folder.iterdir():
        path.unlink()
    with pytest.raises(BadCheckpointError, match=r"the language model .* cannot be loaded"):
        read_reader(tmp_path / "out")


def test_a_language_model_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(CausalLMError, match="cannot be loaded"):
        new_reader(options(str(tmp_path)))


def test_the_language_model_of_a_checkpoint_is_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def load(_name: str, **given: Any) -> None:
        asked.append(given["local_files_only"])
        raise OSError

    monkeypatch.setattr("transformers.AutoTokenizer.from_pretrained", load)
    write_weights({"a": torch.zeros(1)}, tmp_path)
    said = GrilReaderDescription("nobody/nothing", 32, 12, True, True, 4, 160, 0.5, "writing", LORA)
    for name in ("nobody/nothing", str(tmp_path)):
        with pytest.raises(CausalLMError, match="cannot be loaded"):
            new_reader(options(name))
    with pytest.raises(CausalLMError, match="cannot be loaded"):
        open_reader(said, tmp_path)
    assert asked == [False, True, True]
