"""Literals as they are written: every form of a value gives the value back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lodestar.engine.gold_questions import lexical_value
from lodestar.engine.values import literal_term

DATE = "http://www.w3.org/2001/XMLSchema#date"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (f'"2013-09-18"^^<{DATE}>', "2013-09-18"),
        (f"2013-09-18^^{DATE}", "2013-09-18"),
        (f"2013-09-18^^<{DATE}>", "2013-09-18"),
        ("2013-09-18", "2013-09-18"),
        ('"Firme y feliz"@es', "Firme y feliz"),
        ('"a \\"b\\" \\u00e9\\n"', 'a "b" é\n'),
        ('"Heroes" by Bowie', '"Heroes" by Bowie'),
        ("x^^y", "x^^y"),
        ("m.0abc", "m.0abc"),
    ],
)
def test_every_form_has_its_value(written: str, value: str) -> None:
    assert lexical_value(written) == value


@given(st.text(), st.sampled_from([None, DATE]), st.sampled_from([None, "es"]))
def test_a_term_gives_its_value_back(value: str, datatype: str | None, language: str | None) -> None:
    assert lexical_value(literal_term(value, datatype, language)) == value
