"""Path Pooling through the command line, over the beam search and a real graph."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lodestar import Engine
from lodestar.engine.recipes.reorganising import PathPooling
from lodestar.engine.recipes.retrieving import Similarity
from lodestar.engine.settings import Settings
from lodestar.engine.values import Triple

from tests.e2e.conftest import Lodestar

pytestmark = pytest.mark.usefixtures("engine")

QUESTION = "Which currency is used in the country whose capital is Lima?"
LINE = "similarity + path-pooling"


def items_of(ran: Any) -> list[dict[str, Any]]:
    assert ran.code == 0, ran.err
    items: list[dict[str, Any]] = json.loads(ran.out)["items"]
    return items


def facts(items: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(item["head"]["id"], item["relation"], item["tail"]["id"]) for item in items]


def test_triples_come_back_best_first_with_pooled_scores(lodestar: Lodestar) -> None:
    found = items_of(lodestar("retrieve", "--json", "--recipe", LINE, "--set", "top_k=25", QUESTION))
    scores = [item["score"] for item in found]
    assert scores == sorted(scores, reverse=True)
    assert all(item["probability"] is None for item in found)
    assert len(set(facts(found))) == len(found) > 1


def test_keeping_fewer_is_a_prefix(lodestar: Lodestar) -> None:
    three, five = (
        items_of(lodestar("retrieve", "--json", "--recipe", LINE, "--set", f"path-pooling.keep={keep}", QUESTION))
        for keep in (3, 5)
    )
    assert len(three) == 3
    assert facts(five)[:3] == facts(three)


def test_an_answer_stands_on_what_was_kept(lodestar: Lodestar) -> None:
    ran = lodestar("ask", "--json", "--recipe", LINE, "--set", "top_k=25", "What is the capital of Peru?")
    assert ran.code == 0, ran.err
    assert "Lima" in [answer["name"] for answer in json.loads(ran.out)["answers"]]


def test_python_joins_the_same(lodestar: Lodestar, settings: Settings) -> None:
    ran = items_of(lodestar("retrieve", "--json", "--recipe", LINE, QUESTION))
    with Engine(settings, recipe=Similarity() + PathPooling()) as engine:
        items = engine.retrieve(QUESTION).items
    found = [each.value for each in items if isinstance(each.value, Triple)]
    assert [(triple.head.id, triple.relation, triple.tail.id) for triple in found] == facts(ran)


def test_a_wrong_kernel_is_one_line(lodestar: Lodestar) -> None:
    ran = lodestar("retrieve", "--recipe", LINE, "--set", "path-pooling.kernel=astar", QUESTION)
    assert ran.code == 2
    assert "expected one of dijkstra, bfs, random-walk for kernel, found 'astar'" in ran.err
