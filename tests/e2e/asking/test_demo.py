"""The demonstration answers what it promises, and what it loaded is loaded once."""

from __future__ import annotations

import json

import neo4j
import pytest
from lodestar.engine.neo4j.embedded import EmbeddedServer

from tests.e2e.conftest import Lodestar

ANSWERS = [
    {"Lima"},
    {"Peruvian Sol"},
    {"Austria", "France", "Germany", "Italy", "Liechtenstein"},
    {"Kenya"},
    set(),
    {"3"},
    {"yes"},
    {"Brazil"},
    {"Luxembourg"},
    {"Milan", "Rome"},
    {"Argentina", "Bolivia", "Peru"},
    {"Bolivia", "Paraguay", "Uruguay"},
    {"Andorra", "France", "Gibraltar", "Morocco", "Portugal", "Spain"},
    {"Andorra", "Italy", "Monaco", "Spain"},
    {"1,098,580 km²"},
]


@pytest.mark.usefixtures("empty_graph")
def test_questions_of_each_form(lodestar: Lodestar, server: EmbeddedServer, driver: neo4j.Driver) -> None:
    first = lodestar("demo", "--json", "--name", server.name)
    assert first.code == 0, first.err
    records = [json.loads(line) for line in first.out.splitlines()]
    assert [{entity["name"] for entity in record["answers"]} for record in records] == ANSWERS
    assert records[5]["answer"] == "3"
    assert records[6]["answer"] == "yes"
    assert server.status().browser_url in first.err
    assert "no relation fits the question" in records[4]["answer"]
    loaded = lodestar("load", "geonames", "--json")
    assert "already loaded" in loaded.err
    report = json.loads(loaded.out)
    assert report["num_triples"] > 30_000
    stored = driver.execute_query("MATCH (:Entity)-[r]->(:Entity) RETURN count(r)").records[0][0]
    assert stored == report["num_triples"]
