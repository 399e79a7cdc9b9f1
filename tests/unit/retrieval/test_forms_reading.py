"""The rules that take a question apart: which form it is, what is asked instead, what is done with it."""

from __future__ import annotations

import pytest
from lodestar.models.forms.parsing import parse_question
from lodestar.models.forms.plan import FormPlan, Range, date_range, is_number_or_date, parse_number
from lodestar.models.forms.subject import split_subject

from tests.references.forms_of_geonames import form_questions


@pytest.mark.parametrize(
    "text",
    ["What is the capital of Peru?", "Who directed Alien?", "where was ann born", "capital of Peru", "?", "which",
     "What is the name of the capital?", "Who is married to Ann and", "the most", "how many", "who acted in The Wedding",
     "Who starred in the films directed by Ann?", "Which club played between 1919 and 1935?",
     "Which member of the Orange team was a doctor?", "What did Ann do last?", "What city was the first capital of Peru?",
     "Can you name a film by Ann?", "Which lake is the deepest?", "When was Ann's first ship built?"],
)  # fmt: skip
def test_plain_questions_stay_plain(text: str) -> None:
    assert parse_question(text) is None


@pytest.mark.parametrize(
    ("text", "forms", "parts"),
    [
        ("How many films did Ann direct?", ("how many",), ["Which films did Ann direct?"]),
        ("How many countries border both Peru and Chile?", ("how many", "and"),
         ["Which countries border Peru?", "Which countries border Chile?"]),
        ("Is Ann the boss of Bob?", ("yes or no",), ["Is Ann the boss of Bob?"]),
        ("Which countries border Peru but not Chile?", ("not",),
         ["Which countries border Peru?", "Which countries border Chile?"]),
        ("Which people in Sales do not report to Ann?", ("not",),
         ["Which people are in Sales?", "Which people report to Ann?"]),
        ("Which films starring Ann were directed by Bob?", ("filter",),
         ["Which films star Ann?", "Which films were directed by Bob?"]),
        ("Who dated Ann and produced the film Alien?", ("and",), ["Who dated Ann?", "Who produced the film Alien?"]),
        ("Which actress dated Bob and also played in Alien?", ("and",),
         ["Which actress dated Bob?", "Which actress played in Alien?"]),
        ("Which city lists a museum and is home to Ann?", ("and",),
         ["Which city lists a museum?", "Which city is home to Ann?"]),
        ("Which sea has shores in Europe, Asia and Africa?", ("and",),
         [f"Which sea has shores in {name}?" for name in ("Europe", "Asia", "Africa")]),
        ("Aragon, Galicia, and the Rioja are parts of which country?", ("and",),
         [f"{name} are parts of which country?" for name in ("Aragon", "Galicia", "the Rioja")]),
        ("How tall is Ann?", ("how much",), ["What is the height of Ann?"]),
        ("Which of the pets looked after by Ann is the heaviest?", ("most",), ["Which pets are looked after by Ann?"]),
        ("Which picture in the Louvre is the oldest?", ("least",), ["Which pictures are in the Louvre?"]),
        ("Which film by Ann came out first?", ("least",), ["Which films are by Ann?"]),
        ("Which player of Ajax earns the most?", ("most",), ["What are the players of Ajax?"]),
        ("What is the cheapest dish served at Lima?", ("least",), ["Which dishes are served at Lima?"]),
        ("What is the most valuable picture in the Louvre?", ("most",), ["Which pictures are in the Louvre?"]),
        ("Which films by Ann came out after 2010?", ("filter",), ["Which films are by Ann?"]),
        ("so who's the oldest at Ajax?", ("least",), ["Which people are at Ajax?"]),
        ("whats Lima's most recent menu", ("most",), ["What are the menus of Lima?"]),
        ("which dish at Lima is cheapest", ("least",), ["Which dishes are at Lima?"]),
        ("Of all the ships in Oslo, which is the heaviest?", ("most",), ["Which ships are in Oslo?"]),
        ("Who was the first to climb Everest?", ("least",), ["Which people climb Everest?"]),
        ("Which was the last ship to be built in Oslo?", ("most",), ["Which ships were built in Oslo?"]),
        ("Who joined the Orange team last?", ("most",), ["Which people joined the Orange team?"]),
        ("Which film did Ann make first?", ("least",), ["Which films did Ann make?"]),
        ("Which dishes at Lima cost the least?", ("least",), ["Which dishes are at Lima?"]),
        ("What's the least spicy dish at Lima?", ("least",), ["Which dishes are at Lima?"]),
        ("Which ship in Oslo has room for the most cars?", ("most",), ["Which ships are in Oslo?"]),
        ("Which of our boats by Ann is the oldest?", ("least",), ["Which boats are by Ann?"]),
        ("Which is the longest among the ships in Oslo?", ("most",), ["Which ships are in Oslo?"]),
        ("how many of our ships are in Oslo", ("how many",), ["Which ships are in Oslo?"]),
        ("How many different ships are in Oslo?", ("how many",), ["Which ships are in Oslo?"]),
        ("how many have worked in Oslo?", ("how many",), ["Which people have worked in Oslo?"]),
        ("Ann is the boss of Bob, isn't she?", ("yes or no",), ["is it so that Ann is the boss of Bob?"]),
        ("Who in Sales has been with us the longest?", ("least",), ["Which people are in Sales?"]),
        ("Which trip to Oslo takes the longest?", ("most",), ["Which trips are to Oslo?"]),
        ("What is the club in Lima with the most players?", ("most",), ["Which clubs are in Lima?"]),
        ("do you know how many ships are there in Oslo right now?", ("how many",), ["Which ships are in Oslo?"]),
        ("What's the total number of ships in Oslo?", ("how many",), ["Which ships are in Oslo?"]),
        ("Isn't Ann the boss of Bob?", ("yes or no",), ["Isn't Ann the boss of Bob?"]),
    ],
)  # fmt: skip
def test_what_is_asked_instead(text: str, forms: tuple[str, ...], parts: list[str]) -> None:
    plan = parse_question(text)
    assert plan is not None
    assert plan.forms == forms
    assert [part.text for part in plan.parts] == parts
    assert plan.rule


def test_a_negated_part() -> None:
    plan = parse_question("Which countries border France but not Germany?")
    assert plan is not None
    assert [part.negated for part in plan.parts] == [False, True]


def test_names_are_not_taken_apart() -> None:
    plan = parse_question(
        "Which countries border Bosnia and Herzegovina or Serbia?", ["Bosnia and Herzegovina", "Serbia"]
    )
    assert plan is not None
    assert [part.text for part in plan.parts] == [
        "Which countries border Bosnia and Herzegovina?", "Which countries border Serbia?",
    ]  # fmt: skip
    assert plan.any_of
    plan = parse_question("which countries border Peru and Chile", ["countries", "Peru"])
    assert plan is not None
    assert [part.text for part in plan.parts] == ["which countries border Peru?", "which countries border Chile?"]


@pytest.mark.parametrize(
    ("text", "words", "within", "dates"),
    [
        ("Which people in Sales have a salary of more than 50,000?", "salary", Range(50_000, None, False), None),
        ("Which films by Ann were released after 2016?", "released", Range(2016, None, False),
         Range(20_161_231, None, False)),
        ("Which films by Ann were released before 2016?", "released", Range(None, 2016, True, False),
         Range(None, 20_160_101, True, False)),
        ("Which films by Ann were released until 2016?", "released", Range(None, 2016, True, True),
         Range(None, 20_161_231, True, True)),
        ("Which people in Sales were hired before 2016-07-16?", "hired", Range(None, None, True, False),
         Range(None, 20_160_716, True, False)),
        ("Which cities in Peru have between 1 million and 2 million inhabitants?", "population", Range(1e6, 2e6), None),
    ],
)  # fmt: skip
def test_values(text: str, words: str, within: Range, dates: Range | None) -> None:
    plan = parse_question(text)
    assert plan is not None
    assert plan.forms == ("filter",)
    assert (plan.words, plan.within, plan.dates) == (words, within, dates)


def test_orders() -> None:
    most, least = (
        parse_question("Which person in Sales has the highest salary?"),
        parse_question("Which person in Sales was hired first?"),
    )
    assert most is not None
    assert least is not None
    assert (most.order, most.words, least.order, least.words) == ("most", "salary", "least", "hired date")


def test_numbers_and_dates() -> None:
    assert [parse_number(text) for text in ("40 million", "1,000,000", "five", "2.5 billion")] == [4e7, 1e6, 5, 2.5e9]
    scaled = ("two hundred", "3 thousand", "1 trillion", "5k", "2m", "zero", "twenty")
    assert [parse_number(text) for text in scaled] == [200, 3_000, 1e12, 5_000, 2e6, 0, 20]
    assert date_range("2016") == (20_160_101, 20_161_231)
    assert date_range("2016-07-16") == (20_160_716, 20_160_716)
    values = {
        "1,285,216 km²": True,
        "2016-07-16": True,
        "1999": True,
        "-3.5": True,
        "Lima": False,
        "": False,
        "7up": False,
    }
    assert {text: is_number_or_date(text) for text in values} == values


def test_the_questions_over_geonames_are_a_dozen_of_each_form() -> None:
    questions = list(form_questions())
    assert len(questions) == len({question.text for question in questions}) == 120
    assert {sum(q.form == form for q in questions) for form in {q.form for q in questions}} == {12}
    kept = {"how-many": "how many", "yes-no": "yes or no", "most": "most", "least": "least", "not": "not", "or": "or"}
    for question in questions:
        if question.form in kept:
            plan = parse_question(question.text)
            assert plan is not None
            assert plan.forms == (kept[question.form],)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Which film by Ann came out last?", "release date"),
        ("Which films by Ann appeared after 2010?", "publication date"),
        ("Which of the books by Ann is the cheapest?", "price"),
        ("Which player of Ajax weighs the least?", "weight"),
        ("Who is the youngest author of Alien?", "date"),
    ],
)
def test_what_the_answers_are_ordered_or_filtered_by(text: str, words: str) -> None:
    plan = parse_question(text)
    assert plan is not None
    assert plan.words == words


def test_a_form_in_a_form_says_both_rules_the_outer_first() -> None:
    plan = FormPlan(("most",), "the largest of them", ())
    assert plan.nest("how many", "count them").rule == "count them; the largest of them"
    assert plan.nest("how many", "count them").forms == ("how many", "most")
    assert FormPlan((), "", ()).nest("how many", "count them").rule == "count them"


@pytest.mark.parametrize(
    ("text", "modifier", "rest"),
    [
        ("book by Ann blorps Peru", "by Ann", "blorps Peru"),
        ("member of the Orange team was a doctor", "", "of the Orange team was a doctor"),
    ],
)
def test_a_word_that_could_be_a_verb_of_the_subject_ends_its_modifier(text: str, modifier: str, rest: str) -> None:
    subject = split_subject(text)
    assert subject is not None
    assert (subject.modifier, subject.rest) == (modifier, rest)


def test_a_subject_ends_at_its_first_plural_of_more_than_three_letters() -> None:
    subjects = {text: split_subject(text) for text in ("cars drive on roads", "gas giants orbit the sun")}
    assert [each and each.type for each in subjects.values()] == ["cars", "gas giants"]
