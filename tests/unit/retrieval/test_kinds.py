"""Kinds of values, of the ends of relations, and of what questions ask for."""

from __future__ import annotations

import pytest
from lodestar.models.wording.answer_kinds import (
    RelationEndProfile,
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


@pytest.mark.parametrize(
    ("question", "end", "fits"),
    [
        ("When?", RelationEndProfile("year", 1.0), 1.0),
        ("Who?", RelationEndProfile("organisation", 1.0), 0.6),
        ("Who?", RelationEndProfile("text", 1.0), -0.3),
        ("Who?", RelationEndProfile("place", 0.5), -0.3),
        ("Who?", RelationEndProfile("phone", 1.0), -1.0),
        ("Who?", RelationEndProfile("date", 1.0), -3.0),
        ("Where?", RelationEndProfile("year", 1.0), -3.0),
        ("When?", RelationEndProfile("email", 1.0), -1.0),
    ],
)
def test_agreement_by_kind(question: str, end: RelationEndProfile, fits: float) -> None:
    assert score_kind_agreement(find_wanted_kind(question), end) == pytest.approx(fits)
