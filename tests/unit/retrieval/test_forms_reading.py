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
     "Can you name a film by Ann?", "Which lake is the deepest?", "When was Ann's first ship built?", "Where and when?",
     "Which and what?", "Which countries border peru but not Chile?", "Ann made films and not with bob", "Which lakes have 5?",
     "Which member of the Orange team plays in Lima?", "Which train to Oslo stops in Lima?", "Which starring roles did Ann play?"],
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
         ["Which countries border Peru?", "not: Which countries border Chile?"]),
        ("Which people in Sales do not report to Ann?", ("not",),
         ["Which people are in Sales?", "not: Which people report to Ann?"]),
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
        ("How large is the population of Peru?", ("how much",), ["What is the population of Peru?"]),
        ("How high is the capital of Peru?", ("how much",), ["What is the height of the capital of Peru?"]),
        ("How old is the mayor of Lima?", ("how much",), ["What is the date of birth of the mayor of Lima?"]),
        ("How many people live in Lima?", ("how much",), ["What is the population of Lima?"]),
        ("How many residents does Lima have?", ("how much",), ["What is the population of Lima?"]),
        ("What is the height of Everest?", ("how much",), ["What is the height of Everest?"]),
        ("What is the number of ships of Oslo?", ("how many",), ["Which ships of Oslo?"]),
        ("number of ships", ("how many",), ["Which ships?"]),
        ("What is the number of ships are in Oslo", ("how many",), ["Which ships are in Oslo?"]),
        ("HOW MANY OF the ships are in Oslo", ("how many",), ["Which ships are in Oslo?"]),
        ("HOW MANY DIFFERENT ships are in Oslo", ("how many",), ["Which ships are in Oslo?"]),
        ("How many Have worked in Oslo?", ("how many",), ["Which people Have worked in Oslo?"]),
        ("Which of Ann's films came out first?", ("least",), ["What are the films of Ann?"]),
        ("Which ship has been in Oslo the shortest?", ("most",), ["Which ships are in Oslo?"]),
        ("What's the most expensive in Oslo?", ("most",), ["Which things are in Oslo?"]),
        ("Which film by Ann played in Oslo last?", ("most",), ["Which films are by Ann?"]),
        ("people hired by Sales with a salary of more than 50,000", ("filter",), ["Which people are hired by Sales?"]),
        ("Oslo ships in Peru with a length of over 50", ("filter",), ["Which oslo ships are in Peru?"]),
        ("Which lakes in Peru have more than 5?", ("filter",), ["Which lakes are in Peru?", "Which lakes have more than 5?"]),
        ("Which countries border Peru and not in Asia?", ("not",),
         ["Which countries border Peru?", "not: Which countries border Asia?"]),
        ("Where is Peru but not in the north?", ("not",), ["Where is Peru?", "not: Where is the north?"]),
        ("Which films by Ann but not starring Bob?", ("not",), ["Which films by Ann?", "not: Which films starring Bob?"]),
        ("Which countries border Peru without bordering Chile?", ("not",),
         ["Which countries border Peru?", "not: Which countries border Chile?"]),
        ("Which films starring Ann were not directed by Bob?", ("not",),
         ["Which films star Ann?", "not: Which films were directed by Bob?"]),
        ("Which rivers do Peru and Chile both share?", ("and",), ["Which rivers do Peru share?", "Which rivers do Chile share?"]),
        ("Which countries do Peru and Chile border both?", ("and",),
         ["Which countries do Peru border?", "Which countries do Chile border?"]),
        ("Peru and Chile are both in which continent?", ("and",),
         ["Peru are in which continent?", "Chile are in which continent?"]),
        ("Which big old red fast ships are in Lima and are old?", ("and",),
         ["Which big old red fast ships are in Lima?", "Which fast are old?"]),
        ("Which member of the orange plays in Lima?", ("filter",),
         ["What are the members of the orange?", "Which member plays in Lima?"]),
    ],
)  # fmt: skip
def test_what_is_asked_instead(text: str, forms: tuple[str, ...], parts: list[str]) -> None:
    plan = parse_question(text)
    assert plan is not None
    assert plan.forms == forms
    assert [f"{'not: ' * part.negated}{part.text}" for part in plan.parts] == parts
    assert plan.rule


def test_names_are_not_taken_apart() -> None:
    plan = parse_question(
        "Which countries border Bosnia and Herzegovina or Serbia?", ["Bosnia and Herzegovina", "Serbia"]
    )
    assert plan is not None
    assert [part.text for part in plan.parts] == [
        "Which countries border Bosnia and Herzegovina?", "Which countries border Serbia?",
    ]  # fmt: skip
    assert plan.any_of
    plan = parse_question("Which people in Sales do not report to Ann?", ["people", "Ann"])
    assert plan is not None
    assert [part.text for part in plan.parts] == ["Which people are in Sales?", "Which people report to Ann?"]
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
        ("Which films by Ann were released between 2010 and 2012?", "released", Range(2010, 2012),
         Range(20_100_101, 20_121_231)),
        ("Which films by Ann were released between 2010-05-01 and 2012-06-30?", "released", Range(),
         Range(20_100_501, 20_120_630)),
        ("Which films by Ann were released between 2010 and 5 million?", "released", Range(2010, 5e6), None),
        ("Which films by Ann were released since 2016?", "released", Range(2016), Range(20_160_101)),
        ("Which people in Sales have a salary of at most 50,000?", "salary", Range(None, 50_000), None),
    ],
)  # fmt: skip
def test_values(text: str, words: str, within: Range, dates: Range | None) -> None:
    plan = parse_question(text)
    assert plan is not None
    assert plan.forms == ("filter",)
    assert (plan.words, plan.within, plan.dates) == (words, within, dates)


def test_a_range_is_said_with_its_ends() -> None:
    between, below = map(
        parse_question,
        ("Which films by Ann were made between 2010 and 2012?", "Which films by Ann were made before 2010?"),
    )
    assert between is not None
    assert below is not None
    assert between.rule == "keeps only answers whose made is between 2010 and 2012"
    assert below.rule == "keeps only answers whose made is before 2010"


def test_orders() -> None:
    most, least = (
        parse_question("Which person in Sales has the highest salary?"),
        parse_question("Which person in Sales was hired first?"),
    )
    assert most is not None
    assert least is not None
    assert (most.order, most.words, least.order, least.words) == ("most", "salary", "least", "hired date")


def test_names_come_back_in_all_that_a_plan_says() -> None:
    names = ("Sales and Support", "Bosnia and Herzegovina", "Bosnia")
    plan = parse_question("Which countries border Bosnia except Bosnia and Herzegovina?", names)
    assert plan is not None
    assert (plan.excluded, plan.rule) == ("Bosnia and Herzegovina", "Bosnia and Herzegovina is excluded")
    assert [part.text for part in plan.parts] == ["Which countries border Bosnia?"]
    plan = parse_question("Which person in Bosnia was hired by Sales and Support first?", iter(names))
    assert plan is not None
    assert plan.words == "date when it was hired by Sales and Support"


def test_a_kind_of_thing_alone_is_ordered_where_it_is_an_entity() -> None:
    text = "Which salt lakes are the largest?"
    assert parse_question(text, ["Peru"]) is None
    plan = parse_question(text, iter(["Peru", "Lake"]))
    assert plan is not None
    assert plan.parts[0].text == "Which salt lakes?"


@pytest.mark.parametrize(
    ("text", "any_of", "counted", "alike"),
    [
        ("Which countries border Peru or Chile?", True, False, True),
        ("Which film was directed by Ann or stars Bob?", True, False, False),
        ("How many countries border both Peru and Chile?", False, True, True),
        ("Which actress dated Bob and also played in Alien?", False, False, False),
    ],
)
def test_how_the_answers_of_the_parts_are_combined(text: str, any_of: bool, counted: bool, alike: bool) -> None:
    plan = parse_question(text)
    assert plan is not None
    assert (plan.any_of, plan.counted, plan.alike) == (any_of, counted, alike)


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
        ("Which film by Ann played in Oslo last?", "date when it played in Oslo"),
        ("Which city in Peru has the most inhabitants?", "population"),
        ("Which trip to Oslo takes the shortest?", "duration"),
        ("Which person at Ajax is the most important?", "important"),
        ("Which ship has been in Oslo the shortest?", "start date"),
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


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("cars drive on roads", "cars"),
        ("gas giants orbit the sun", "gas giants"),
        ("neighbouring countries", "neighbouring countries"),
        ("train to 30 cities", "train"),
        ("ship Titanic sank", "ship"),
        ("lately released films star Ann", "lately released films"),
    ],
)
def test_a_subject_ends_at_its_first_plural_or_before_a_name_or_a_verb(text: str, type_: str) -> None:
    """A plural has more than three letters."""
    subject = split_subject(text)
    assert subject is not None
    assert subject.type == type_
