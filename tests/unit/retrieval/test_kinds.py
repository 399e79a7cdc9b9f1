"""Kinds of values, of the ends of relations, and of what questions ask for."""

from __future__ import annotations

import pytest
from lodestar.models.wording.kinds import (
    EndKind,
    EndSample,
    WantedKind,
    agreement,
    end_kinds,
    find_wanted_kind,
    noun_kind,
    value_kind,
)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("2015-03-02", "date"),
        ("2 March 2015", "date"),
        ("March 2015", "date"),
        ("02.03.2015", "date"),
        ("2024-05-03T17:30:00", "date"),
        ("1987", "year"),
        ("12.5", "number"),
        ("1,200", "number"),
        ("35 km", "number"),
        ("€ 12.50", "amount"),
        ("300 dollars", "amount"),
        ("ann@firm.example", "email"),
        ("https://firm.example/a", "url"),
        ("+44 1632 960010", "phone"),
        ("yes", "yes or no"),
        ("a long walk", ""),
        ("", ""),
    ],
)
def test_values_are_told_by_parsing(value: str, kind: str) -> None:
    assert value_kind(value) == kind


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("Who runs the sales office?", ("person", "organisation")),
        ("When did it start?", ("date", "year")),
        ("Where does she live?", ("place", "organisation")),
        ("Which town is the maker in?", ("place", "organisation")),
        ("What year was it founded?", ("year", "date")),
        ("How many people fit in?", ("number",)),
        ("How much is a ticket?", ("amount", "number")),
        ("How heavy is it?", ("number",)),
        ("What is the e-mail of the boss?", ("email",)),
        ("What number do I call for help?", ("phone",)),
        ("On which web page is it?", ("url",)),
        ("Where does the person who owns it live?", ("place", "organisation")),
        ("What is it good for?", ()),
    ],
)
def test_a_question_says_what_kind_it_wants(question: str, kinds: tuple[str, ...]) -> None:
    assert find_wanted_kind(question).kinds == kinds


def test_agreement_is_never_more_than_one_and_unknown_is_neutral() -> None:
    date = find_wanted_kind("When was it?")
    assert agreement(date, EndKind("date", 1.0)) == 1
    assert agreement(date, EndKind("person", 1.0)) == -1
    assert agreement(date, EndKind()) == 0
    assert agreement(WantedKind(), EndKind("date", 1.0)) == 0
    assert -1 < agreement(find_wanted_kind("Who?"), EndKind("place", 0.7)) < 0


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
    found = end_kinds(samples, {1: "hired on", 2: "works at", 3: "city", 4: "42"}, {})
    assert found[-1].kind == "date"
    assert found[1].kind == found[2].kind == "person"
    assert found[-3].kind == "place"
    assert found[-2].kind == "unknown"
    assert found[-4].kind == "number"
    assert "city" in found[-3].words


def test_a_noun_tells_its_kind_by_its_head() -> None:
    assert noun_kind("place of birth") == "place"
    assert noun_kind("head physicist") == "person"
    assert noun_kind("frobnication") == ""


@pytest.mark.parametrize(
    ("label", "names", "kind"),
    [
        ("opened", ("2015-03-02", "2016-04-05"), "date"),
        ("opened", ("1987", "2004"), "year"),
        ("beds", ("12", "1,200", "2004"), "number"),
        ("entry fee", ("12", "1200"), "amount"),
        ("worth", ("€ 12.50", "300 dollars"), "amount"),
        ("mail", ("ann@firm.example", "bob@firm.example"), "email"),
        ("page", ("https://firm.example/a", "www.firm.example"), "url"),
        ("reached at", ("+44 1632 960010", "(030) 22 33 44"), "phone"),
        ("open", ("yes", "no"), "yes or no"),
        ("motto", ("never again", "always on time"), "text"),
    ],
)
def test_each_kind_of_value_at_an_end(label: str, names: tuple[str, ...], kind: str) -> None:
    sample = EndSample(names, len(names), {-1: len(names)})
    found = end_kinds({-1: sample}, {1: label}, {})[-1]
    assert found.kind == kind
    assert found.share == 1


@pytest.mark.parametrize(
    ("noun", "kind"),
    [
        ("singer", "person"),
        ("city", "place"),
        ("company", "organisation"),
        ("film", "work"),
        ("festival", "event"),
        ("device", "product"),
        ("dog", "animal"),
        ("language", "language"),
        ("frobnication", "unknown"),
    ],
)
def test_each_kind_of_entity_at_an_end(noun: str, kind: str) -> None:
    """By the relation that leads there, by the type that the source says, and not by names that say nothing."""
    sample = EndSample(("Xq", "Yq"), 0, {-1: 2})
    assert end_kinds({-1: sample}, {1: noun}, {})[-1].kind == kind
    assert end_kinds({-1: sample}, {1: "qq7"}, {-1: noun})[-1].kind == kind
    assert end_kinds({-1: sample}, {1: "qq7"}, {})[-1].kind == "unknown"
