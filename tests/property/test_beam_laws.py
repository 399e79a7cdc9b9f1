"""Laws of the search on random multigraphs, with parallel relations and self-loops."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from lodestar.engine.data_model import Chain, Question
from lodestar.engine.evidence import Evidence
from lodestar.engine.retrieval.beam import BeamSearch

from tests.fakes.memory_graph import MemoryGraph
from tests.fakes.word_scorer import WordScorer
from tests.made.evidence import retrieved

IDS = [f"e{i}" for i in range(8)]
RELATIONS = ["alpha", "beta", "gamma", "delta"]

triples = st.lists(
    st.tuples(st.sampled_from(IDS), st.sampled_from(RELATIONS), st.sampled_from(IDS)), min_size=1, max_size=25
)
unnamed = st.sets(st.sampled_from(IDS), max_size=2)
questions = st.lists(
    st.tuples(st.lists(st.sampled_from(RELATIONS), min_size=1).map(" ".join), st.sampled_from(IDS)),
    min_size=1,
    max_size=4,
)


def run(graph: MemoryGraph, asked: list[tuple[str, str]], top_k: int = 10) -> list[Evidence[Chain]]:
    beam = BeamSearch(graph.numbered, WordScorer(), max_hop=3)
    return retrieved(graph, beam, [Question(text, (topic,)) for text, topic in asked], top_k)


def graph_of(edges: list[tuple[str, str, str]], without_name: set[str]) -> MemoryGraph:
    return MemoryGraph(edges, {i: i for i in IDS if i not in without_name})


@given(triples, unnamed, questions)
def test_batched_equals_single(edges: list[tuple[str, str, str]], bare: set[str], asked: list[tuple[str, str]]) -> None:
    graph = graph_of(edges, bare)
    assert run(graph, asked) == [run(graph, [one])[0] for one in asked]


@given(triples, unnamed, questions, st.integers(1, 9))
def test_a_smaller_top_k_is_a_prefix(
    edges: list[tuple[str, str, str]], bare: set[str], asked: list[tuple[str, str]], k: int
) -> None:
    graph = graph_of(edges, bare)
    assert [r.items for r in run(graph, asked, k)] == [r.items[:k] for r in run(graph, asked)]


@given(triples, unnamed, questions)
def test_every_triple_is_in_the_graph_and_every_path_leads_from_topic_to_end(
    edges: list[tuple[str, str, str]], bare: set[str], asked: list[tuple[str, str]]
) -> None:
    graph = graph_of(edges, bare)
    known = set(edges)
    for evidence in run(graph, asked):
        for scored in evidence.items:
            path = scored.value
            instances = path.instances()
            assert [i[-1][1] for i in instances] == list(path.ends)
            assert {(t.head.id, t.relation, t.tail.id) for step in path.triples() for t in step} <= known
            for instance in instances:
                assert instance[0][0] == path.topic
                assert all(one[1] == other[0] for one, other in pairwise(instance))
                assert {(t.head.id, t.relation, t.tail.id) for t in path.triples_of(instance)} <= known
