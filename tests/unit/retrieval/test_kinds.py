"""Kinds of values, of the ends of relations, and of what questions ask for."""

from __future__ import annotations

import pytest
from lodestar.models.wording.answer_kinds import (
    EndKind,
    EndSample,
    classify_ends,
    classify_value,
    find_wanted_kind,
    score_kind_agreement,
)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("2015-03-02", "date"),
        ("2 March 2015", "date"),
        ("2024-05-03T17:30:00", "date"),
        ("1987", "year"),
        ("12.5", "number"),
        ("35 km", "number"),
        ("€ 12.50", "amount"),
        ("ann@firm.example", "email"),
        ("https://firm.example/a", "url"),
        ("+44 1632 960010", "phone"),
        ("yes", "yes or no"),
        ("a long walk", ""),
        ("", ""),
    ],
)
def test_values_are_told_by_parsing(value: str, kind: str) -> None:
    assert classify_value(value) == kind


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("Who runs the sales office?", ("person", "organisation")),
        ("Where does she live?", ("place", "organisation")),
        ("Which town is the maker in?", ("place", "organisation")),
        ("What year was it founded?", ("year", "date")),
        ("How many people fit in?", ("number",)),
        ("How much is a ticket?", ("amount", "number")),
        ("What is the e-mail of the boss?", ("email",)),
        ("What number do I call for help?", ("phone",)),
        ("Where does the person who owns it live?", ("place", "organisation")),
        ("What is it good for?", ()),
    ],
)
def test_a_question_says_what_kind_it_wants(question: str, kinds: tuple[str, ...]) -> None:
    assert find_wanted_kind(question).kinds == kinds


def test_ends_get_their_kind_from_values_words_names_and_what_else_they_are() -> None:
    people = ("Ann Alder", "Bob Birch", "Cid Cedar")
    samples = {
        1: EndSample(people, 0, {1: 3, 2: 3}),  # hired on
        -1: EndSample(("2001-01-02", "2002-02-03"), 2, {-1: 2}),
        2: EndSample(people, 0, {1: 3, 2: 3}),  # works at
        -2: EndSample(("Mill", "Yard"), 0, {-2: 2, 3: 2}),
        3: EndSample(("Mill", "Yard"), 0, {-2: 2, 3: 2}),  # city
        -3: EndSample(("Porto", "Riga"), 0, {-3: 2}),
        4: EndSample(people, 0, {4: 3}),  # 42, a relation with a number for its name
        -4: EndSample(("7", "9", "12"), 0, {-4: 3}),
    }
    found = classify_ends(samples, {1: "hired on", 2: "works at", 3: "city", 4: "42"}, {})
    assert found[-1].kind == "date"
    assert found[1].kind == found[2].kind == "person"
    assert found[-3].kind == "place"
    assert found[-2].kind == "unknown"
    assert found[-4].kind == "number"
    assert "city" in found[-3].words


@pytest.mark.parametrize(
    ("question", "end", "fits"),
    [
        ("When?", EndKind("year", 1.0), 1.0),
        ("Who?", EndKind("organisation", 1.0), 0.6),
        ("Who?", EndKind("text", 1.0), -0.3),
        ("Who?", EndKind("place", 0.5), -0.3),
        ("Who?", EndKind("date", 1.0), -1.0),
        ("When?", EndKind("email", 1.0), -1.0),
    ],
)
def test_agreement_by_kind(question: str, end: EndKind, fits: float) -> None:
    assert score_kind_agreement(find_wanted_kind(question), end) == pytest.approx(fits)
