"""Chains whose triples are partly missing are completed from a real graph."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from lodestar import Engine
from lodestar.engine.evidence import Evidence
from lodestar.engine.neo4j.catalogue import read_catalogue
from lodestar.engine.reorganising import CompleteChains
from lodestar.engine.values import Chain, ChainStep, Entity, Question, RelationStep, Scored

from tests.fakes.call_context import make_context

QUESTIONS = (
    Question("What is spoken in the countries of South America?", ("m.south_america",)),
    Question("What do the neighbours of Peru speak?", ("m.peru",)),
    Question("Who shares an office with the presidents of Peru and Chile?", ("m.peru", "m.chile")),
)


@pytest.fixture(scope="module")
def searches(engine: Engine) -> list[Evidence[Any]]:
    """What a search finds, without chains that meet and those with a step that leads back."""
    searched: list[Evidence[Any]] = list(engine.retrieve_batch(QUESTIONS, top_k=40, plans=False))
    return [
        replace(each, items=tuple(i for i in each.items if not i.value.targets and not leads_back(i.value)))
        for each in searched
    ]


def leads_back(chain: Chain) -> bool:
    steps = [each.step for each in chain.steps]
    return any(one.relation == two.relation and one.inverse != two.inverse for one, two in itertools.pairwise(steps))


def first_links_alone(item: Scored[Chain]) -> Scored[Chain]:
    """Return a chain with one way from the topic to its first end."""
    chain = item.value
    links = next(iter(chain.instance_links()))
    steps = tuple(ChainStep(step.step, (link,)) for step, link in zip(chain.steps, links, strict=True))
    return Scored(replace(chain, steps=steps, ends=chain.ends[:1]), item.score)


def in_any_order(evidence: Evidence[Any]) -> list[Any]:
    """Return score, relations, triples and ends of each chain; the graph gives triples in no certain order."""
    return [
        (item.score, item.value.relation_path, [set(step.links) for step in item.value.steps], set(item.value.ends))
        for item in evidence.items
    ]


def complete(engine: Engine, evidence: list[Evidence[Any]], *, chains: int = 1_000) -> list[Evidence[Any]]:
    gateway = engine.gateway()
    return CompleteChains(chains)(make_context(gateway, stored_as=gateway.run(read_catalogue()).stored_as), evidence)


def test_a_completed_chain_is_the_one_that_a_search_finds(engine: Engine, searches: list[Evidence[Any]]) -> None:
    cut = [replace(each, items=tuple(map(first_links_alone, each.items))) for each in searches]
    assert any(before != after for before, after in zip(searches, cut, strict=True))
    assert any(len(item.value.steps) > 1 and len(item.value.ends) > 1 for each in searches for item in each.items)
    wanted = list(map(in_any_order, searches))
    assert list(map(in_any_order, complete(engine, cut))) == wanted
    assert list(map(in_any_order, complete(engine, searches))) == wanted


def test_no_step_walks_the_triple_before_it_back(engine: Engine, searches: list[Evidence[Any]]) -> None:
    """Peru and Chile speak Spanish: the way there and back from Peru leads to Chile alone, and so to Chile's capital.
    Two ways lead to Spanish from the continent, so that each of the two may be walked back of the other."""
    peru, chile, spanish, continent = (
        Entity(f"m.{name.lower().replace(' ', '_')}", name) for name in ("Peru", "Chile", "Spanish", "South America")
    )
    contains, speaks = RelationStep("location.location.contains"), RelationStep("location.country.official_language")
    spoken_in, capital = replace(speaks, inverse=True), RelationStep("location.country.capital")
    to_spanish, to_chile = ChainStep(speaks, ((peru, spanish),)), ChainStep(spoken_in, ((spanish, chile),))
    lima = Entity("m.lima", "Lima")
    from_peru = Chain(peru, (to_spanish, to_chile, ChainStep(capital, ((chile, lima),))), (lima,))
    all_ways = (ChainStep(contains, ((continent, peru),)), to_spanish, to_chile)
    topics = tuple(topic for each in searches for topic in each.topics if topic.entity.id != chile.id)
    evidence = replace(
        searches[0], topics=topics, items=(Scored(from_peru, 1.0), Scored(Chain(continent, all_ways, (chile,)), 0.5))
    )
    (completed,) = complete(engine, [evidence])
    first, second = (item.value for item in completed.items)
    assert [end.name for end in first.ends] == ["Santiago de Chile"]
    assert set(second.steps[2].links) == {(spanish, peru), (spanish, chile)}
