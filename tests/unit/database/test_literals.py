"""Literals: what readers are shown of them, and how values of Python are written."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from lodestar.engine.answering.llm import Claim, cite_claims
from lodestar.engine.evidence import Evidence
from lodestar.engine.values import Chain, Entity, Scored
from lodestar.engine.writing.changing import LiteralValue

from tests.made.evidence import CERTAIN, evidence_of, leads

DATE = '"1821-07-28"^^<http://www.w3.org/2001/XMLSchema#date>'
MOTTO = '"Firme_y\nfeliz"@es'
PERU = Entity("p", "Peru")
INDEPENDENCE = Entity(DATE, "1821-07-28", is_literal=True)
WORDS = Entity(MOTTO, "Firme_y\nfeliz", is_literal=True)


def retrieved(*ends: Entity) -> Evidence[Chain]:
    return evidence_of(Scored(leads("motto", *ends, topic=PERU), 1.0), text="motto?", calibration=CERTAIN)


def test_what_a_model_says_is_found_among_the_literals() -> None:
    (date,) = cite_claims((Claim("1821-07-28"),), retrieved(INDEPENDENCE, WORDS))
    assert (date.id, date.origin, date.evidence) == (DATE, "graph", (0,))
    (words,) = cite_claims((Claim("firme y feliz"),), retrieved(INDEPENDENCE, WORDS))
    assert words.id == MOTTO


@pytest.mark.parametrize(
    ("value", "text"),
    [(math.nan, "NaN"), (math.inf, "INF"), (-math.inf, "-INF"), (0.5, "0.5"), (Decimal("-Infinity"), "-INF")],
)
def test_a_number_is_written_as_xml_schema_does(value: float | Decimal, text: str) -> None:
    assert LiteralValue.of(value) == LiteralValue(text, "http://www.w3.org/2001/XMLSchema#double")
