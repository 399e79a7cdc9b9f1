"""ReG's chains on random triples: what is in them, what is not, and that the graph's own are the same."""

from __future__ import annotations

from itertools import permutations, product

from hypothesis import given
from hypothesis import strategies as st
from lodestar.engine.evidence.bridges import triples_of
from lodestar.engine.evidence.chain import Chain
from lodestar.engine.evidence.evidence import Evidence
from lodestar.engine.reorganising.chaining import ExpansionBounds, chain_triples, expand_to_chains
from lodestar.engine.values import Entity, Question, Scored, Topic, Triple

ENTITIES = [Entity(name, name) for name in "abcde"]
VALUE = Entity('"1821"', "1821", is_literal=True)
triples = st.lists(
    st.builds(
        Triple, st.sampled_from(ENTITIES), st.sampled_from(["r", "s"]), st.sampled_from([*ENTITIES, *ENTITIES, VALUE])
    ),
    max_size=7,
    unique=True,
)
topics = st.lists(st.sampled_from(ENTITIES), max_size=3, unique=True)
all_bounds = st.builds(ExpansionBounds, st.integers(1, 3), st.just(10_000), st.booleans())


def written_out(facts: list[Triple], topic: Entity, bounds: ExpansionBounds) -> set[tuple[int, ...]]:
    """Every chain from a topic, found by trying all orders of triples in all directions."""
    found = set()
    for length in range(1, bounds.max_length + 1):
        for places in permutations(range(len(facts)), length):
            for ways in product((0, 1), repeat=length):
                here: Entity | None = topic
                for place, inverse in zip(places, ways, strict=True):
                    fact = facts[place]
                    source, target = (fact.tail, fact.head) if inverse else (fact.head, fact.tail)
                    is_step = here == source and not source.is_literal and not (inverse and fact.head == fact.tail)
                    here = target if is_step else None
                    if here is None:
                        break
                if here is not None and (bounds.turning or len(set(ways)) == 1):
                    found.add(tuple(2 * place + inverse for place, inverse in zip(places, ways, strict=True)))
    return found


@given(triples, topics, all_bounds)
def test_every_chain_is_there_once_and_shorter_ones_come_first(
    facts: list[Triple], start: list[Entity], bounds: ExpansionBounds
) -> None:
    for topic, levels in zip(start, chain_triples(facts, start, bounds), strict=True):
        chains = [chain for level in levels for chain in level]
        assert len(set(chains)) == len(chains)
        assert set(chains) == written_out(facts, topic, bounds)
        assert [len(chain) for chain in chains] == sorted(map(len, chains))


@given(triples, topics, st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_a_bound_keeps_the_first(
    facts: list[Triple], start: list[Entity], length: int, most: int, turning: bool
) -> None:
    whole = chain_triples(facts, start, ExpansionBounds(length, 10_000, turning))
    cut = chain_triples(facts, start, ExpansionBounds(length, most, turning))
    for levels, some in zip(whole, cut, strict=True):
        assert some[0] == levels[0][: most + 1]
        assert all(set(few) <= set(level) and len(few) <= most + 1 for few, level in zip(some, levels, strict=True))


def reorganised(facts: list[Triple], start: list[Entity], bounds: ExpansionBounds) -> Evidence[Chain]:
    items = tuple(Scored(fact, 1 - place / 10) for place, fact in enumerate(facts))
    evidence = Evidence(Question("?"), tuple(map(Topic, start)), "triple", items)
    return expand_to_chains(evidence, bounds, 10_000)


@given(triples, topics, all_bounds)
def test_merging_keeps_every_answer_and_no_relation_path_twice(
    facts: list[Triple], start: list[Entity], bounds: ExpansionBounds
) -> None:
    reached = {
        (topic, step.head if chain[-1] & 1 else step.tail)
        for topic in start
        for chain in written_out(facts, topic, bounds)
        for step in [facts[chain[-1] >> 1]]
    }
    chains = [each.value for each in reorganised(facts, start, bounds).items]
    assert {(chain.topic, end) for chain in chains for end in chain.ends} == {
        (topic, end) for topic, end in reached if end not in start
    }
    paths = [(chain.topic, chain.relation_path) for chain in chains]
    assert len(set(paths)) == len(paths)
    assert {triple for chain in chains for triple in triples_of(chain)} <= set(facts)
    if not bounds.turning:
        assert all(len({step.inverse for step in chain.relation_path.steps}) == 1 for chain in chains)
