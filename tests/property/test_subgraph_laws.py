"""Question subgraphs on random multigraphs: what the definition in plain loops gives, whatever the bounds and the batch."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from lodestar.engine.retrieval.subgraph import SubgraphBatch
from lodestar.engine.retrieval.subgraph.walking import (
    SubgraphBounds,
    SubgraphExtractor,
    SubgraphQuery,
)

from tests.conftest import examples
from tests.fakes.call_context import make_context
from tests.fakes.memory_graph import MemoryGraph
from tests.fakes.number_proposer import NumberProposer
from tests.references.subgraph import Store, plain, reference

IDS = [f"e{i}" for i in range(8)]
LITERALS = {'"1"': "1", '"two"@en': "two"}
RELATIONS = ["alpha", "beta", "gamma", "delta"]

triples = st.lists(
    st.tuples(st.sampled_from(IDS), st.sampled_from(RELATIONS), st.sampled_from([*IDS, *LITERALS])),
    min_size=1,
    max_size=30,
)
unnamed = st.sets(st.sampled_from(IDS), max_size=4)
related = st.sets(st.sampled_from(RELATIONS), max_size=2)
bounds = st.builds(
    SubgraphBounds,
    fan_out=st.integers(1, 4) | st.just(500),
    node_triples=st.integers(1, 8) | st.just(2_000),
    question_triples=st.integers(0, 20) | st.just(10_000),
)
queries = st.lists(
    st.builds(
        SubgraphQuery,
        st.sampled_from(["", "alpha?", "which gamma has delta"]),
        st.lists(st.sampled_from([*IDS, "nowhere", *LITERALS]), max_size=3).map(tuple),
        st.integers(0, 3),
        bounds,
    ),
    max_size=4,
)
hub_degrees = st.sampled_from([1, 3, 2_000])


def store_of(graph: MemoryGraph) -> Store:
    ends: dict[tuple[str, int], list[str]] = {}
    for head, relation, tail in graph.triples:
        ends.setdefault((head, graph.relations[relation]), []).append(tail)
        if tail not in graph.literals:
            ends.setdefault((tail, -graph.relations[relation]), []).append(head)
    mediators = frozenset(id_ for id_, name in graph.names.items() if name is None)
    return Store(ends, mediators, frozenset(graph.literals), frozenset(graph.names))


def graph_of(edges: list[tuple[str, str, str]], bare: set[str], shared: set[str]) -> MemoryGraph:
    names = {id_: id_ for id_ in IDS if id_ not in bare}
    return MemoryGraph(edges, names, literals=LITERALS, related=shared)


def extract(
    graph: MemoryGraph, asked: list[SubgraphQuery], hub_degree: int, proposer: NumberProposer | None = None
) -> SubgraphBatch:
    subgraphs = SubgraphExtractor(
        graph.numbered,
        proposer=proposer,
        num_relations=NumberProposer.num_relations,
        stored_as=graph.stored_as,
        hub_degree=hub_degree,
    )
    return subgraphs.extract(make_context(graph).db, asked)


@settings(max_examples=examples(300))
@given(triples, unnamed, related, queries, hub_degrees, st.booleans())
def test_a_batch_is_what_the_definition_gives(
    edges: list[tuple[str, str, str]],
    bare: set[str],
    shared: set[str],
    asked: list[SubgraphQuery],
    hub_degree: int,
    proposed: bool,
) -> None:
    graph = graph_of(edges, bare, shared)
    proposer = NumberProposer() if proposed else None
    batch = extract(graph, asked, hub_degree, proposer)
    store = store_of(graph)
    expected = [reference(store, query, proposer.choose if proposer else None) for query in asked]
    assert [plain(subgraph) for subgraph in batch] == expected
    assert [subgraph.ids for subgraph in batch] == [list(each.hops) for each in expected]
