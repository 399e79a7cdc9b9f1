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


def test_what_has_a_ship_type_is_called_a_ship() -> None:
    ships = ("Amber Heron", "Dagny Rose")
    samples = {1: EndSample(ships, 0, {1: 2, 2: 2}), -1: EndSample(("Skarnes",), 0, {-1: 1}),
               2: EndSample(ships, 0, {1: 2, 2: 2}), -2: EndSample(("tanker", "trawler"), 0, {-2: 2})}  # fmt: skip
    found = end_kinds(samples, {1: "home port", 2: "ship type"}, {})
    assert "ship" in found[1].words
    assert "ship" not in found[-1].words


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
    ("names", "kind"),
    [
        (("1", "2", "3", "4", "word"), "number"),
        (("1", "2", "3", "word", "text"), "unknown"),
        (("12", "1987", "€ 3", "4 eur", "word"), "number"),
        (("12", "1987", "€ 3", "word", "text"), "unknown"),
        (("2015-03-02", "2 March 2015", "02.03.2015", "2015-03-04", "word"), "date"),
        (("2015-03-02", "2 March 2015", "02.03.2015", "text", "word"), "unknown"),
        (("", ""), "unknown"),
        ((), "unknown"),
    ],
)
def test_four_of_five_values_have_to_parse(names: tuple[str, ...], kind: str) -> None:
    found = end_kinds({-1: EndSample(names, 0, {-1: 1})}, {1: "qq7"}, {})[-1]
    assert (found.kind, found.share) == (kind, 0.0 if kind == "unknown" else 0.8)


@pytest.mark.parametrize(("label", "kind"), [("entry fee", "amount"), ("fax", "phone"), ("age", "number")])
def test_values_that_parse_as_several_kinds_of_numbers_are_what_their_relation_says(label: str, kind: str) -> None:
    names = ("12", "1987", "€ 3", "+44 1632 960010", "")
    assert end_kinds({-1: EndSample(names, 4, {-1: 5})}, {1: label}, {})[-1] == EndKind(kind, 1.0, (label,))


def test_text_is_what_are_values_in_four_of_five_cases() -> None:
    names = ("one thing", "two things", "three things", "four things", "five things")
    kinds = [end_kinds({-1: EndSample(names, num, {})}, {1: "qq7"}, {})[-1] for num in (4, 3)]
    assert [(end.kind, end.share) for end in kinds] == [("text", 0.8), ("unknown", 0.0)]


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
    ("names", "kind"),
    [
        (("Ann Alder", "Bob-Jo Birch", "J. C. Cedar"), "person"),
        (("The Mill", "the Yard", "La Casa"), "unknown"),
        (("Ann", "Bob"), "unknown"),
        (("Ann Bea Cid Dee", "Eve Fay Gus Hal"), "unknown"),
        (("Ann alder", "Bob birch"), "unknown"),
        (("R2 D2x", "C3 P0x"), "unknown"),
        (("Mill Street", "Yard Lane,"), "place"),
        (("Ann Alder", "Bob Birch", "x", "y"), "person"),
        (("Ann Alder", "x", "y"), "unknown"),
    ],
)
def test_half_of_the_names_have_to_have_a_form(names: tuple[str, ...], kind: str) -> None:
    """A label that half tells the kind is not enough alone: 0.4, and 0.5 times the share of names of that form."""
    label = {"person": "qq7 by", "place": "qq7 in"}.get(kind, "qq7 by")
    assert end_kinds({-1: EndSample(names, 0, {-1: len(names)})}, {1: label}, {})[-1].kind == kind


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


def test_a_form_counts_that_half_of_the_names_have() -> None:
    """Of a city's names, 1 by the label, one in two looks like a person's, 0.5 · 1 / 2, or one in three, which is none."""
    for names, share in ((("Ann Alder", "x"), 0.8), (("Ann Alder", "x", "y"), 1.0)):
        assert end_kinds({-1: EndSample(names, 0, {})}, {1: "city"}, {})[-1] == EndKind("place", share, ("city",))


def test_the_last_word_of_a_name_that_tells_a_kind_decides() -> None:
    """A lane's club and a club's lane, of a relation that half tells the kind."""
    for label, name, kind in (("seen in", "Club Lane", "place"), ("seen in", "Lane Club", "unknown")):
        assert end_kinds({-1: EndSample((name,), 0, {-1: 1})}, {1: label}, {})[-1].kind == kind


def test_three_of_ten_things_have_to_be_something_else_too_for_that_to_tell() -> None:
    """0.5 · 2 · 3 / 10 by each of two relations whose heads are people is enough; by six, of two of ten each, it is not."""
    names = tuple(f"n{n}" for n in range(10))
    people = EndSample(("xyz",), 0, {})
    for num_relations, times, kind in ((2, 3, "person"), (6, 2, "unknown")):
        others = range(2, 2 + num_relations)
        samples = {-1: EndSample(names, 0, dict.fromkeys(others, times)), **dict.fromkeys(others, people)}
        labels = dict.fromkeys((1, *others), "qq7")
        assert end_kinds(samples, labels, dict.fromkeys(others, "person"))[-1].kind == kind


def test_what_else_things_are_counts_without_names_and_of_one_thing() -> None:
    """Two relations that only people have: 0.5 · 0.6 each, of one thing of one."""
    people = {2: EndSample(("xyz",), 0, {}), 3: EndSample(("xyz",), 0, {})}
    for names in (("xyz",), ()):
        samples = {-1: EndSample(names, 0, {-1: 1, 2: 1, 3: 1}), **people}
        assert end_kinds(samples, {1: "qq7", 2: "married", 3: "born"}, {})[-1].kind == "person"


def test_what_else_things_are_counts_by_how_many_of_them_are() -> None:
    """Of ten things at the end of qq7 three are married, and so people: 0.5 · 0.6 · 3 / 10 is too little; of ten, all."""
    names = tuple(f"n{n}" for n in range(10))

    def kind(times: int, label: str = "married") -> EndKind:
        samples = {
            -1: EndSample(names, 0, {-1: 10, 2: times, 3: times}),
            2: EndSample(names, 0, {}),
            3: EndSample(names, 0, {}),
        }
        return end_kinds(samples, {1: "qq7", 2: label, 3: "born"}, {})[-1]

    assert kind(10) == EndKind("person", 1.0, ("qq7",))
    assert kind(9).kind == "unknown"
    assert kind(10, "ceo").kind == "unknown"


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


def test_what_three_of_ten_things_are_they_are_called() -> None:
    names = tuple(f"n{n}" for n in range(10))
    samples = {-1: EndSample(names, 0, {-1: 10, 2: 3, 3: 2, -4: 3, -5: 4, -6: 2})}
    samples |= {-other: EndSample(names, 0, {}) for other in (4, 5, 6)}
    labels = {1: "went to", 2: "ship type", 3: "boat type", 4: "saw", 5: "likes", 6: "met"}
    assert end_kinds(samples, labels, {})[-1].words == ("went to", "ship", "likes", "saw")
    samples[-5] = EndSample(("12", "13"), 2, {})
    assert end_kinds(samples, labels, {})[-1].words == ("went to", "ship", "saw")


def test_things_are_called_by_at_most_six_words() -> None:
    numbers = range(1, 9)
    samples = {-number: EndSample(("xyz",), 0, dict.fromkeys((-each for each in numbers), 1)) for number in numbers}
    labels = {number: f"word{number}" for number in numbers}
    assert end_kinds(samples, labels, {})[-8].words == ("word8", "word7", "word6", "word5", "word4", "word3")


@pytest.mark.parametrize(
    ("names", "shared"),
    [
        ("Alder Old School|Birch New School|Mill", ("school",)),
        ("North A School|North B School|South C School|South D School", ("school", "north")),
        ("Alder School|Mill", ()),
        ("School|School", ()),
        ("Gate 7|Mill 7", ()),
        ("A School|B School|C School|d|e|f|g|h|i|j", ("school",)),
        ("A School|B School|c|d|e|f|g|h|i|j", ()),
    ],
)
def test_things_are_called_by_the_words_that_names_begin_or_end_with(names: str, shared: tuple[str, ...]) -> None:
    """By at most two of them, which two names share, and three of ten."""
    found = end_kinds({1: EndSample(tuple(names.split("|")), 0, {})}, {1: "qq7"}, {})
    assert found[1].words == shared


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
