"""Retrieval over a real Neo4j: the same results as the fake the unit tests trust, hubs bounded, round trips counted."""

from __future__ import annotations

import random
import time
from typing import Any

import neo4j
import pytest
from lodestar.engine.evidence import Evidence
from lodestar.engine.neo4j import Request
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.retrieval.beam import BeamSearch
from lodestar.engine.retrieval.frontier import FrontierBounds
from lodestar.engine.values import Question

from tests.fakes.memory_graph import MemoryGraph
from tests.fakes.word_scorer import WordScorer
from tests.made.evidence import retrieved
from tests.made.graphs import TripleSource, load

pytestmark = pytest.mark.usefixtures("empty_graph")

HUB_EDGES = 100_000


def numbered(gateway: Gateway) -> dict[int, str]:
    from lodestar.engine.neo4j.catalogue import read_catalogue

    return {r.number: r.name for r in gateway.run(read_catalogue()).relations}


def unordered(evidence: Evidence[Any]) -> list[tuple[float, str, frozenset[str], bool]]:
    """What a retrieval says, whatever the order in which a store keeps relationships."""
    return [
        (round(p.score, 5), str(p.value.relation_path), frozenset(e.id for e in p.value.ends), p.value.cut)
        for p in evidence.items
    ]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
@pytest.mark.parametrize("hub_degree", [4, 2_000])
def test_neo4j_answers_as_the_fake_does(gateway: Gateway, seed: int, hub_degree: int) -> None:
    rng = random.Random(seed)
    ids = [f"e{i}" for i in range(15)]
    relations = ["alpha", "beta.x", "gamma`]->() //", "delta|y z"]
    triples = [(rng.choice(ids), rng.choice(relations), rng.choice(ids)) for _ in range(60)]
    names = {i: i for i in ids if rng.random() < 0.85}
    load(TripleSource(triples, names), gateway)
    fake = MemoryGraph(triples, names)
    questions = [Question(" ".join(rng.sample(relations, 2)), (id_,)) for id_ in rng.sample(sorted(fake.names), 6)]
    bounds = FrontierBounds(hub_degree=hub_degree)
    over_neo4j = BeamSearch(numbered(gateway), WordScorer(), max_hop=3, bounds=bounds)
    real = retrieved(gateway, over_neo4j, questions, 20)
    over_fake = BeamSearch(fake.numbered, WordScorer(), max_hop=3, bounds=bounds)
    expected = retrieved(fake, over_fake, questions, 20)
    assert [unordered(r) for r in real] == [unordered(r) for r in expected]
    known = set(triples)
    for path in (i for r in real for p in r.items for i in p.value.instances()):
        assert {(t.head.id, t.relation, t.tail.id) for t in path.triples} <= known


@pytest.mark.long
def test_a_hub_is_bounded_in_time_and_in_what_it_returns(
    gateway: Gateway, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hub of 10⁵ edges as topic and on the way: reported cuts, one more round trip a hub relation, time held."""
    triples = [(f"p{i}", "person.nationality", "hub") for i in range(HUB_EDGES)]
    triples += [("hub", "country.capital", "city"), ("p7", "person.spouse", "p8"), ("hub", "country.anthem", "song")]
    load(TripleSource(triples, {i: i for t in triples for i in (t[0], t[2])}), gateway)
    search = BeamSearch(numbered(gateway), WordScorer())
    questions = [
        Question("capital of the country", ("hub",)),
        Question("capital of the country of nationality", ("p7",)),
        Question("person nationality", ("hub",)),
    ]
    seconds = []
    sent: list[Request[Any]] = []
    run_all = gateway.run_all
    monkeypatch.setattr(gateway, "run_all", lambda requests: [sent.extend(requests), run_all(requests)][1])
    found: list[Evidence[Any]] = []
    for _ in range(20):
        started = time.perf_counter()
        found = retrieved(gateway, search, questions, 5)
        seconds.append(time.perf_counter() - started)
    round_trips = len(sent) / 20
    capital, two_hops, people = found
    assert [e.id for e in capital.items[0].value.ends] == ["city"]
    assert str(two_hops.items[0].value.relation_path) == "person.nationality → country.capital"
    assert (len(people.items[0].value.ends), people.items[0].value.cut) == (search.bounds.fan_out, True)
    assert people.cuts
    # Hops + 1 for the batch, and one for each relation chosen at the hub: three at the first hop and three at the second.
    assert round_trips <= 2 + 1 + 6
    # A walk over all the hub's edges takes several times this on the slowest machine this was run on.
    assert min(seconds[1:]) < 1.0
