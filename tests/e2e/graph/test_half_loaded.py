"""A graph with a load that is half there."""

from __future__ import annotations

import json

import neo4j
import pytest
from lodestar.engine.neo4j.gateway import Gateway

from tests.e2e.conftest import Lodestar
from tests.made.graphs import COUNTRIES, COUNTRY_NAMES
from tests.made.plain_graph import write_graph, write_load

CAPITAL = "What is the capital of Peru?"
WARNING = "lodestar: the load of mo\\x1b[31mre.tsv has not finished: answers are incomplete until the same `lodestar load` runs again"


@pytest.fixture
def half_loaded(empty_graph: None, driver: neo4j.Driver, gateway: Gateway) -> None:
    literals = {'"PE"': "PE"}
    triples = [*COUNTRIES, ("m.peru", "location.country.iso_code", '"PE"')]
    write_graph(driver, gateway, triples, COUNTRY_NAMES, literals=literals)
    write_load(driver, "a" * 64, source="first.tsv", started="2026-01-01T00:00:00Z", finished="2026-01-01T00:01:00Z")
    write_load(driver, "b" * 64, source="mo\x1b[31mre.tsv", started="2026-01-02T00:00:00Z")


def test_it_answers_with_one_warning_beside_the_data(lodestar: Lodestar, half_loaded: None) -> None:
    ran = lodestar("ask", "--json", CAPITAL, CAPITAL)
    assert [json.loads(line)["answer"] for line in ran.out.splitlines()] == ["Lima", "Lima"]
    assert (ran.code, ran.err.splitlines().count(WARNING)) == (0, 1)


def test_a_load_that_has_not_finished_is_listed_and_said(lodestar: Lodestar, half_loaded: None) -> None:
    assert "re.tsv    0 triples  has not finished" in lodestar("db", "status").out
    findings = {finding["part"]: finding for finding in json.loads(lodestar("doctor", "--json").out)}
    assert "re.tsv has not finished" in findings["load"]["found"]
