"""The reader that chooses one of several options, and the answerers of both readers that do not point."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lodestar.engine.answering.gril_answers import GenerativeAnswerer, MultipleChoiceAnswerer, PassageWriter
from lodestar.engine.errors import CheckpointError, UsageError
from lodestar.engine.evidence.evidence import Answer, Evidence
from lodestar.engine.evidence.extras import GraphToken
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion, QuestionSet
from lodestar.engine.steps import Steps, run_steps
from lodestar.engine.training.running import training_config
from lodestar.engine.training.sources import labels_of_sets
from lodestar.engine.values import Entity, Question, Scored, Topic, Triple
from lodestar.models.gril.choosing import MultipleChoiceReader
from lodestar.models.gril.config import (
    GrilConfig,
    GrilDescription,
    GrilReaderDescription,
    GrowOptions,
    JointOptions,
    Reads,
)
from lodestar.models.gril.kind import KIND, OPEN_DOMAIN
from lodestar.models.gril.network import EncodedSubgraphs, GraphRetriever, HopModel, HopPredictor
from lodestar.models.gril.passages import JointReader, Passage, ReaderQuestion, ReaderTarget
from lodestar.models.gril.reader_training import JointNetwork
from lodestar.models.gril.readers import ReaderModel, new_reader
from lodestar.models.gril.scoring import Bridge
from lodestar.models.gril.training import read_reader, reader_targets
from lodestar.models.gril.writing import WrittenReply
from lodestar.models.star.backbone import write_backbone_description
from lodestar.models.subgraphs import QuestionGraphs, QuestionLabels
from lodestar.models.text.vectors import TextVectors
from lodestar.models.training.kind import NothingToLearnError, TrainingOptions
from lodestar.models.training.trainer import TrainingCallbacks

from tests.fakes.letter_encoder import LetterEncoder
from tests.made.reg_graphs import ANSWERS, question_graphs
from tests.made.tiny_causal_lm import write_tiny_causal_lm
from tests.made.tiny_checkpoint import DIMENSION, tiny_backbone
from tests.made.trainings import labels_of, train_sets

PASSAGE = Passage("which city", ("Peru", "Lima", "Sol"), ((0, "used", 2), (0, "capital", 1)), (1, 2))
OPTIONS = ("Sol", "Lima", "Peru")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("tiny")
    backbone = tiny_backbone()
    write_backbone_description(backbone, folder)
    backbone.model.save_pretrained(folder)  # type: ignore[operator]
    yield str(folder)


def reader(*, has_text: bool = True) -> MultipleChoiceReader:
    torch.manual_seed(0)
    return MultipleChoiceReader(tiny_backbone(), 120, has_text=has_text).eval()


def test_probabilities_are_of_the_options_and_a_batch_is_its_questions_alone() -> None:
    choosing, tokens = reader(), torch.randn(2, DIMENSION)
    other = replace(PASSAGE, question="what", triples=())
    with torch.no_grad():
        both = choosing([PASSAGE, other], [OPTIONS, OPTIONS[:2]], tokens)
        alone = [choosing([PASSAGE], [OPTIONS], tokens[:1]), choosing([other], [OPTIONS[:2]], tokens[1:])]
    for found, (expected,) in zip(both, alone, strict=True):
        torch.testing.assert_close(found, expected)
        assert float(found.exp().sum()) == pytest.approx(1)
    assert [len(each) for each in both] == [3, 2]


def test_graph_token_and_triples_are_read_where_they_are_on() -> None:
    def chosen(passage: Passage, token: float | None, *, has_text: bool = True) -> torch.Tensor:
        tokens = None if token is None else token * torch.linspace(-1, 1, DIMENSION)[None]
        with torch.no_grad():
            found: list[torch.Tensor] = reader(has_text=has_text)([passage], [OPTIONS], tokens)
        return found[0]

    without, nothing = replace(PASSAGE, triples=()), replace(PASSAGE, triples=(), candidates=())
    assert not torch.allclose(chosen(PASSAGE, 0.1), chosen(PASSAGE, -2.0))
    assert not torch.allclose(chosen(PASSAGE, None), chosen(without, None))
    assert torch.equal(chosen(PASSAGE, None, has_text=False), chosen(without, None, has_text=False))
    assert torch.equal(chosen(PASSAGE, None, has_text=False), chosen(nothing, None, has_text=False))


def test_triples_of_the_option_come_first() -> None:
    choosing = reader()
    words = choosing.backbone.tokenizer
    places = []
    for option in ("lima", "Sol"):
        read = words.decode(choosing._ids(PASSAGE, option)).replace(" ", "")
        places.append((read.index("capital"), read.index("used")))
    assert places[0][0] < places[0][1]
    assert places[1][1] < places[1][0]


def test_a_passage_and_its_token_may_have_as_many_tokens_as_are_allowed() -> None:
    choosing = reader()
    whole = choosing._ids(PASSAGE, "Lima")
    for most, is_whole in ((len(whole) + 1, True), (len(whole), False)):
        choosing.max_tokens = most
        assert (choosing._ids(PASSAGE, "Lima") == whole) is is_whole


def test_the_loss_by_hand() -> None:
    choosing = reader()
    asked = [
        ReaderQuestion(PASSAGE, (), 0, ReaderTarget(("Lima",), OPTIONS, 1)),
        ReaderQuestion(PASSAGE, (), 0, ReaderTarget(("Sol",), OPTIONS[:2], 0)),
    ]
    with torch.no_grad():
        first, second = choosing([PASSAGE, PASSAGE], [OPTIONS, OPTIONS[:2]])
        torch.testing.assert_close(choosing.loss(asked, None), -(first[1] + second[0]) / 2)
        outputs = choosing.outputs(asked, None)
    assert [each.is_right.tolist() for each in outputs] == [[False, True, False], [True, False]]
    assert [each.num_answers for each in outputs] == [1, 1]


def joint(encoder: str, **changes: object) -> JointOptions:
    given = JointOptions(
        reader=encoder,
        reads="choosing",
        graph_supervision=False,
        inner=12,
        prior_weight=0.0,
        max_tokens=100,
        num_triples=4,
    )
    return replace(given, **changes)  # type: ignore[arg-type]


def wanted(first: int, after: int) -> dict[str, ReaderTarget]:
    """Options of which none is in a graph; the right one is told by the question."""
    return {f"q{n}": ReaderTarget((ANSWERS[n % 3],), ANSWERS, n % 3) for n in range(first, after)}


@pytest.mark.parametrize("token", [True, False])
def test_what_is_chosen_teaches_the_retriever_by_the_token_alone(encoder: str, token: bool) -> None:
    options = joint(encoder, token=token)
    torch.manual_seed(0)
    made = new_reader(options)
    retriever = GraphRetriever(26, 8, "mlp", GrowOptions(num_layers=2))
    network = JointNetwork(retriever, Bridge(8, 12, made.width), made, options, wanted(0, 3))
    network(
        EncodedSubgraphs(question_graphs(0, 3), LetterEncoder().encode, torch.device("cpu")), [0, 1], [4, 4]
    ).losses["reading"].backward()
    found = {name.split(".")[0] for name, p in network.named_parameters() if p.grad is not None and bool(p.grad.any())}
    assert found == ({"retriever", "bridge", "reader"} if token else {"reader"})


def config(encoder: str) -> GrilConfig:
    few = TrainingOptions(epochs=2, learning_rate=1e-3, head_learning_rate=0.01, patience=99)
    return GrilConfig(
        hidden=8,
        batch_size=3,
        grow=GrowOptions(num_layers=2),
        training=few,
        hop_training=few,
        joint=joint(encoder),
        joint_training=few,
    )


def train(folder: Path, chosen: GrilConfig, watcher: TrainingCallbacks | None = None) -> GrilDescription:
    encode = LetterEncoder().encode
    sets = [without_answers(0, 9)], [without_answers(9, 15)]
    return train_sets(KIND, chosen, *sets, folder, encode=encode, beside=labels_of(wanted(0, 15)), watcher=watcher)


def without_answers(first: int, after: int) -> QuestionGraphs:
    graphs = question_graphs(first, after)
    nothing = graphs.is_answer & False
    return replace(graphs, is_answer=nothing, is_positive=graphs.is_positive & False)


def test_it_learns_where_no_graph_has_an_answer_and_is_taken_up(encoder: str, tmp_path: Path) -> None:
    class StoppedError(Exception):
        pass

    def stop(name: str, epoch: int, done: int, _total: int, _loss: float) -> None:
        if (name, epoch, done) == ("reader", 1, 1):
            raise StoppedError

    whole, halted = tmp_path / "whole", tmp_path / "halted"
    description = train(whole, config(encoder))
    with pytest.raises(StoppedError):
        train(halted, config(encoder), TrainingCallbacks(step=stop))
    train(halted, config(encoder))
    for part in ("retriever", "bridge", "reader"):
        weights = [folder / part / "model.safetensors" for folder in (whole, halted)]
        assert weights[0].read_bytes() == weights[1].read_bytes(), part
    assert description.figures["reader"].keys() == {"hits_at_1", "f1", "selection_metric"}
    _, made = read_reader(whole)
    assert isinstance(made, MultipleChoiceReader)
    (chosen,) = ReaderModel(description, made).choose([PASSAGE], [OPTIONS], [[0.1] * DIMENSION])
    assert float(chosen.sum()) == pytest.approx(1, abs=1e-5)


PERU, LIMA, SOL = Entity("m.peru", "Peru"), Entity("m.lima", "Lima"), Entity("m.sol", "Sol")
TRIPLES = (Triple(PERU, "capital", LIMA), Triple(PERU, "money", SOL))


def evidence(*options: str) -> Evidence[Triple]:
    items = tuple(Scored(triple, 1.0 - place / 10) for place, triple in enumerate(TRIPLES))
    asked = Question("What is the capital of Peru", options=options)
    found = Evidence(asked, (Topic(PERU),), "triple", items)
    return replace(found, extras=(GraphToken((0.1,) * DIMENSION),))


def passages(made: JointReader, encoder: str, reads: Reads) -> PassageWriter:
    chosen = replace(config(encoder), joint=joint(encoder, reads=reads))
    said = GrilReaderDescription("tiny", made.width, 4, True, True, 2, 120, 0.5, chosen.joint.reads)
    description = GrilDescription(
        calibration=(1.0, 0.0),
        config={},
        train=(),
        dev=(),
        figures={},
        encoder="letters",
        dimension=26,
        hidden=8,
        score="mlp",
        max_hops=4,
        grow=GrowOptions(),
        subgraph=chosen.subgraph,
        reader=said,
    )
    hops = HopModel(HopPredictor(26, 4, 4).eval(), TextVectors(LetterEncoder()))
    return PassageWriter(ReaderModel(description, made), hops, {"capital": "capital", "money": "money"})


def answers(steps: Steps[list[Answer]]) -> list[Answer]:
    found: list[Answer] = run_steps(steps, list)
    return found


def test_the_answer_is_an_option_with_the_triples_that_name_it(encoder: str) -> None:
    answerer = MultipleChoiceAnswerer(passages(reader(), encoder, "choosing"))
    one, other = answers(answerer.answer([evidence("LIMA", "sol"), evidence("Quito")]))
    assert one.text in {"LIMA", "sol"}
    assert one.entities[0].origin == "graph"
    assert one.entities[0].evidence == ((0,) if one.text == "LIMA" else (1,))
    assert 0.5 <= (one.entities[0].confidence or 0.0) <= 1
    assert (other.text, other.entities[0].origin, other.entities[0].evidence) == ("Quito", "model", ())
    with pytest.raises(UsageError, match="expected a question with options"):
        answers(answerer.answer([evidence("Quito"), evidence()]))
    assert (one.confidence, other.confidence) == (one.entities[0].confidence, 1.0)
    assert answers(answerer.answer([])) == []


@pytest.mark.parametrize("reads", ["choosing", "writing"])
def test_scores_that_are_no_numbers_are_no_answer(encoder: str, reads: Reads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReaderModel, "choose", lambda *_: [np.array([0.5, np.nan])])
    monkeypatch.setattr(ReaderModel, "write", lambda *_: [WrittenReply(("Lima",), float("nan"))])
    kind = MultipleChoiceAnswerer if reads == "choosing" else GenerativeAnswerer
    with pytest.raises(CheckpointError, match="the reader of a checkpoint of kind gril"):
        answers(kind(passages(reader(), encoder, reads)).answer([evidence("Lima", "Sol")]))


def test_what_is_written_is_held_against_the_triples(
    encoder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    language_model = str(write_tiny_causal_lm(tmp_path, num_layers=1))
    made = new_reader(joint(language_model, reads="writing"))
    given = passages(made, encoder, "writing")
    asked = replace(evidence(), extras=(GraphToken((0.1,) * made.width),))
    (answer,) = answers(GenerativeAnswerer(given).answer([asked]))
    assert {entity.origin for entity in answer.entities} <= {"graph", "model"}

    def answered(*names: str) -> Answer:
        monkeypatch.setattr(ReaderModel, "write", lambda *_: [WrittenReply(names, 0.75)])
        (found,) = answers(GenerativeAnswerer(given).answer([asked]))
        return found

    some, none = answered("Lima", "Quito"), answered()
    assert [(each.origin, each.evidence) for each in some.entities] == [("graph", (0,)), ("model", ())]
    assert (some.text, some.confidence) == ("Lima, Quito", 0.75)
    assert (none.entities, none.confidence) == ((), 0.0)
    assert none.text.endswith("the language model wrote none")


def question(*options: str, answer: str = "a") -> QuestionSet:
    asked = GoldQuestion("q", "which?", (GoldAnswer(None, (answer,)),), options=options)
    return QuestionSet("set", "lodestar", "1" * 64, (asked,))


@pytest.mark.parametrize(("open_domain", "ids"), [(True, {"named", "unnamed"}), (False, {"named"})])
def test_questions_with_an_answer_without_a_name_are_left_out_but_where_any_name_counts(
    open_domain: bool, ids: set[str]
) -> None:
    labels = [QuestionLabels("set", name, ("a", "a", "b"), all_named=name == "named") for name in ("named", "unnamed")]
    values = {"joint.reader": "x", "joint.reads": "writing", **(OPEN_DOMAIN if open_domain else {})}
    found = reader_targets(labels, training_config(KIND, [], values=values))
    assert found == dict.fromkeys(ids, ReaderTarget(("a", "b")))


def test_the_right_option_is_the_answers_name() -> None:
    values = {"joint.reader": "x", "joint.reads": "choosing", **OPEN_DOMAIN}
    chosen = training_config(KIND, [], values=values)
    assert (chosen.joint.reads, chosen.joint.open_domain, chosen.joint.num_triples) == ("choosing", True, 20)
    assert reader_targets(labels_of_sets([question("b", "a")]), chosen) == {"q": ReaderTarget(("a",), ("b", "a"), 1)}
    for wrong in (question(), question("b", "c"), question("a", "a")):
        with pytest.raises(NothingToLearnError, match="expected options with the right answer among them"):
            reader_targets(labels_of_sets([wrong]), chosen)
    with pytest.raises(UsageError, match="expected a reader to train"):
        training_config(KIND, [], values={"joint.reads": "choosing"})
