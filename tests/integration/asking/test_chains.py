"""Chains that a real database expands are those of plain Python, whatever the triples; what it lacks is in none."""

from __future__ import annotations

import itertools
from collections import Counter
from random import Random

import pytest
from lodestar import Engine
from lodestar.engine.evidence.bridges import GrownPath, grow_paths
from lodestar.engine.neo4j import Request, Template
from lodestar.engine.neo4j.graph import find_joining_paths
from lodestar.engine.values import Entity, Scored, Triple

from tests.fakes.memory_graph import MemoryGraph

LIMITS = ((4, 1_000), (1, 1_000), (8, 30), (3, 2))
"""Longest path, and paths kept of each length."""


@pytest.fixture(scope="module")
def graph_triples(engine: Engine) -> list[Triple]:
    """All triples of the graph, with literals."""
    query = (
        "MATCH (h:Entity)-[r]->(t:Entity|Literal) "
        "RETURN h.id, h.name, coalesce(r.relation, type(r)), t.id, coalesce(t.name, t.value), t:Literal"
    )
    rows = engine.gateway().run(Request(Template("all_triples", "read", query), {}, list))
    return sorted(
        (
            Triple(Entity(h, name), r, Entity(t, text, is_literal=is_literal))
            for h, name, r, t, text, is_literal in rows
        ),
        key=lambda each: (each.head.id, each.relation, each.tail.id),
    )


def asked_of(random: Random, triples: list[Triple]) -> tuple[list[Scored[Triple]], list[Entity]]:
    """Some of the triples with scores, some that the graph lacks, and topics from their ends."""
    chosen = random.sample(triples, random.randint(1, min(40, len(triples))))
    others = [Triple(each.tail, each.relation, each.head) for each in chosen[:5] if not each.tail.is_literal]
    mixed = [*chosen, *(each for each in others if each not in triples)]
    random.shuffle(mixed)
    ends = sorted({each.head for each in chosen}, key=lambda end: end.id)
    topics = random.sample(ends, min(len(ends), random.randint(1, 3)))
    return [Scored(each, random.choice((0.1, 0.5, 0.7, 0.9))) for each in mixed], topics


def in_order(paths: list[GrownPath]) -> list[tuple[object, ...]]:
    return [(path.topic, path.steps, path.ends, path.parent, path.walked) for path in paths]


@pytest.mark.parametrize(("max_length", "max_paths"), LIMITS)
def test_the_database_expands_what_plain_python_does(
    engine: Engine, graph_triples: list[Triple], max_length: int, max_paths: int
) -> None:
    random = Random(0)
    batch = [asked_of(random, graph_triples) for _ in range(25)]
    memory = MemoryGraph((each.head.id, each.relation, each.tail.id) for each in graph_triples)
    found = grow_paths(engine.gateway(), [*batch, ([], [])], max_length, max_paths)
    wanted = grow_paths(memory, [*batch, ([], [])], max_length, max_paths)
    assert [in_order(each) for each in found] == [in_order(each) for each in wanted]
    assert max(len(path.steps) for each in found for path in each) == max_length


def test_the_database_joins_topics_as_plain_python_does(engine: Engine, graph_triples: list[Triple]) -> None:
    ids = sorted({end.id for each in graph_triples for end in (each.head, each.tail) if not end.is_literal})
    literals = {each.tail.id: each.tail.label for each in graph_triples if each.tail.is_literal}
    memory = MemoryGraph(((t.head.id, t.relation, t.tail.id) for t in graph_triples), literals=literals)
    pairs = [tuple(pair) for pair in itertools.combinations(ids, 2)][:300]
    for max_paths, max_degree in ((1_000, 1_000), (1_000, 4)):
        found, wanted = (
            sorted(db.run(find_joining_paths(pairs, max_paths, max_degree))) for db in (engine.gateway(), memory)
        )
        assert found == wanted and {len(nodes) for _, _, nodes in found} >= {0, 1}
    few = engine.gateway().run(find_joining_paths(pairs, 1))
    assert max(Counter(pair for pair, *_ in few).values()) == 2
