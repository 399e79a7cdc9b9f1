"""Random relation paths, drawn from a graph small enough to say where each of them leads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from lodestar.engine.errors import UsageError
from lodestar.engine.neo4j.catalogue import Catalogue, RelationInfo
from lodestar.engine.neo4j.graph import EntitySignature
from lodestar.engine.retrieval.frontier import FrontierBounds
from lodestar.engine.supervision.path_sampling import (
    PathConjunction,
    PathSampler,
    QuestionGenerationOptions,
    SampledPath,
    sample_topics,
)
from lodestar.engine.values import Entity

from tests.fakes.memory_graph import MemoryGraph

LANDS = [f"land{n}" for n in range(6)]
WORLD = MemoryGraph(
    [
        *((land, "capital", f"city{n}") for n, land in enumerate(LANDS)),
        *((land, "language", f"tongue{n % 2}") for n, land in enumerate(LANDS)),
        *((land, "currency", f"coin{n % 3}") for n, land in enumerate(LANDS)),
        *((land, "treaty", "pact") for land in LANDS[:2]),
        ("pact", "signed in", "city5"),
        ("land0", "in", "hub"),
        *(("hub", "part", f"part{n}") for n in range(5)),
    ],
    names={
        **{id_: id_.title() for id_ in ("hub", *LANDS)},
        **{f"{kind}{n}": f"{kind} {n}" for kind in ("city", "tongue", "coin", "part") for n in range(6)},
    },
)


def sample(
    num: int = 200,
    graph: MemoryGraph = WORLD,
    counts: Mapping[str, int] | None = None,
    left_out: str = "",
    **options: Any,
) -> list[PathConjunction | None]:
    catalogue = Catalogue(
        tuple(
            RelationInfo(number, name, name, (counts or {}).get(name, 1))
            for number, name in graph.numbered.items()
            if name != left_out
        )
    )
    named = [
        EntitySignature(Entity(id_, name), graph.degree(id_), tuple(graph.signature(id_)))
        for id_, name in graph.names.items()
        if name
    ]
    sampler = PathSampler(catalogue, sample_topics(named, 0, 200).topics, QuestionGenerationOptions(**options))
    return graph.run(sampler.sample(range(num)))


def drawn(*arguments: Any, **options: Any) -> list[PathConjunction]:
    return [each for each in sample(*arguments, **options) if each is not None]


def ends_of(path: SampledPath, graph: MemoryGraph = WORLD) -> set[str]:
    """Where a path leads, by all triples at each step."""
    here = {path.topic.id}
    for step in path.steps:
        ways = [(t, h) if step.inverse else (h, t) for h, r, t in graph.triples if r == step.relation]
        here = {to for source, to in ways if source in here and (graph.names[to] is None) == step.to_mediator}
    return here - {path.topic.id}


def ids(sampled: PathConjunction) -> set[str]:
    return {end.id for end in sampled.ends}


def test_a_path_has_all_named_ends_but_its_topic_and_a_mediator_counts_for_no_hop() -> None:
    found = drawn(max_hop=3, joint=0.0)
    assert {path.num_hops for each in found for path in each.paths} == {1, 2, 3}
    for each in found:
        (path,) = each.paths
        assert ids(each) == ends_of(path) != set()
        assert not path.steps[-1].to_mediator
        assert all(end.name for end in each.ends)
        assert path.num_hops == len(path.steps) - sum(step.to_mediator for step in path.steps)
    assert any(step.to_mediator for each in found for step in each.paths[0].steps)


@pytest.mark.parametrize(("lengths", "hops"), [((1.0, 0.0), {1}), ((0.0, 0.5), {2}), ((1.0, 1.0, 9.0), {1, 2})])
def test_lengths_are_weights_of_one_hop_of_two_and_so_on(lengths: Sequence[float], hops: set[int]) -> None:
    found = drawn(lengths=lengths, joint=0.0)
    assert {path.num_hops for each in found for path in each.paths} == hops


def test_the_usual_lengths_fit_every_number_of_hops() -> None:
    assert [QuestionGenerationOptions(max_hop=hops).lengths for hops in range(1, 5)] == [(5.0, 4.0, 3.0, 1.0)] * 4
    with pytest.raises(UsageError, match="one of them over 0"):
        QuestionGenerationOptions(lengths=(0.0, 1.0), max_hop=1)


@pytest.mark.parametrize(("temper", "least", "most"), [(0.0, 20, 120), (1.0, 180, 200)])
def test_a_relation_of_many_triples_is_drawn_as_often_as_the_temper_says(temper: float, least: int, most: int) -> None:
    """200 first steps over six relations, one of them with a thousand times the triples."""
    found = sample(counts={"capital": 1_000}, temper=temper, lengths=(1.0,), max_hop=1, joint=0.0)
    first = Counter(path.steps[0].relation for each in found if each for path in each.paths)
    assert least <= first["capital"] <= most


def test_a_relation_of_many_triples_is_walked_on_more_often() -> None:
    found = drawn(counts={"language": 10**6}, temper=1.0, lengths=(0.0, 1.0), joint=0.0)
    assert {each.paths[0].steps[-1].relation for each in found} == {"language"}
    assert found


@pytest.mark.parametrize(("max_ends", "is_drawn"), [(4, False), (5, True)])
def test_a_path_with_too_many_ends_is_dropped(max_ends: int, is_drawn: bool) -> None:
    found = drawn(max_ends=max_ends, lengths=(1.0,), max_hop=1, joint=0.0)
    assert any("part0" in ids(each) for each in found) is is_drawn


def test_a_path_whose_ends_a_bound_cuts_is_dropped() -> None:
    found = drawn(bounds=FrontierBounds(fan_out=4), lengths=(1.0,), max_hop=1, joint=0.0)
    assert found
    assert not any("part0" in ids(each) for each in found)


def test_two_topics_share_some_of_the_ends_of_the_first() -> None:
    found = drawn(joint=1.0)
    both = [each for each in found if len(each.paths) == 2]
    assert len(both) > 20
    for each in both:
        first, second = each.paths
        assert ids(each) == (ends_of(first) & ends_of(second)) - {second.topic.id}
        assert set() < ids(each) < ends_of(first)
        assert first.num_hops <= 2
        assert len(second.steps) == 1
        assert first.topic != second.topic
        assert second.topic.name
    assert {len(each.paths) for each in drawn(joint=0.0)} == {1}


def test_a_second_topic_is_drawn_by_the_weights_of_relations_among_those_of_the_catalogue() -> None:
    """From a land lead a capital, a language and a coin; a language has twenty times the triples."""
    second = Counter(
        each.paths[1].steps[0].relation
        for each in drawn(400, counts={"language": 20}, temper=1.0, lengths=(1.0,), joint=1.0)
        if len(each.paths) == 2 and each.paths[0].steps[0].relation != "language"
    )
    assert second["language"] > 3 * (second.total() - second["language"])
    found = drawn(left_out="language", lengths=(1.0,), joint=1.0)
    assert any(len(each.paths) == 2 for each in found)
    assert not any(step.relation == "language" for each in found for path in each.paths for step in path.steps)


def test_a_question_is_drawn_by_its_number_and_the_seed_alone() -> None:
    many = sample(40, joint=0.5)
    assert sample(8, joint=0.5) == many[:8]
    assert sample(40, joint=0.5, seed=1) != many


def test_no_step_leads_on_from_the_only_pair_there_is_but_back() -> None:
    """a → b: each path of two hops walks back to its topic, which is no end."""
    pair = MemoryGraph([("a", "r", "b")])
    assert drawn(20, pair, lengths=(0.0, 1.0), joint=0.0) == []
    assert {tuple(ids(each)) for each in drawn(20, pair, lengths=(1.0,), max_hop=1)} == {("a",), ("b",)}


def test_relations_of_every_eighth_entity_are_counted_together() -> None:
    """Of 16 the first and the ninth: both have relation 1, the first 2 as well, the ninth 3; entering ones count not."""
    relations = {0: (1, 2, -4), 8: (1, 3, -4)}
    entities = [EntitySignature(Entity(f"e{n}", "e"), 2, relations.get(n, (1, 5))) for n in range(16)]
    starts = sample_topics(entities, 0, 3)
    assert starts.together == {1: {1: 2, 2: 1, 3: 1}, 2: {1: 1, 2: 1}, 3: {1: 1, 3: 1}}
    assert starts.num_entities == 16
    assert {number: len(topics) for number, topics in starts.topics.items()} == {1: 3, 2: 1, 3: 1, -4: 2, 5: 3}


def test_which_entities_are_kept_to_start_from_depends_on_the_seed_and_their_ids_alone() -> None:
    entities = [EntitySignature(Entity(f"e{n}", "e"), 1, (1, -2)) for n in range(40)]

    def kept(entities: Sequence[EntitySignature], most: int, seed: int = 0) -> dict[int, list[str]]:
        found = sample_topics(entities, seed, most).topics
        return {number: [each.entity.id for each in some] for number, some in found.items()}

    whole = kept(entities, 40)
    assert kept(entities[::-1], 40) == whole
    assert kept(entities, 5) == kept(entities[::-1], 5) == {number: some[:5] for number, some in whole.items()}
    assert whole[1] != whole[-2]
    assert kept(entities, 40, seed=1) != whole
