"""Literals and relations without a type of their own, read from a real Neo4j as the fake reads them."""

from __future__ import annotations

import random
from typing import Any

import neo4j
import pytest
from lodestar.engine.data_model import Question
from lodestar.engine.evidence import Evidence
from lodestar.engine.neo4j.catalogue import (
    count_signature_mismatches,
    read_catalogue,
    read_graph_state,
    read_relation_counts,
)
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.retrieval.beam import BeamSearch
from lodestar.engine.retrieval.frontier import FrontierBounds

from tests.fakes.memory_graph import MemoryGraph
from tests.fakes.word_scorer import WordScorer
from tests.made.evidence import retrieved
from tests.made.plain_graph import write_graph

pytestmark = pytest.mark.usefixtures("empty_graph")

DATE = '"1821-07-28"^^<http://www.w3.org/2001/XMLSchema#date>'
MOTTO = '"Firme y feliz"@es'
VALUES = {DATE: "1821-07-28", MOTTO: "Firme y feliz", '"true"': "true", '""': ""}


def search(gateway: Gateway, max_hop: int = 3, **bounds: int) -> BeamSearch:
    catalogue = gateway.run(read_catalogue())
    numbered = {relation.number: relation.name for relation in catalogue.relations}
    return BeamSearch(
        numbered, WordScorer(), max_hop=max_hop, bounds=FrontierBounds(**bounds), stored_as=catalogue.stored_as
    )


def unordered(evidence: Evidence[Any]) -> list[tuple[float, str, frozenset[tuple[str, str | None, bool]], bool]]:
    """What a retrieval says, whatever the order in which a store keeps relationships."""
    return [
        (
            round(p.score, 5),
            str(p.value.relation_path),
            frozenset((e.id, e.name, e.is_literal) for e in p.value.ends),
            p.value.cut,
        )
        for p in evidence.items
    ]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
@pytest.mark.parametrize("hub_degree", [4, 2_000])
def test_neo4j_answers_as_the_fake_does(gateway: Gateway, driver: neo4j.Driver, seed: int, hub_degree: int) -> None:
    rng = random.Random(seed)
    ids = [f"e{i}" for i in range(12)]
    relations = ["alpha", "beta.x", "gamma`]->() //", "RELATED", "rare one", "rare two"]
    related = ("rare one", "rare two")
    heads = [rng.choice(ids) for _ in range(70)]
    triples = [(head, rng.choice(relations), rng.choice([*ids, *VALUES])) for head in heads]
    names = {i: i for i in ids if rng.random() < 0.8}
    write_graph(driver, gateway, triples, names, literals=VALUES, related=related)
    fake = MemoryGraph(triples, names, literals=VALUES, related=related)
    questions = [Question(" ".join(rng.sample(relations, 2)), (id_,)) for id_ in rng.sample(sorted(fake.names), 6)]
    real = retrieved(gateway, search(gateway, hub_degree=hub_degree), questions, 20)
    beam = BeamSearch(
        fake.numbered, WordScorer(), max_hop=3, bounds=FrontierBounds(hub_degree=hub_degree), stored_as=fake.stored_as
    )
    assert [unordered(r) for r in real] == [unordered(r) for r in (retrieved(fake, beam, questions, 20))]
    ends = [end for r in real for p in r.items for end in p.value.ends]
    assert {end.is_literal for end in ends} == {True, False}
    chains = [item.value for evidence in real for item in evidence.items]
    walked = [(chain.triples_of(path), path) for chain in chains for path in chain.instances()]
    assert {(t.head.id, t.relation, t.tail.id) for some, _ in walked for t in some} <= set(triples)
    assert not any(start.is_literal for _, path in walked for start, _ in path)


def test_a_literal_counts_for_its_head_and_has_no_signature(gateway: Gateway, driver: neo4j.Driver) -> None:
    triples = [
        ("a", "born", DATE),
        ("a", "says", MOTTO),
        ("b", "says", MOTTO),
        ("a", "knows", "b"),
        ("a", "RELATED", "b"),
    ]
    write_graph(driver, gateway, triples, {"a": "A"}, literals=VALUES, related=["says"])
    (record,) = driver.execute_query(
        "MATCH (e:Entity {id: 'a'}) RETURN e.signature_relations, e.signature_counts, e.degree"
    ).records
    assert tuple(record) == ([1, 2, 3, 4], [1, 1, 1, 1], 4)
    assert driver.execute_query("MATCH (l:Literal) WHERE l.degree IS NOT NULL RETURN l").records == []
    assert gateway.run(count_signature_mismatches()) == 0
    assert gateway.run(read_relation_counts()) == {"RELATED": 1, "born": 1, "knows": 1, "says": 2}
    assert gateway.run(read_catalogue()).stored_as == {"says": "RELATED"}
    assert gateway.run(read_graph_state()).num_literals == len(VALUES)
    driver.execute_query("MATCH (:Entity {id: 'b'})-[r:RELATED]->(:Literal) DELETE r")
    assert gateway.run(count_signature_mismatches()) == 1


def test_a_literal_that_is_named_by_id_is_walked_back_from(gateway: Gateway, driver: neo4j.Driver) -> None:
    write_graph(driver, gateway, [("a", "says", MOTTO)], {"a": "A"}, literals=VALUES)
    (found,) = retrieved(gateway, search(gateway), [Question("says?", (MOTTO,))], 5)
    assert [topic.entity.is_literal for topic in found.topics] == [True]
    assert [(str(i.value.relation_path), [e.id for e in i.value.ends]) for i in found.items] == [("^says", ["a"])]
