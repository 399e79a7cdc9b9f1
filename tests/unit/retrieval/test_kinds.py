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
    find_which_noun,
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


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Which language is spoken there?", "a language"),
        ("Which languages are spoken there?", "languages"),
        ("Which organisation owns it?", "an organisation"),
        ("Which cities are near?", "cities"),
    ],
)
def test_what_a_question_wants_is_said_as_people_say_it(question: str, said: str) -> None:
    assert find_wanted_kind(question).said == said


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


@pytest.mark.parametrize(
    ("kind", "said"),
    [("date", "dates"), ("person", "people"), ("url", "urls"), ("text", "text"), ("unknown", "unknown"),
     ("yes or no", "yes or no"), ("amount", "amounts")],
)  # fmt: skip
def test_a_kind_is_said_in_the_plural(kind: str, said: str) -> None:
    assert str(EndKind(kind)) == said


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("place of birth", "place"),
        ("birth of a place", "place"),
        ("Dogs of a City", "animal"),
        ("city film", "work"),
        ("film xyz", "work"),
        ("head physicist", "person"),
        ("cubist", "person"),
        ("physicist film", "work"),
        ("twist", ""),
        ("frobnication", ""),
        ("of", ""),
        ("", ""),
    ],
)
def test_a_noun_tells_its_kind_by_its_head(words: str, kind: str) -> None:
    """The noun before "of", else the last word that has a kind."""
    assert noun_kind(words) == kind


@pytest.mark.parametrize(
    ("label", "names", "kind"),
    [
        ("opened", ("2015-03-02", "2016-04-05"), "date"),
        ("opened", ("1987", "2004"), "year"),
        ("beds", ("12", "1,200", "2004"), "number"),
        ("beds", ("12", "1987", "1988", "1989", "2004"), "number"),
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


@pytest.mark.parametrize(
    ("label", "end", "names", "kind"),
    [
        ("painted by", -1, ("Ann Alder", "Bob Birch"), "person"),
        ("built in", -1, ("Hull Town", "Ryde Town"), "place"),
        ("qq7 at", -1, ("Ann Alder", "Bob Birch"), "unknown"),
        ("qq7", -1, ("Acme Inc.", "Mill Ltd"), "unknown"),
        ("company", -1, ("Ann Alder", "Bob Birch"), "organisation"),
        ("married", 1, ("x", "y"), "person"),
        ("parent company", 1, ("x", "y"), "organisation"),
        ("qq7", 1, ("x", "y"), "unknown"),
    ],
)
def test_a_label_and_names_tell_together_what_stands_at_an_end(
    label: str, end: int, names: tuple[str, ...], kind: str
) -> None:
    assert end_kinds({end: EndSample(names, 0, {end: 2})}, {1: label}, {})[end].kind == kind


@pytest.mark.parametrize(
    ("label", "end", "type_", "names", "found"),
    [
        ("city", -1, "person", "xyz", ("person", 0.667)),  # 2 of the type, 1 of the label
        ("city", -1, "", "Ann Alder", ("place", 0.667)),  # 0.5 of the form
        ("was painted by", -1, "", "Ann Alder", ("person", 1.0)),
        ("parent company", 1, "", "Ann Alder", ("organisation", 0.545)),  # 0.6 of what only organisations have
        ("ship type", 1, "", "Ann Alder", ("product", 0.667)),
        ("work ship type", 1, "", "xyz", ("unknown", 0.0)),
        ("born in", 1, "place", "xyz", ("place", 0.769)),
        ("born in", 1, "place", "Ann Alder", ("place", 0.645)),
        ("---", -1, "", "Ann Alder", ("unknown", 0.0)),
    ],
)
def test_what_tells_of_an_end_counts_by_its_weight(
    label: str, end: int, type_: str, names: str, found: tuple[str, float]
) -> None:
    kind = end_kinds({end: EndSample((names,), 0, {end: 1})}, {1: label}, {end: type_})[end]
    assert (kind.kind, kind.share) == found


@pytest.mark.parametrize(
    ("name", "is_person"),
    [
        ("Ann Alder", True), ("Ann Bea Cid", True), ("J. C. Cedar", True), ("Bob-Jo St. Birch", True),
        ("Ann", False), ("Ann Bea Cid Dee", False), ("Ann B42", False), ("R2x Alder", False), ("ann Alder", False),
        ("The Alder", False), ("Ann The", True), ("Ann Alder Lane", False),
    ],
)  # fmt: skip
def test_two_or_three_words_with_a_capital_are_the_name_of_a_person(name: str, is_person: bool) -> None:
    found = end_kinds({-1: EndSample((name,), 0, {-1: 1})}, {1: "qq7 by"}, {})
    assert (found[-1].kind == "person") == is_person


def test_what_things_are_called_is_their_type_the_relations_that_lead_there_and_a_word_of_their_names() -> None:
    names = ("Alder School", "Birch School", "School Hill", "Mill")
    samples = {
        -1: EndSample(names, 0, {-1: 4, -2: 4, -3: 3, -4: 1, 5: 4}),
        -2: EndSample(names, 0, {}),
        -3: EndSample(names, 0, {}),
        -4: EndSample(names, 0, {}),
    }
    labels = {1: "went to", 2: "visited", 3: "founded", 4: "saw", 5: "owns"}
    assert end_kinds(samples, labels, {-1: "college"})[-1].words == (
        "college",
        "went to",
        "visited",
        "founded",
        "school",
    )
    samples[5] = EndSample(names, 0, {})
    assert end_kinds(samples, labels, {})[5].words == ("school",)
    dates = {-1: EndSample(("1987", "1988"), 2, {})}
    assert end_kinds(dates, labels, {})[-1].words == ("went to",)
    assert end_kinds({1: EndSample(("1987", "1988"), 2, {})}, labels, {})[1].words == ()


@pytest.mark.parametrize(
    ("question", "end", "fits"),
    [
        ("When?", EndKind("year", 1.0), 1.0),
        ("Who?", EndKind("organisation", 1.0), 0.6),
        ("Who?", EndKind("text", 1.0), -0.3),
        ("Who?", EndKind("place", 0.5), -0.3),
        ("Who?", EndKind("date", 1.0), -1.0),
        ("When?", EndKind("email", 1.0), -1.0),
        ("When?", EndKind("person", 1.0), -1.0),
    ],
)
def test_agreement_by_kind(question: str, end: EndKind, fits: float) -> None:
    assert agreement(find_wanted_kind(question), end) == pytest.approx(fits)


@pytest.mark.parametrize(
    ("question", "kinds", "said"),
    [
        ("Which old castle is it?", ("place", "organisation"), "a castle"),
        ("What kind of organisation is it?", ("organisation", "place"), "an organisation"),
        ("Who knows which castle it is?", ("person", "organisation"), "a person"),
        ("In which very old grey castle?", (), ""),
        ("Which qq qq castle?", (), ""),
        ("Which castle shows how big it is?", ("place", "organisation"), "a castle"),
        ("What does the phone of the city cost?", ("phone",), "a phone number"),
        ("Which language is it?", ("language",), "a language"),
        ("What amount is it?", ("number", "amount"), "an amount"),
        ("Which number is it?", ("number", "amount"), "a number"),
        ("Where lives who?", ("place", "organisation"), "a place"),
        ("To whom, and where?", ("person", "organisation"), "a person"),
    ],
)
def test_the_noun_then_the_first_question_word_says_what_is_wanted(
    question: str, kinds: tuple[str, ...], said: str
) -> None:
    assert find_wanted_kind(question) == WantedKind(kinds, said)


@pytest.mark.parametrize(
    ("question", "noun"), [("Which kind of old film is it?", "old"), ("What is the film?", "film"), ("Who is it?", "")]
)
def test_where_the_noun_that_is_asked_for_stands(question: str, noun: str) -> None:
    span = find_which_noun(question)
    assert (question[slice(*span)] if span else "") == noun
