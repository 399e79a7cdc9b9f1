"""Literals as people and data sets write them: their text, their number or their days."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lodestar.engine.data_model import format_literal_term
from lodestar.engine.gold_questions import extract_literal_value
from lodestar.engine.writing import find_typed_values

XSD = "http://www.w3.org/2001/XMLSchema#"

NUMBERS: list[tuple[str, str | None, float, str | None]] = [
    ("5 km", None, 5_000, "length"),
    ("1,5 kg", None, 1.5, "mass"),
    ("1,234.5", None, 1_234.5, None),
    ("1.234.567", None, 1_234_567, None),
    ("12%", None, 12, "percent"),
    ("$5,000", None, 5_000, "USD"),
    ("$3.2bn", None, 3.2e9, "USD"),
    ("5,07 EUR", None, 5.07, "EUR"),
    (".5", None, 0.5, None),
    ("2.5E6", XSD + "double", 2.5e6, None),
    ("1.07E8", "http://x.org/złoty", 1.07e8, None),
    ("9007199254740993", XSD + "integer", 9_007_199_254_740_992, None),
    ("-INF", XSD + "double", float("-inf"), None),
    ("5.5", "http://www.wikidata.org/entity/Q828224", 5_500, "length"),
]
DATES: list[tuple[str, str | None, int, int]] = [
    ("1975-03", XSD + "gYearMonth", 19750301, 19750331),
    ("1999", XSD + "gYear", 19990101, 19991231),
    ("1999-02-01Z", XSD + "date", 19990201, 19990201),
    ("1999-02-01T10:00:00.5+01:00", XSD + "dateTime", 19990201, 19990201),
    ("1996-07-04 00:00:00.000", None, 19960704, 19960704),
    ("2013-00-00T00:00:00Z", XSD + "dateTime", 20130101, 20131231),
    ("49500-01-01T00:00:00Z", XSD + "dateTime", 495000101, 495000101),
    ("-0063-09-23", XSD + "date", -629077, -629077),
    ("-0044", XSD + "gYear", -439899, -438769),
    ("45 BC", None, -439899, -438769),
    ("14 July 1789", None, 17890714, 17890714),
    ("July 1789", None, 17890701, 17890731),
]
NEITHER = ["hello", "12:30", "1.2.3", "room 5", "2001: A Space Odyssey", "", "1" * 60]


def test_numbers_dates_and_other_texts() -> None:
    found = find_typed_values([row[:2] for row in (*NUMBERS, *DATES)] + [(text, None) for text in NEITHER])
    numbers, dates, others = found[: len(NUMBERS)], found[len(NUMBERS) : -len(NEITHER)], found[-len(NEITHER) :]
    for (text, _, number, dimension), typed in zip(NUMBERS, numbers, strict=True):
        assert (typed["number"], typed["dimension"], typed["first_day"]) == (pytest.approx(number), dimension, None), (
            text
        )
    for (text, _, first, last), typed in zip(DATES, dates, strict=True):
        assert (typed["number"], typed["first_day"], typed["last_day"]) == (None, first, last), text
    assert all(set(typed.values()) == {None} for typed in others)


def test_a_whole_number_may_be_a_year() -> None:
    (typed,) = find_typed_values([("1999", None)])
    assert typed == {"number": 1999, "dimension": None, "first_day": 19990101, "last_day": 19991231}


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
    assert extract_literal_value(written) == value


@given(st.text(), st.sampled_from([None, DATE]), st.sampled_from([None, "es"]))
def test_a_term_gives_its_value_back(value: str, datatype: str | None, language: str | None) -> None:
    assert extract_literal_value(format_literal_term(value, datatype, language)) == value
