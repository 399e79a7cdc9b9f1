"""Path Pooling as Cypher, over a real Neo4j: the same scores as in memory, whatever the triples, in one request."""

from __future__ import annotations

from itertools import product

import neo4j
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lodestar.engine.evidence.evidence import Evidence
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.reorganising.pooling import PathSmoothing
from lodestar.engine.steps import drive
from lodestar.engine.values import Entity, Question, Scored, Topic, Triple
from lodestar.models.path_pooling import Pooling

from tests.conftest import emptied
from tests.plain_graph import write_graph

ENTITIES = [Entity(f"e{i}", f"e{i}") for i in range(6)]
VALUE = Entity('"1821-07-28"', "1821-07-28", is_literal=True)
RELATIONS = ["alpha", "delta|y z"]
FACTS = [Triple(head, relation, tail) for head, relation, tail in product(ENTITIES, RELATIONS, [*ENTITIES, VALUE])]

scores = st.integers(0, 8).map(lambda n: n / 8) | st.floats(0, 1)  # eighths meet often: equally good ways
items = st.lists(st.builds(Scored, st.sampled_from(FACTS), scores), max_size=16, unique_by=lambda item: item.value)
topics = st.lists(st.builds(Topic, st.sampled_from([*ENTITIES, Entity("nowhere")])), max_size=3, unique=True)
questions = st.builds(
    lambda topics, items: Evidence(Question("?"), tuple(topics), "triple", tuple(items)), topics, items
)


@pytest.fixture(scope="module")
def graph(gateway: Gateway, driver: neo4j.Driver, connection: object) -> Gateway:
    emptied(driver, connection.database)  # type: ignore[attr-defined]
    write_graph(
        driver,
        gateway,
        [(fact.head.id, fact.relation, fact.tail.id) for fact in FACTS],
        {entity.id: entity.id for entity in ENTITIES},
        literals={VALUE.id: "1821-07-28"},
        related={"delta|y z"},
    )
    return gateway


def shown(evidence: list[Evidence[Triple]]) -> list[list[tuple[Triple, float]]]:
    return [[(item.value, item.score) for item in each.items] for each in evidence]


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    asked=st.lists(questions, max_size=6),
    pooling=st.builds(Pooling, pool=st.sampled_from(["mean", "max"]), position=st.sampled_from([1.0, 0.5, -2.0])),
    keep=st.none() | st.integers(1, 9),
    coarse=st.none() | st.integers(1, 12),
)
def test_neo4j_gives_what_memory_gives(
    graph: Gateway, asked: list[Evidence[Triple]], pooling: Pooling, keep: int | None, coarse: int | None
) -> None:
    there = PathSmoothing(pooling, keep=keep, coarse=coarse, in_database=True)
    here = PathSmoothing(pooling, keep=keep, coarse=coarse)
    assert shown(graph.run(there.reorganise(asked))) == shown(drive(here.reorganise(asked), lambda _: []))


def line(*facts: tuple[str, str, float], relation: str = "alpha") -> Evidence[Triple]:
    items = tuple(Scored(Triple(Entity(h), relation, Entity(t)), score) for h, t, score in facts)
    return Evidence(Question("?"), (Topic(ENTITIES[0]),), "triple", items)


def test_a_long_way_and_a_batch_are_one_request(graph: Gateway) -> None:
    way = line(*((f"e{i}", f"e{i + 1}", 0.5 + i / 10) for i in range(5)))
    before = graph.round_trips
    found = graph.run(PathSmoothing(Pooling(), keep=None, coarse=None, in_database=True).reorganise([way, way]))
    assert graph.round_trips - before == 1
    assert found[0] == found[1]
    assert found[0].items[0].score == pytest.approx(0.7 + 0.5)


def test_what_the_graph_lacks_is_a_path_of_its_own(graph: Gateway) -> None:
    """Of e0 → e1 → e2 with relations that nobody has: 0.2 + 0.2 and 0.8 + 0.2; in memory the mean of both is 0.5."""
    lacking = line(("e0", "e1", 0.2), ("e1", "e2", 0.8), relation="unheard")
    (found,) = graph.run(PathSmoothing(Pooling(), keep=None, coarse=None, in_database=True).reorganise([lacking]))
    assert [item.score for item in found.items] == pytest.approx([1.0, 0.4])
