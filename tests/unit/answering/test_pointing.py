"""The answerer that points: what it reads of evidence, what it says, and that it needs its graph token."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from lodestar.engine.answering.gril_reader import GrilReader
from lodestar.engine.data_model import Entity, Question, Scored, Topic, Triple
from lodestar.engine.errors import UsageError
from lodestar.engine.evidence import Answer, Evidence, GraphToken, NoEvidenceExplanation
from lodestar.models.gril import JointOptions
from lodestar.models.gril.network import HopModel, HopPredictor
from lodestar.models.gril.readers import PointingReader, ReaderModel, WrittenReply
from lodestar.models.text.vectors import TextVectors

from tests.fakes.letter_encoder import LetterEncoder
from tests.made.tiny_checkpoint import DIMENSION, tiny_backbone

PERU, LIMA, SOL = Entity("m.peru", "Peru"), Entity("m.lima", "Lima"), Entity("m.sol", "Sol")
UNNAMED = Entity("m.cvt", None)
TRIPLES = (Triple(PERU, "capital", LIMA), Triple(PERU, "money", UNNAMED), Triple(UNNAMED, "currency", SOL))


def evidence(*triples: Triple, token: bool = True) -> Evidence[Triple]:
    items = tuple(Scored(triple, 1.0 - place / 10) for place, triple in enumerate(triples))
    found = Evidence(Question("What is the capital of Peru"), (Topic(PERU),), "triple", items)
    return replace(found, extras=(GraphToken((0.1,) * DIMENSION),) if token else ())


def answers(*asked: Evidence[Triple], token: bool = True, **joint: Any) -> list[Answer]:
    torch.manual_seed(0)
    options = JointOptions(reader="tiny", inner=4, token=token, max_tokens=120, **joint)
    reader = PointingReader(tiny_backbone(), 120).eval()
    hops = HopModel(HopPredictor(26, 4, 4).eval(), TextVectors(LetterEncoder()))
    texts = {"capital": "capital", "money": "currency used"}
    return GrilReader().answer_batch(asked, ReaderModel(options, reader), hops, texts)


def test_it_names_entities_with_the_triples_that_name_them() -> None:
    (answer,) = answers(evidence(*TRIPLES))
    assert {entity.id for entity in answer.entities} == {"m.lima", "m.sol"}  # neither the topic nor the unnamed
    sure = [entity.confidence or 0.0 for entity in answer.entities]
    assert sum(sure) == pytest.approx(1, abs=1e-5)
    assert {entity.id: entity.evidence for entity in answer.entities} == {"m.lima": (0,), "m.sol": (2,)}
    assert answer.confidence == sure[0] >= sure[1]
    assert answer.text == ", ".join(entity.name for entity in answer.entities)


def test_a_batch_is_each_question_alone_and_nothing_is_no_answer() -> None:
    both = answers(evidence(*TRIPLES), evidence())
    assert [entity.id for entity in both[0].entities] == [
        entity.id for entity in answers(evidence(*TRIPLES))[0].entities
    ]
    assert not both[1].found
    assert both[1].text == "no answer found: nothing in it can be pointed at"
    assert both[1].confidence == 0
    (noted,) = answers(replace(evidence(), absence=NoEvidenceExplanation("nothing is known")))
    assert noted.text == "no answer found: nothing is known"


def test_without_the_token_that_it_reads_it_is_one_line() -> None:
    with pytest.raises(UsageError, match="expected evidence with a graph token, found none"):
        answers(evidence(*TRIPLES, token=False))
    assert answers(evidence(*TRIPLES, token=False), token=False)[0].found
    with pytest.raises(UsageError, match=r"answerer\.checkpoint=FOLDER"):
        GrilReader().check()


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (WrittenReply(("LIMA", "Quito"), 0.75), [("Lima", "graph", (0,)), ("Quito", "model", ())]),
        (WrittenReply((), 0.75), []),
    ],
)
def test_what_is_written_is_looked_up_in_the_triples(
    reply: WrittenReply, expected: list[tuple[str, str, tuple[int, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReaderModel, "read", lambda *_: [reply])
    (answer,) = answers(evidence(*TRIPLES), reads="writing")
    assert [(each.name, each.origin, each.evidence) for each in answer.entities] == expected
    assert answer.confidence == (0.75 if expected else 0.0)
