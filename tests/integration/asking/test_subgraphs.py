"""Question subgraphs and chains from a real Neo4j: what plain Python gives, in one query a step, with hubs read by relation."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from random import Random

import neo4j
import numpy as np
import pytest
from lodestar import Engine
from lodestar.engine.data_model import Entity, Scored, Triple
from lodestar.engine.evidence.chains_and_triples import GroundedRelationPath, find_paths_through_triples
from lodestar.engine.neo4j import QueryTemplate, Request
from lodestar.engine.neo4j.catalogue import RelationCatalogue, read_catalogue
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j.graph_requests import find_paths_between
from lodestar.engine.retrieval.subgraphs import (
    FloatArray,
    RelationQuery,
    SubgraphBounds,
    SubgraphExtractor,
    SubgraphQuery,
)
from lodestar.engine.settings import Connection

from tests.fakes.memory_graph import MemoryGraph
from tests.made.plain_graph import write_graph
from tests.references.subgraph import Store, plain, reference

IDS = [f"e{i}" for i in range(14)]
RELATIONS = ["alpha", "beta.x", "gamma`]->() //", "delta|y z", "RELATED"]
LITERALS = {'"1821-07-28"': "1821-07-28", '"Firme y feliz"@es': "Firme y feliz", '""': ""}


class NumberProposer:
    """Proposes relations by number and length of the question: the order is fixed and means nothing."""

    num_relations = 3

    def score(self, queries: Sequence[RelationQuery]) -> list[FloatArray]:
        return [np.array([self.of(q.question, int(n)) for n in q.relations], dtype=np.float32) for q in queries]

    def choose(self, question: str, relations: Sequence[int]) -> Sequence[int]:
        """The relations that are walked, best first; ties stay in their order."""
        return sorted(relations, key=lambda n: -self.of(question, n))[: self.num_relations]

    @staticmethod
    def of(question: str, number: int) -> int:
        return -((number + len(question)) % 5)


def store_of(
    driver: neo4j.Driver, catalogue: RelationCatalogue, names: Mapping[str, str], literals: Collection[str]
) -> Store:
    """What stands at each entity, in the order in which the store gives it."""
    numbers = {relation.name: relation.number for relation in catalogue.relations}
    ends: dict[tuple[str, int], list[str]] = {}
    entities = driver.execute_query("MATCH (e:Entity) RETURN e.id").records
    for (id_,) in entities:
        for sign, text in (
            (1, "MATCH (:Entity {id: $id})-[r]->(t) RETURN coalesce(r.relation, type(r)), t.id"),
            (-1, "MATCH (:Entity {id: $id})<-[r]-(t) RETURN coalesce(r.relation, type(r)), t.id"),
        ):
            for relation, end in driver.execute_query(text, id=id_).records:
                ends.setdefault((id_, sign * numbers[relation]), []).append(end)
    known = frozenset(id_ for (id_,) in entities)
    return Store(ends, known - names.keys(), frozenset(literals), known)


def queries(rng: random.Random) -> list[SubgraphQuery]:
    return [
        SubgraphQuery(
            "?" * rng.randrange(4),
            tuple(rng.sample([*IDS, "nowhere"], rng.randrange(1, 3))),
            rng.randrange(1, 4),
            SubgraphBounds(rng.choice([1, 2, 500]), rng.choice([3, 8, 2_000]), rng.choice([5, 15, 40, 10_000])),
        )
        for _ in range(25)
    ]


@pytest.mark.usefixtures("empty_graph")
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
@pytest.mark.parametrize("hub_degree", [3, *(pytest.param(degree, marks=pytest.mark.long) for degree in (1, 2_000))])
def test_neo4j_gives_what_the_definition_gives(
    gateway: Gateway, connection: Connection, driver: neo4j.Driver, seed: int, hub_degree: int
) -> None:
    rng = random.Random(seed)
    triples = [(rng.choice(IDS), rng.choice(RELATIONS), rng.choice([*IDS, *IDS, *LITERALS])) for _ in range(90)]
    triples += [("e0", "alpha", "e0"), ("e0", "alpha", "e1"), ("e0", "beta.x", "e1")]
    names = {id_: id_ for id_ in IDS if rng.random() < 0.7}
    write_graph(driver, gateway, triples, names, literals=LITERALS, related={"delta|y z", "RELATED"})
    catalogue = gateway.run(read_catalogue())
    store = store_of(driver, catalogue, names, LITERALS)
    relations = {relation.number: relation.name for relation in catalogue.relations}
    asked = queries(rng)
    for proposer in (None, NumberProposer()):
        subgraphs = SubgraphExtractor(
            relations,
            proposer=proposer,
            num_relations=NumberProposer.num_relations,
            stored_as=catalogue.stored_as,
            hub_degree=hub_degree,
        )
        expected = [reference(store, query, proposer.choose if proposer else None) for query in asked]
        batch = subgraphs.extract(gateway, asked)
        assert plain(batch) == expected
        assert [found for query in asked[:6] for found in plain(subgraphs.extract(gateway, [query]))] == expected[:6]
        assert any(plain_.is_cut for plain_ in expected)
    names_found = {entity.id: entity.name for entity in batch.table}
    assert {id_: name for id_, name in names_found.items() if name is not None} == {
        id_: (names | LITERALS)[id_] for id_ in names_found if id_ in names or id_ in LITERALS
    }


LIMITS = ((4, 1_000), (1, 1_000), (8, 30), (3, 2))
"""Longest path, and paths kept of each length."""


@pytest.fixture(scope="module")
def graph_triples(engine: Engine) -> list[Triple]:
    """All triples of the graph, with literals."""
    query = (
        "MATCH (h:Entity)-[r]->(t:Entity|Literal) "
        "RETURN h.id, h.name, coalesce(r.relation, type(r)), t.id, coalesce(t.name, t.value), t:Literal"
    )
    rows = engine.gateway().run(Request(QueryTemplate("all_triples", "read", query), {}, list))
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


def in_order(paths: list[GroundedRelationPath]) -> list[tuple[object, ...]]:
    return [(path.topic, path.steps, path.ends, path.parent, path.walked) for path in paths]


@pytest.mark.parametrize(("max_length", "max_paths"), LIMITS)
def test_the_database_expands_what_plain_python_does(
    engine: Engine, graph_triples: list[Triple], max_length: int, max_paths: int
) -> None:
    random = Random(0)
    batch = [asked_of(random, graph_triples) for _ in range(25)]
    memory = MemoryGraph((each.head.id, each.relation, each.tail.id) for each in graph_triples)
    found = find_paths_through_triples(engine.gateway(), [*batch, ([], [])], max_length, max_paths)
    wanted = find_paths_through_triples(memory, [*batch, ([], [])], max_length, max_paths)
    assert [in_order(each) for each in found] == [in_order(each) for each in wanted]
    assert max(len(path.steps) for each in found for path in each) == max_length


def test_the_database_joins_topics_as_plain_python_does(engine: Engine, graph_triples: list[Triple]) -> None:
    ids = sorted({end.id for each in graph_triples for end in (each.head, each.tail) if not end.is_literal})
    literals = {each.tail.id: each.tail.label for each in graph_triples if each.tail.is_literal}
    memory = MemoryGraph(((t.head.id, t.relation, t.tail.id) for t in graph_triples), literals=literals)
    pairs = [tuple(pair) for pair in itertools.combinations(ids, 2)][:300]
    for max_paths, max_degree in ((1_000, 1_000), (1_000, 4)):
        found, wanted = (
            sorted(db.run(find_paths_between(pairs, max_paths, max_degree))) for db in (engine.gateway(), memory)
        )
        assert found == wanted and {len(nodes) for _, _, nodes in found} >= {0, 1}
    few = engine.gateway().run(find_paths_between(pairs, 1))
    assert max(Counter(pair for pair, *_ in few).values()) == 2
