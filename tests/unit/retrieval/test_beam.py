"""A beam search over a graph in memory: what a step reads, from which entities, and what the entities that it reaches propose."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, cast

import numpy as np
import pytest
from lodestar.engine.data_model import Chain, Entity, Question, RelationPath, RelationStep
from lodestar.engine.evidence import Evidence
from lodestar.engine.neo4j.graph_requests import read_signatures
from lodestar.engine.retrieval import FloatArray, merge_mediator_hops
from lodestar.engine.retrieval.beam import BeamSearch
from lodestar.engine.retrieval.frontier import (
    Frontier,
    FrontierBounds,
    FrontierTree,
    is_return_path,
)
from lodestar.engine.retrieval.star import ShortlistRescorer
from lodestar.models.star.shipped import HopSequence
from lodestar.models.text import RelationWords

from tests.fakes.call_context import make_context
from tests.fakes.memory_graph import MemoryGraph
from tests.fakes.word_scorer import WordScorer
from tests.made.evidence import retrieved

WORLD = MemoryGraph(
    [
        ("Peru", "capital", "Lima"), ("Peru", "currency", "Sol"), ("Chile", "capital", "Santiago"),
        ("Peru", "borders", "Chile"), ("Peru", "borders", "Brazil"), ("Brazil", "capital", "Brasilia"),
        ("Lima", "mayor_of_city", "Lima"), ("Peru", "population", "cvt1"), ("cvt1", "number", "33 million"),
        ("cvt1", "year", "2020"),
    ],
    names={n: n for n in ("Peru", "Lima", "Sol", "Chile", "Santiago", "Brazil", "Brasilia", "33 million", "2020")},
)  # fmt: skip


def search(
    graph: MemoryGraph, texts: Sequence[tuple[str, str]], top_k: int = 10, **options: Any
) -> list[Evidence[Chain]]:
    bounds = FrontierBounds(**{k: options.pop(k) for k in list(options) if k in FrontierBounds.__dataclass_fields__})
    beam = BeamSearch(graph.numbered, WordScorer(), bounds=bounds, **options)
    return retrieved(graph, beam, [Question(text, tuple(topic.split(","))) for text, topic in texts], top_k)


def best(found: Evidence[Chain]) -> tuple[RelationPath, set[str]]:
    path = found.items[0].value
    return path.relation_path, {end.id for end in path.ends}


def test_two_hops_with_several_answers_and_their_entity_paths() -> None:
    (found,) = search(WORLD, [("capital of what borders it", "Peru")])
    path, ends = best(found)
    assert (str(path), ends) == ("borders → capital", {"Santiago", "Brasilia"})
    chain = found.items[0].value
    for instance in chain.instances():
        assert all((t.head.id, t.relation, t.tail.id) in WORLD.triples for t in chain.triples_of(instance))


@pytest.mark.parametrize(
    ("relation", "last", "says_so", "not_"),
    [
        ("director", "star", "star of what shares a director with a", "star of the director of a"),
        ("owner", "seat", "seat of what is owned by the owner of a", "seat of the owner of a"),
        ("teacher", "town", "town of other pupils of the teacher of a", "town of the teacher of a"),
    ],
)
def test_there_and_back_goes_a_hop_further_where_the_question_says_so(
    relation: str, last: str, says_so: str, not_: str
) -> None:
    graph = MemoryGraph([("a", relation, "m"), ("b", relation, "m"), ("b", last, "s")], names={n: n for n in "abms"})
    for text, longest in ((says_so, 3), (not_, 2)):
        (found,) = search(graph, [(text, "a")])
        assert max(item.value.relation_path.num_hops for item in found.items) == longest
        assert all(
            len(set(map(str, item.value.relation_path.steps))) == len(item.value.relation_path.steps)
            for item in found.items
        )


@pytest.mark.parametrize(
    "chain", [("wife", "mother", "home"), ("author", "editor", "town"), ("part", "maker", "owner")]
)
def test_a_chain_of_three_links_has_three_hops_where_the_question_says_so(chain: tuple[str, ...]) -> None:
    one, two, three = chain
    graph = MemoryGraph([("a", one, "b"), ("b", two, "c"), ("c", three, "d")], names={n: n for n in "abcd"})
    for text, longest in (
        (f"What is the {three} of the {two} of a's {one}?", 3),
        (f"What is a's {one}'s {two}'s {three}?", 3),
        (f"Which of the {three}s is the {three} of a's {one}?", 2),
    ):
        (found,) = search(graph, [(text, "a")])
        assert max(item.value.relation_path.num_hops for item in found.items) == longest


def test_a_path_does_not_end_at_a_mediator_and_crossing_it_is_one_hop() -> None:
    (found,) = search(WORLD, [("population number", "Peru")], max_hop=1)
    path, ends = best(found)
    assert path == RelationPath((RelationStep("population", to_mediator=True), RelationStep("number")))
    assert ends == {"33 million"}
    assert all(end.name for scored in found.items for end in scored.value.ends)


def test_the_topic_is_no_answer() -> None:
    (found,) = search(WORLD, [("mayor of city", "Lima")])
    assert all("Lima" not in {e.id for e in scored.value.ends} for scored in found.items)


def test_the_topic_is_an_answer_where_that_is_asked_for_and_no_path_walks_straight_back() -> None:
    (found,) = search(WORLD, [("capital of office", "Lima")], return_to_topic=True)
    to_topic = [scored.value for scored in found.items if "Lima" in {end.id for end in scored.value.ends}]
    assert to_topic
    assert not any(is_return_path(path.relation_path.steps) for path in to_topic)


class SecondThoughts:
    """Says 5, 4, 3 and so on from the last pair that it is given to read to the first."""

    def __init__(self) -> None:
        self.asked: list[HopSequence] = []

    def cross(self, pairs: Sequence[tuple[str, str, HopSequence]]) -> FloatArray:
        self.asked = [path for _, _, path in pairs]
        return np.arange(6 - len(pairs), 6, dtype=np.float32)


def test_the_best_of_what_was_found_are_read_again_all_questions_together() -> None:
    texts = [("capital of what borders it", "Peru"), ("capital?", "Atlantis"), ("population number", "Peru")]
    questions = [Question(text, (topic,)) for text, topic in texts]
    usual = search(WORLD, texts)
    words, reader = {name: RelationWords("", (name,)) for _, name, _ in WORLD.triples}, SecondThoughts()
    found = retrieved(WORLD, BeamSearch(WORLD.numbered, WordScorer()), questions)
    rescorer = ShortlistRescorer(words, cast(Any, reader), shortlist=3, found=0.0, read=1.0, link_weight=0.5)
    again = rescorer(make_context(), found)
    before = [[str(item.value.relation_path) for item in each.items] for each in usual]
    after = [[str(item.value.relation_path) for item in each.items] for each in again]
    assert [len(each) > 3 for each in before] == [True, False, True]
    read = [item.value.relation_path for each in (found[0], found[2]) for item in each.items[:3]]
    assert reader.asked == [merge_mediator_hops(path, words) for path in read]
    assert [item.score for item in again[2].items[:3]] == [5.0, 4.0, 3.0]
    for first, second, each in zip(before, after, again, strict=True):
        assert second == [*first[:3][::-1], *first[3:]]
        assert all(item.score < each.items[2].score for item in each.items[3:])


def test_round_trips_are_hops_plus_one_for_the_whole_batch() -> None:
    plain = MemoryGraph(t for t in WORLD.triples if "cvt1" not in t)
    search(plain, [("capital?", "Peru"), ("currency?", "Chile"), ("borders", "Brazil")] * 5)
    assert plain.requests == ["read_signatures", "expand_steps", "expand_steps"]


def test_every_triple_of_a_step_is_kept_and_each_end_has_one_instance() -> None:
    twice = MemoryGraph(
        [*WORLD.triples, ("Chile", "twin", "Rome"), ("Brazil", "twin", "Rome"), ("Brazil", "twin", "Bonn")]
    )
    (found,) = search(twice, [("twin of what borders", "Peru")])
    (chain,) = [item.value for item in found.items if str(item.value.relation_path) == "borders → twin"]
    assert [[(t.head.id, t.tail.id) for t in step] for step in chain.triples()] == [
        [("Peru", "Chile"), ("Peru", "Brazil")],
        [("Chile", "Rome"), ("Brazil", "Rome"), ("Brazil", "Bonn")],
    ]
    assert [[(start.id, end.id) for start, end in path] for path in chain.instances()] == [
        [("Peru", "Chile"), ("Chile", "Rome")],
        [("Peru", "Brazil"), ("Brazil", "Bonn")],
    ]


def test_a_bound_that_cuts_is_reported() -> None:
    star = MemoryGraph([("hub", "part", f"n{i}") for i in range(50)])
    (found,) = search(star, [("part", "hub")], fan_out=20)
    assert len(found.items[0].value.ends) == 20
    assert found.items[0].value.cut
    assert found.cuts == ("hub: part",)
    (whole,) = search(star, [("part", "hub")], fan_out=50)
    assert (len(whole.items[0].value.ends), whole.cuts) == (50, ())
    (narrow,) = search(WORLD, [("capital of what borders", "Peru")], max_sources=1)
    path, ends = best(narrow)
    assert (str(path), len(ends), narrow.items[0].value.cut) == ("borders → capital", 1, True)


def test_only_relations_of_a_shortlist_are_walked() -> None:
    asked: list[tuple[str, set[int]]] = []

    def shortlist(question: str, numbers: Collection[int]) -> list[int]:
        asked.append((question, set(numbers)))
        return [number for number in numbers if abs(number) != WORLD.relations["borders"]]

    (found,) = search(WORLD, [("capital of what borders Peru", "Peru")], shortlist=shortlist)
    assert all("borders" not in str(each.value.relation_path) for each in found.items) and found.items
    assert asked[0][0] == "capital of what borders" and asked[0][1] == set(WORLD.signature("Peru"))


def tree_of(graph: MemoryGraph, *topics: str, max_hop: int = 4, return_to_topic: bool = False) -> FrontierTree:
    """Return a tree with the frontiers of these topics, as a search begins it."""
    found = graph.run(read_signatures(topics))
    return FrontierTree(found, FrontierBounds(), max_hop, graph.stored_as, return_to_topic=return_to_topic)


def root(tree: FrontierTree, id_: str) -> Frontier:
    found = tree.root(Entity(id_))
    assert found is not None
    return found


def step_of(name: str) -> RelationStep:
    return RelationStep(name.removeprefix("^"), name.startswith("^"))


def walk(graph: MemoryGraph, tree: FrontierTree, topic: str, *names: str) -> Frontier:
    at = root(tree, topic)
    for name in names:
        (at,) = tree.expand(make_context(graph).db, [(at, step_of(name))])
    return at


def ids_of(frontier: Frontier) -> list[str]:
    return [end.id for end in frontier.ends]


def list_proposals(graph: MemoryGraph, frontier: Frontier) -> set[str]:
    return {str(each) for _, each in frontier.steps_on(graph.numbered)}


@pytest.mark.parametrize(
    ("triples", "path", "ends", "through_topic"),
    [
        (
            [("Alien", "by", "Scott"), ("Blade", "by", "Scott"), ("Alien", "in", "1979"), ("Blade", "in", "1982")],
            ("by", "^by", "in"),
            ["1982"],
            "1979",
        ),
        (
            [("Ann", "parent", "Eve"), ("Bob", "parent", "Eve"), ("Ann", "married", "Tom"), ("Bob", "married", "Sue")],
            ("parent", "^parent", "married"),
            ["Sue"],
            "Tom",
        ),
        (
            [("Hull", "near", "Leeds"), ("Leeds", "near", "Hull"), ("Leeds", "near", "York"), ("Hull", "has", "port")],
            ("near", "near", "has"),
            [],
            "port",
        ),
    ],
)
def test_a_path_does_not_walk_through_its_topic_again_unless_it_may_return(
    triples: list[tuple[str, str, str]], path: tuple[str, ...], ends: list[str], through_topic: str
) -> None:
    """What is by the director of Alien, is in 1982: Alien itself is not asked for."""
    graph = MemoryGraph(triples, names={name: name for head, _, tail in triples for name in (head, tail)})
    topic = triples[0][0]
    assert ids_of(walk(graph, tree_of(graph, topic), topic, *path)) == ends
    assert set(ids_of(walk(graph, tree_of(graph, topic, return_to_topic=True), topic, *path))) == {*ends, through_topic}


RECORDS = MemoryGraph(
    [
        ("ann", "job", "m1"),
        ("m1", "at", "firm"),
        ("m1", "since", "year"),
        ("ann", "note", "m2"),
        ("ann", "note", "bob"),
        ("m2", "of", "firm"),
    ],
    names={name: name for name in ("ann", "firm", "year", "bob")},
)


def test_only_a_step_whose_ends_all_lack_a_name_leads_into_records() -> None:
    tree = tree_of(RECORDS, "ann", "m1", max_hop=1)
    job, note, record = walk(RECORDS, tree, "ann", "job"), walk(RECORDS, tree, "ann", "note"), root(tree, "m1")
    assert [each.at_mediator for each in (job, note, record)] == [True, False, False]
    assert (list_proposals(RECORDS, job), list_proposals(RECORDS, record)) == ({"at", "since"}, {"^job", "at", "since"})
    assert list_proposals(RECORDS, note) == {"^note", "of"}, "at the end of the hop those without a name alone propose"
    assert ids_of(walk(RECORDS, tree, "ann", "job", "at")) == ["firm"]
    assert walk(RECORDS, tree, "ann", "job", "at").steps == (RelationStep("job", to_mediator=True), RelationStep("at"))


def test_the_branching_of_a_path_is_the_relations_that_lead_on_at_each_hop() -> None:
    """Two at Ann; at the record three, which is no place to choose, and so on at the firm: its two."""
    tree = tree_of(RECORDS, "ann")
    assert root(tree, "ann").log_branching() == pytest.approx(math.log(3))
    assert walk(RECORDS, tree, "ann", "job").log_branching() == pytest.approx(math.log(3))
    firm = walk(RECORDS, tree, "ann", "job", "at")
    assert firm.log_branching() == pytest.approx(math.log(3) + math.log(3))


THERE, BACK, ON = RelationStep("parent"), RelationStep("parent", inverse=True), RelationStep("child")
INTO, OUT = RelationStep("marriage", to_mediator=True), RelationStep("spouse", inverse=True)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((THERE,), False),
        ((THERE, BACK), True),
        ((THERE, THERE), False),
        ((THERE, ON), False),
        ((THERE, ON, BACK), False),
        ((THERE, INTO, RelationStep("marriage", inverse=True), BACK), True),
        ((INTO, OUT), False),
    ],
)
def test_a_path_walks_back_where_it_is_its_own_way_home(steps: tuple[RelationStep, ...], expected: bool) -> None:
    assert is_return_path(steps) is expected
