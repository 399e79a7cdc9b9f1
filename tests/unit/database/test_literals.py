"""Literals: what readers are shown of them, and how values of Python are written."""

from __future__ import annotations

import math

import pytest
from lodestar.engine.answering.extractive import Extractive
from lodestar.engine.answering.llm import Claim, cite_claims
from lodestar.engine.evidence.chain import Chain
from lodestar.engine.evidence.evidence import Evidence
from lodestar.engine.retrieval.beam import BeamSearch
from lodestar.engine.values import Entity, Question, Scored
from lodestar.engine.writing.changing import LiteralValue

from tests.fakes.memory_graph import MemoryGraph
from tests.fakes.word_scorer import WordScorer
from tests.made.evidence import CERTAIN, evidence_of, leads
from tests.made.evidence import retrieved as retrieved_from

DATE = '"1821-07-28"^^<http://www.w3.org/2001/XMLSchema#date>'
MOTTO = '"Firme_y\nfeliz"@es'
PERU = Entity("p", "Peru")
INDEPENDENCE = Entity(DATE, "1821-07-28", is_literal=True)
WORDS = Entity(MOTTO, "Firme_y\nfeliz", is_literal=True)

WORLD = MemoryGraph(
    [
        ("Peru", "independence", DATE),
        ("Peru", "motto", MOTTO),
        ("Peru", "motto", '""'),
        ("Peru", "note", MOTTO),
        ("Peru", "note", "Chile"),
        ("Chile", "motto", '"true"'),
        ("Chile", "capital", "Santiago"),
        ("Peru", "population", "cvt1"),
        ("cvt1", "number", '"33"'),
    ],
    names={n: n for n in ("Peru", "Chile", "Santiago")},
    literals={DATE: "1821-07-28", MOTTO: "Firme_y\nfeliz", '""': "", '"true"': "true", '"33"': "33"},
    related=("motto",),
)


def retrieved(*ends: Entity) -> Evidence[Chain]:
    return evidence_of(Scored(leads("motto", *ends, topic=PERU), 1.0), text="motto?", calibration=CERTAIN)


def test_a_step_into_literals_is_no_step_into_mediators() -> None:
    beam = BeamSearch(WORLD.numbered, WordScorer(), max_hop=1, stored_as=WORLD.stored_as)
    (found,) = retrieved_from(WORLD, beam, [Question("motto", ("Peru",))])
    paths = {str(p.value.relation_path): p.value.relation_path for p in found.items}
    assert [step.to_mediator for step in paths["motto"].steps] == [False]
    assert [step.to_mediator for step in paths["population → number"].steps] == [True, False]


def test_an_answer_is_its_value() -> None:
    answer = Extractive().answer_of(retrieved(INDEPENDENCE))
    assert (answer.text, answer.entities[0].name, answer.entities[0].id) == ("1821-07-28", "1821-07-28", DATE)


def test_what_a_model_says_is_found_among_the_literals() -> None:
    (date,) = cite_claims((Claim("1821-07-28"),), retrieved(INDEPENDENCE, WORDS))
    assert (date.id, date.origin, date.evidence) == (DATE, "graph", (0,))
    (words,) = cite_claims((Claim("firme y feliz"),), retrieved(INDEPENDENCE, WORDS))
    assert words.id == MOTTO


@pytest.mark.parametrize(("value", "text"), [(math.nan, "NaN"), (math.inf, "INF"), (-math.inf, "-INF"), (0.5, "0.5")])
def test_a_float_is_written_as_xml_schema_does(value: float, text: str) -> None:
    assert LiteralValue.of(value) == LiteralValue(text, "http://www.w3.org/2001/XMLSchema#double")
