"""Laws of mining on random multigraphs with parallel relations, self-loops and unnamed mediators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion, SkippedQuestion
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.relations import RelationIndex, collect_relation_words
from lodestar.engine.retrieval.frontier import FrontierBounds
from lodestar.engine.supervision import MiningOptions, PathMiner, QuestionPaths, serialise_hop, serialise_trie
from lodestar.engine.supervision.mining import TrainingExampleBuilder
from lodestar.models.mined_files import INVERSE, THROUGH, MinedQuestion, iterate_trie_paths
from lodestar.models.text.vectors import TextVectors

from tests.conftest import examples
from tests.fakes.letter_encoder import LetterEncoder
from tests.fakes.memory_graph import MemoryGraph
from tests.made.mined_graphs import catalogue_of, mediating_of

IDS = [f"e{i}" for i in range(7)]
RELATIONS = ["alpha", "beta", "gamma", "delta"]
Triples = list[tuple[str, str, str]]

triples = st.lists(
    st.tuples(st.sampled_from(IDS), st.sampled_from(RELATIONS), st.sampled_from(IDS)), min_size=1, max_size=18
)
unnamed = st.sets(st.sampled_from(IDS), max_size=2)
questions = st.lists(
    st.tuples(
        st.lists(st.sampled_from(IDS), min_size=1, max_size=2), st.sets(st.sampled_from(IDS), min_size=1, max_size=2)
    ),
    min_size=1,
    max_size=4,
).map(
    lambda asked: [
        GoldQuestion(f"q{i}", "alpha of beta", tuple(map(GoldAnswer, sorted(answers))), tuple(dict.fromkeys(topics)))
        for i, (topics, answers) in enumerate(asked)
    ]
)
hops = st.integers(1, 3)
ALL = FrontierBounds(proposers=1_000)


def graph_of(edges: Triples, without_name: set[str]) -> MemoryGraph:
    return MemoryGraph(edges, {i: i for i in IDS if i not in without_name})


def mined(
    graph: MemoryGraph,
    asked: Sequence[GoldQuestion],
    max_hop: int,
    bounds: FrontierBounds = ALL,
    *,
    return_to_topic: bool = False,
) -> list[QuestionPaths | SkippedQuestion]:
    options = MiningOptions(max_hop=max_hop, bounds=bounds, return_to_topic=return_to_topic)
    return PathMiner(cast(Gateway, graph), catalogue_of(graph), mediating_of(graph), options).mine(asked)


@cache
def labeller(relations: tuple[str, ...]) -> TrainingExampleBuilder:
    catalogue = catalogue_of(MemoryGraph([("x", relation, "y") for relation in relations]))
    words = {relation.name: collect_relation_words(relation) for relation in catalogue.relations}
    index = RelationIndex(catalogue.relations, TextVectors(LetterEncoder()))
    return TrainingExampleBuilder(words, index, TextVectors(LetterEncoder()), MiningOptions(num_negatives=2))


def labelled(graph: MemoryGraph, found: Sequence[QuestionPaths | SkippedQuestion]) -> list[MinedQuestion]:
    walked = [each for each in found if isinstance(each, QuestionPaths)]
    return labeller(tuple(sorted(graph.relations))).label(walked)


def reach(found: QuestionPaths, topic: int) -> set[tuple[str, ...]]:
    return set(iterate_trie_paths(serialise_trie(found.reach[topic])))


def ends(graph: MemoryGraph, topic: str, path: Sequence[str]) -> set[str]:
    """All entities that a relation path leads to, by looking through all triples at each step."""
    here = {topic}
    for step in THROUGH.join(path).split(THROUGH):
        here = step_from(graph, here, step)
    return here


def step_from(graph: MemoryGraph, here: set[str], step: str) -> set[str]:
    relation = step.removeprefix(INVERSE)
    if step.startswith(INVERSE):
        return {h for h, r, t in graph.triples if r == relation and t in here}
    return {t for h, r, t in graph.triples if r == relation and h in here}


def all_paths(
    graph: MemoryGraph, topic: str, max_hop: int, *, return_to_topic: bool
) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Every path of at most so many hops with its ends, but for those from record to record; through the topic again with
    `return_to_topic` only.

    A step all of whose ends lack a name leads into records and goes on in the same hop, not straight back.
    """
    steps = [sign + relation for relation in graph.relations for sign in ("", INVERSE)]
    passed = set() if return_to_topic else {topic}
    paths: list[tuple[tuple[str, ...], set[str]]] = [((), {topic})]
    while paths:
        path, here = paths.pop()
        for step in steps if len(path) < max_hop else ():
            near = step_from(graph, here - passed if path else here, step)
            named = {id_ for id_ in near if graph.names[id_] is not None}
            if named:
                paths.append(((*path, step), near))
                yield paths[-1][0], named
            for on in steps if near and not named else ():
                far = step_from(graph, near - passed, on)
                if is_reversed((step, on)) or all(graph.names[id_] is None for id_ in far):
                    continue
                paths.append(((*path, step + THROUGH + on), far))
                yield paths[-1][0], {id_ for id_ in far if graph.names[id_] is not None}


def is_reversed(path: Sequence[str]) -> bool:
    """Whether a path read backwards is itself with every step turned round."""
    steps = THROUGH.join(path).split(THROUGH)
    turned = [step.removeprefix(INVERSE) if step.startswith(INVERSE) else INVERSE + step for step in reversed(steps)]
    return steps == turned


@settings(max_examples=examples(50))
@given(triples, unnamed, questions, hops, st.booleans())
def test_the_answer_paths_are_those_of_the_whole_graph(
    edges: Triples, bare: set[str], asked: list[GoldQuestion], max_hop: int, return_to_topic: bool
) -> None:
    """But for those from mediator to mediator, of which the walk and the search have different limits."""
    graph = graph_of(edges, bare)
    every = mined(graph, asked, max_hop, return_to_topic=return_to_topic)
    for question, found in zip(asked, every, strict=True):
        topics = {id_ for id_ in question.topic_ids if id_ in graph.names}
        gold = {answer.id for answer in question.answers if answer.id in graph.names}
        expected = set()
        for topic in topics:
            for path, reached in all_paths(graph, topic, max_hop, return_to_topic=return_to_topic):
                ends_ = reached if return_to_topic and not is_reversed(path) else reached - topics
                if right := len(ends_ & gold):
                    expected.add((topic, THROUGH.join(path), right / len(ends_), right / len(gold)))
        if isinstance(found, SkippedQuestion):
            assert not expected
        else:
            paths = {
                (found.topics[p.topic].id, THROUGH.join(map(serialise_hop, p.hops)), p.precision, p.recall)
                for p in found.paths
                if all(len(hop) < 3 for hop in p.hops)
            }
            assert paths == expected
            for path in found.paths:
                assert tuple(map(serialise_hop, path.hops)) in reach(found, path.topic)


@settings(max_examples=examples(50))
@given(triples, unnamed, questions, hops, st.booleans())
def test_no_negative_reaches_an_answer(
    edges: Triples, bare: set[str], asked: list[GoldQuestion], max_hop: int, return_to_topic: bool
) -> None:
    graph = graph_of(edges, bare)
    answers = {question.id: {answer.id for answer in question.answers} for question in asked}
    for question in labelled(graph, mined(graph, asked, max_hop, return_to_topic=return_to_topic)):
        topics = {topic.id for topic in question.topics}
        for negative in question.negatives:
            reached = ends(graph, question.topics[negative.topic].id, negative.hops)
            if not return_to_topic or is_reversed(negative.hops):
                reached -= topics
            named = {id_ for id_ in reached if graph.names[id_] is not None}
            assert not named & answers[question.id], negative


@settings(max_examples=examples(50))
@given(triples, unnamed, questions, st.integers(1, 2))
def test_a_batch_is_mined_as_its_questions_are_one_by_one(
    edges: Triples, bare: set[str], asked: list[GoldQuestion], max_hop: int
) -> None:
    graph = graph_of(edges, bare)
    narrow = FrontierBounds(fan_out=2, max_tails=3, max_sources=2, proposers=2)
    for bounds in (ALL, narrow):
        together = mined(graph, asked, max_hop, bounds)
        assert together == [found for question in asked for found in mined(graph, [question], max_hop, bounds)]
        assert labelled(graph, together) == [q for found in together for q in labelled(graph, [found])]
