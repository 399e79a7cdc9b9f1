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


def test_of_other_kinds_than_the_wanted_one_those_that_can_never_be_meant_fit_least() -> None:
    ends = [(kind, 1.0) for kind in ("person", "organisation", "text", "phone", "date")]
    who = find_wanted_kind("Who?")
    *fits, half = [score_kind_agreement(who, RelationEndProfile(*end)) for end in [*ends, ("place", 0.5)]]
    assert fits == sorted(set(fits), reverse=True)
    assert fits[1] > 0 > fits[2] == half
