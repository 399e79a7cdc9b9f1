"""Questions about sets, numbers and times, from their words to an answer with its proof, over a real Neo4j."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from lodestar import Engine
from lodestar.engine.data_model import Question
from lodestar.engine.evidence import Answer, PlanAnswer
from lodestar.engine.settings import Settings
from lodestar.loaders.formats import source_class

from tests.conftest import OpenOver
from tests.fakes.scripted_llm import Reply, ScriptedLLM, says, status
from tests.made.files import written

TEXT = """@prefix : <http://x.org/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:ann a :Employee ; rdfs:label "Ann Alder" ; :works_in :sales ; :salary 61000 ; :hired_on "2015-03-01"^^xsd:date ; :manages :apollo .
:bob a :Employee ; rdfs:label "Bob Birch" ; :works_in :sales ; :salary 40000 ; :hired_on "2016-07-16"^^xsd:date .
:cid a :Employee ; rdfs:label "Cid Cole" ; :works_in :lab ; :salary 52000 ; :hired_on "2019-11-05"^^xsd:date .
:dot a :Employee ; rdfs:label "Dot Dale" ; :works_in :lab ; :salary 75000 ; :hired_on "2020-02-02"^^xsd:date .
:sales a :Department ; rdfs:label "Sales" . :lab a :Department ; rdfs:label "Lab" . :apollo rdfs:label "Apollo" .
:annex1 rdfs:label "Annex" ; :floor 3 ; :tenant :lab . :annex2 rdfs:label "Annex" ; :floor 7 ; :tenant :sales .
"""


@pytest.fixture(scope="module")
def company(open_over: OpenOver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    path = written(tmp_path_factory.mktemp("company"), TEXT, "kg.ttl")
    with open_over(source_class("rdf")(path, bases=["http://x.org/"]), recipe="similarity") as engine:
        yield engine


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("How many employees work in Sales?", {"2"}),
        ("Which employee has the highest salary?", {"Dot Dale"}),
        ("Which employees were hired after 2018?", {"Cid Cole", "Dot Dale"}),
        ("Which employees do not work in Sales?", {"Cid Cole", "Dot Dale"}),
        ("Which employees does Sales not have?", {"Cid Cole", "Dot Dale"}),
        ("What is the total salary of employees?", {"228000"}),
        ("Which employees have a salary between 45000 and 61000?", {"Ann Alder", "Cid Cole"}),
        ("Ann Alder vs Bob Birch salary", {"61000", "40000"}),
    ],
)
def test_sets_are_asked_for(company: Engine, text: str, right: set[str]) -> None:
    answer = company.ask(text)
    assert {each.name for each in answer.answers} == right, answer.text
    plan = answer.evidence.extra_of(PlanAnswer)
    assert plan is not None
    assert answer.evidence.fault is None  # it needs no name
    assert answer.why == (plan.text,)
    assert answer.to_dict()["plan"]["plan"] == dict(plan.plan)
    assert company.run(company.plan(text)).total == plan.total  # type: ignore[arg-type]


def test_all_entities_of_one_name_are_answered_for_and_told_apart(company: Engine) -> None:
    floor = company.ask("What is the floor of Annex?")
    assert set(floor.names) == {"3", "7"}
    number = company.ask("How many tenants does Annex have?")
    assert (number.number, number.unsure) == (2, True)  # neither has two
    for answer in (floor, number):
        assert all(id_ in answer.why[0] for id_ in ("annex1", "annex2")), answer.why


def test_bounds_that_contradict_each_other_hold_for_none(company: Engine) -> None:
    answer = company.ask("Which employees were hired after 2018 and before 2015?")
    assert not answer.found


def test_a_plan_rests_on_triples_of_the_graph(company: Engine) -> None:
    answer = company.ask("Which employee has the highest salary?")
    stated = {(i.value.head.id, i.value.relation, i.value.tail.label) for i in answer.evidence.items}  # type: ignore[union-attr]
    assert ("dot", "salary", "75000") in stated
    assert {head for head, _, _ in stated} == {"dot"}


def test_a_topic_that_is_given_is_where_its_name_stands(company: Engine) -> None:
    answer = company.ask(Question("How many employees work in Sales?", topic_entities=("sales",)))
    assert answer.number == 2
    unnamed = company.ask(Question("How many employees work there?", topic_entities=("sales",)))
    assert unnamed.evidence.extra_of(PlanAnswer) is None


def test_plain_questions_keep_their_paths(company: Engine) -> None:
    answer = company.ask("Who manages Apollo?")
    assert answer.names == ("Ann Alder",)
    assert answer.evidence.extra_of(PlanAnswer) is None


ONLY = "Which employees only work in Sales?"
IN_SALES = {
    "do": "where",
    "of": {"do": "kind", "name": "employee"},
    "condition": {"do": "has", "path": ["works in"], "to": {"do": "topics", "names": ["Sales"]}},
}


def ask_with_model(settings: Settings, text: str, script: Sequence[Reply], samples: int = 1) -> tuple[Answer, Any]:
    with ScriptedLLM(script) as llm:
        own = replace(settings, llm_base_url=llm.base_url, llm_model="scripted", llm_concurrency=1)
        with Engine(own, recipe="similarity", options={"plans.samples": samples}) as engine:
            return engine.ask(text), llm.requests


def test_a_model_writes_a_plan_in_names_of_the_graph(company: Engine, settings: Settings) -> None:
    assert not company.ask(ONLY).found
    answer, (request,) = ask_with_model(settings, ONLY, [says({"plan": {"do": "find", "of": IN_SALES}})])
    assert set(answer.names) == {"Ann Alder", "Bob Birch"}
    assert answer.unsure  # nothing else says the same
    assert {i.value.tail.label for i in answer.evidence.items} >= {"Sales"}  # type: ignore[union-attr]
    schema = request.body["response_format"]["json_schema"]["schema"]
    enums = json.dumps(schema["$defs"])
    assert all(f'"{name}"' in enums for name in ("works in", "^works in", "salary", "employee", "Sales"))
    assert ONLY in request.prompt


def test_a_stated_answer_asks_no_model(company: Engine, settings: Settings) -> None:
    answer, requests = ask_with_model(settings, "How many employees work in Sales?", [])
    assert answer.number == 2
    assert not requests


@pytest.mark.parametrize(
    "first",
    [
        "MATCH (n) DETACH DELETE n",
        '{"plan": {"do": "find", "of": {"do": "kind", "name": "robot"}}}',
        '{"plan": {"do": "find", "of": {"do": "follow", "of": {"do": "kind", "name": "employee"}, "path": ["owns"]}}}',
        '{"plan": {"do": "find", "of": {"do": "topics"',
        '{"plan": {"do": "find", "of": {"do": "where", "of": {"do": "kind", "name": "employee"}, "condition": {"do": "is"}}}}',
        json.dumps({"plan": {"do": "find", "of": IN_SALES | {"condition": {**IN_SALES["condition"], "path": ["^salary"]}}}}),
    ],
)  # fmt: skip
def test_what_is_no_plan_is_asked_for_once_more(company: Engine, settings: Settings, first: str) -> None:
    answer, requests = ask_with_model(settings, ONLY, [says(first), says({"plan": {"do": "count", "of": IN_SALES}})])
    assert answer.number == 2
    assert [message["role"] for message in requests[1].body["messages"]] == ["user", "assistant", "user"]
    answer, requests = ask_with_model(settings, ONLY, [says(first), says(first)])
    assert answer.not_understood == ("only",)
    assert any("wrote no plan" in each for each in answer.evidence.left_out)
    assert company.ask("How many employees are there?").number == 4


def test_samples_that_agree_are_taken(company: Engine, settings: Settings) -> None:
    sales, count = ({"plan": {"do": do, "of": IN_SALES}} for do in ("find", "count"))
    answer, requests = ask_with_model(settings, ONLY, [says(count), says(sales), says(sales)], samples=3)
    assert set(answer.names) == {"Ann Alder", "Bob Birch"}
    assert len({request.prompt for request in requests}) == 3  # relations in another order


def test_a_failing_model_takes_nothing_away(company: Engine, settings: Settings) -> None:
    answer, _ = ask_with_model(settings, ONLY, [status(401)])
    assert answer.not_understood == company.ask(ONLY).not_understood
    assert any("401" in each for each in answer.evidence.left_out)
