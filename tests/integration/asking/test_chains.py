"""ReG's chains as Cypher, over a real Neo4j: the same as those in memory, whatever the triples, in one request."""

from __future__ import annotations

import random

import neo4j
import pytest
from lodestar.engine.evidence.evidence import Evidence
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j.graph import ExpansionBounds, expand_chains
from lodestar.engine.reorganising.chaining import ChainExpander, chain_triples, columns_of
from lodestar.engine.values import Entity, Question, Scored, Topic, Triple

from tests.made.plain_graph import write_graph

pytestmark = pytest.mark.usefixtures("empty_graph")

ENTITIES = [Entity(f"e{i}", f"e{i}") for i in range(9)]
VALUES = [Entity('"1821-07-28"', "1821-07-28", is_literal=True), Entity('""', "", is_literal=True)]
RELATIONS = ["alpha", "gamma`]->() //", "delta|y z", "RELATED"]


def test_neo4j_gives_what_memory_gives(gateway: Gateway, driver: neo4j.Driver) -> None:
    rng = random.Random(5)
    facts = list(
        dict.fromkeys(
            Triple(rng.choice(ENTITIES), rng.choice(RELATIONS), rng.choice([*ENTITIES, *ENTITIES, *VALUES]))
            for _ in range(60)
        )
    )
    facts += [Triple(ENTITIES[0], "alpha", ENTITIES[0])]
    write_graph(
        driver,
        gateway,
        [(fact.head.id, fact.relation, fact.tail.id) for fact in facts],
        {entity.id: entity.id for entity in ENTITIES},
        literals={value.id: value.name or "" for value in VALUES},
        related={"delta|y z", "RELATED"},
    )
    asked = [columns_of([], []), columns_of(facts[:3], []), columns_of([], ENTITIES[:2])]
    asked += [columns_of(rng.sample(facts, 12), rng.sample(ENTITIES, 2)) for _ in range(20)]
    for bounds in (ExpansionBounds(4, 5_000, True), ExpansionBounds(3, 5_000, False), ExpansionBounds(4, 7, True)):
        found = gateway.fetch(expand_chains(asked, bounds))
        assert found == [chain_triples(columns, bounds) for columns in asked]


def test_a_batch_is_one_request_and_what_the_graph_lacks_is_in_no_chain(gateway: Gateway, driver: neo4j.Driver) -> None:
    a, b, c = ENTITIES[:3]
    write_graph(driver, gateway, [("e0", "r", "e1")], {"e0": "e0", "e1": "e1", "e2": "e2"})
    items = (Scored(Triple(a, "r", b), 0.9), Scored(Triple(b, "r", c), 0.8))
    evidence = Evidence(Question("?"), (Topic(a),), "triple", items)
    stage = ChainExpander(ExpansionBounds(4, 100, True), keep=10, in_database=True)
    before = gateway.round_trips
    found = gateway.run(stage.reorganise([evidence, evidence]))
    assert gateway.round_trips - before == 1
    assert [[str(i.value.relation_path) for i in each.items] for each in found] == [["r"], ["r"]]
