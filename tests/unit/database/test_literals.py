"""Literals: what readers are shown of them, and how values of Python are written."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from lodestar.engine.writing.changing import LiteralValue


@pytest.mark.parametrize(
    ("value", "text"),
    [(math.nan, "NaN"), (math.inf, "INF"), (-math.inf, "-INF"), (0.5, "0.5"), (Decimal("-Infinity"), "-INF")],
)
def test_a_number_is_written_as_xml_schema_does(value: float | Decimal, text: str) -> None:
    assert LiteralValue.of(value) == LiteralValue(text, "http://www.w3.org/2001/XMLSchema#double")
