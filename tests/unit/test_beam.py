from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from lodestar.engine.linking import explicit
from lodestar.engine.retrieval.beam import BeamSearch
from lodestar.engine.retrieval.ends import walks_back
from lodestar.engine.retrieval.frontier import Bounds
from lodestar.engine.retrieval.scoring import FloatArray, PathQuery
from lodestar.engine.values import Entity, EntityCandidate, Question, RelationPath, Retrieval, Scored, Step

from tests.memory_graph import MemoryGraph
from tests.word_scorer import WordScorer

WORLD = MemoryGraph(
    [
        ("Peru", "capital", "Lima"),
        ("Peru", "currency", "Sol"),
        ("Chile", "capital", "Santiago"),
        ("Peru", "borders", "Chile"),
        ("Peru", "borders", "Brazil"),
        ("Brazil", "capital", "Brasilia"),
        ("Lima", "mayor_of_city", "Lima"),
        ("Peru", "population", "cvt1"),
        ("cvt1", "number", "33 million"),
        ("cvt1", "year", "2020"),
    ],
    names={n: n for n in ("Peru", "Lima", "Sol", "Chile", "Santiago", "Brazil", "Brasilia", "33 million", "2020")},
)


def search(graph: MemoryGraph, texts: Sequence[tuple[str, str]], top_k: int = 10, **options: Any) -> list[Retrieval]:
    bounds = Bounds(**{k: options.pop(k) for k in list(options) if k in Bounds.__dataclass_fields__})
    beam = BeamSearch(graph.numbered, options.pop("scorer", None) or WordScorer(), bounds=bounds, **options)
    questions = [Question(text, tuple(topic.split(","))) for text, topic in texts]
    return graph.run(beam.retrieve(questions, [explicit(q.topic_entities) for q in questions], top_k))


def best(retrieval: Retrieval) -> tuple[RelationPath, set[str]]:
    path = retrieval.paths[0].value
    return path.relation_path, {end.id for end in path.ends}


def test_one_hop() -> None:
    (found,) = search(WORLD, [("capital?", "Peru")])
    assert best(found) == (RelationPath((Step("capital"),)), {"Lima"})


def test_inverse_direction() -> None:
    (found,) = search(WORLD, [("capital of which country?", "Lima")], max_hop=1)
    assert best(found) == (RelationPath((Step("capital", inverse=True),)), {"Peru"})


def test_two_hops_with_several_answers_and_their_entity_paths() -> None:
    (found,) = search(WORLD, [("capital of what borders it", "Peru")])
    path, ends = best(found)
    assert (str(path), ends) == ("borders → capital", {"Santiago", "Brasilia"})
    for instance in found.paths[0].value.instances:
        assert all((t.head.id, t.relation, t.tail.id) in WORLD.triples for t in instance.triples)


def test_a_path_does_not_end_at_a_mediator_and_crossing_it_is_one_hop() -> None:
    (found,) = search(WORLD, [("population number", "Peru")], max_hop=1)
    path, ends = best(found)
    assert path == RelationPath((Step("population", to_mediator=True), Step("number")))
    assert ends == {"33 million"}
    assert all(end.name for scored in found.paths for end in scored.value.ends)


def test_the_topic_is_no_answer() -> None:
    (found,) = search(WORLD, [("mayor of city", "Lima")])
    assert all("Lima" not in {e.id for e in scored.value.ends} for scored in found.paths)


def test_the_topic_is_an_answer_where_that_is_asked_for_and_no_path_walks_straight_back() -> None:
    (found,) = search(WORLD, [("capital of office", "Lima")], return_to_topic=True)
    to_topic = [scored.value for scored in found.paths if "Lima" in {end.id for end in scored.value.ends}]
    assert to_topic
    assert not any(walks_back(path.relation_path.steps) for path in to_topic)


class SecondThoughts(WordScorer):
    """Looks at the first `num_read` paths again, and says 5, 4, 3 and so on from the last of these to the first."""

    def __init__(self, num_read: int) -> None:
        self.num_read = num_read
        self.asked: list[list[tuple[str, float]]] = []

    def rerank(self, queries: Sequence[PathQuery], stop: Sequence[FloatArray]) -> list[FloatArray]:
        self.asked += [
            [(str(path), float(score)) for path, score in zip(query.paths, scores, strict=True)]
            for query, scores in zip(queries, stop, strict=True)
        ]
        return [np.arange(6 - len(some), 6, dtype=np.float32) for some in (each[: self.num_read] for each in stop)]


def test_what_was_found_is_ranked_by_the_scorers_second_look_once_a_search() -> None:
    texts = [("capital of what borders it", "Peru"), ("capital?", "Atlantis"), ("population number", "Peru")]
    usual = search(WORLD, texts)
    scorer = SecondThoughts(num_read=3)
    again = search(WORLD, texts, scorer=scorer)
    found = [[(str(p.value.relation_path), p.score) for p in retrieval.paths] for retrieval in usual]
    assert [len(each) > 3 for each in found] == [True, False, True]
    assert ["rerank" in retrieval.seconds for retrieval in (*usual, *again)] == [False] * 3 + [True] * 3
    assert [sorted(each) for each in scorer.asked] == [sorted(each) for each in found]
    for before, after, asked in zip(usual, again, scorer.asked, strict=True):
        paths = [str(scored.value.relation_path) for scored in after.paths]
        assert paths[:3] == [path for path, _ in asked[:3]][::-1]
        assert [scored.score for scored in after.paths[:3]] == [5.0, 4.0, 3.0][: len(paths)]
        rest = [str(p.value.relation_path) for p in before.paths if str(p.value.relation_path) not in paths[:3]]
        assert paths[3:] == rest
        assert all(scored.score < 3.0 for scored in after.paths[3:])


def test_what_a_topics_link_lacks_counts_before_and_after_the_second_look() -> None:
    linked = [
        Scored(EntityCandidate(Entity(name, name), name.lower(), name, 1), score)
        for name, score in (("Peru", 1.0), ("Chile", 0.8))
    ]
    scorer = SecondThoughts(num_read=100)
    beam = BeamSearch(WORLD.numbered, scorer, link_weight=100.0)
    (found,) = WORLD.run(beam.retrieve([Question("capital?")], [linked], 100))
    num_paths = len(found.paths)
    scores = {scored.score for scored in found.paths if scored.value.topic.id == "Peru"}
    of_peru = len(scores)
    assert 0 < of_peru < num_paths
    assert scores == set(map(float, range(6 - num_paths, 6 - num_paths + of_peru)))  # all of them come first
    of_chile = {round(scored.score, 3) for scored in found.paths if scored.value.topic.id == "Chile"}
    assert of_chile == {float(score - 20) for score in range(6 - num_paths + of_peru, 6)}


def test_an_unknown_id_gives_no_topics_and_no_paths() -> None:
    (found,) = search(WORLD, [("capital?", "Atlantis")])
    assert (found.topics, found.paths) == ((), ())


def test_round_trips_are_hops_plus_one_for_the_whole_batch() -> None:
    plain = MemoryGraph(t for t in WORLD.triples if "cvt1" not in t)
    search(plain, [("capital?", "Peru"), ("currency?", "Chile"), ("borders", "Brazil")] * 5)
    assert plain.requests == ["read_signatures", "expand_steps", "expand_steps"]


def test_crossing_a_mediator_is_a_round_trip_of_its_own() -> None:
    WORLD.requests.clear()
    search(WORLD, [("population number", "Peru")], max_hop=1)
    assert WORLD.requests == ["read_signatures", "expand_steps", "expand_steps"]


@pytest.mark.parametrize("hub_degree", [1, 3, 100])
def test_hubs_are_read_relation_by_relation_with_the_same_result(hub_degree: int) -> None:
    questions = [("capital of what borders it", "Peru"), ("population number", "Peru"), ("capital of", "Lima")]
    usual = search(WORLD, questions)
    WORLD.requests.clear()
    assert search(WORLD, questions, hub_degree=hub_degree) == usual
    assert any(name.startswith("expand_hub_step") for name in WORLD.requests) == (hub_degree < 100)


def test_a_bound_that_cuts_is_reported() -> None:
    star = MemoryGraph([("hub", "part", f"n{i}") for i in range(50)])
    (found,) = search(star, [("part", "hub")], fan_out=20)
    assert len(found.paths[0].value.ends) == 20
    assert found.paths[0].value.cut
    assert found.cuts == ("hub: part",)
    (whole,) = search(star, [("part", "hub")], fan_out=50)
    assert (len(whole.paths[0].value.ends), whole.cuts) == (50, ())


def test_every_topic_the_asker_names_is_started_from() -> None:
    (found,) = search(WORLD, [("capital", "Lima,Sol,Chile,Brazil")], max_hop=1)
    assert {topic.value.entity.id for topic in found.topics} == {"Lima", "Sol", "Chile", "Brazil"}
    assert "Brazil" in {path.value.topic.id for path in found.paths}
