"""Mining and candidate pools over a real Neo4j: what a search of all paths finds, bounded, counted, the same file each time."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import neo4j
import pytest
from lodestar import Engine
from lodestar.engine.errors import GraphError
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion, QuestionSet, SkippedQuestion
from lodestar.engine.neo4j.catalogue import read_catalogue
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j.graph_requests import stream_mediator_relations
from lodestar.engine.supervision import MiningOptions, PathMiner, QuestionPaths, serialise_trie
from lodestar.engine.supervision.pools import CUTS, PoolBounds, collect_batch_pools, mine_pools
from lodestar.models.mined_files import PoolChain, PooledQuestion, iterate_trie_paths, read_pool, write_mined_file

from tests.fakes.memory_graph import MemoryGraph
from tests.made.mined_graphs import catalogue_of, mediating_of
from tests.made.plain_graph import write_graph

VALUES = {'"1821-07-28"^^<http://www.w3.org/2001/XMLSchema#date>': "1821-07-28", '"Firme y feliz"@es': "Firme y feliz"}


def unordered(found: QuestionPaths | SkippedQuestion) -> object:
    """What was found, whatever the order in which a store keeps relationships."""
    if isinstance(found, SkippedQuestion):
        return found
    reach = tuple(frozenset(iterate_trie_paths(serialise_trie(each))) for each in found.reach)
    return found.question.id, found.topics, found.paths, reach, found.reaching, found.num_cut


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
@pytest.mark.parametrize("max_hop", [1, 2, 3])
@pytest.mark.usefixtures("empty_graph")
def test_neo4j_is_mined_as_the_fake_is(gateway: Gateway, driver: neo4j.Driver, seed: int, max_hop: int) -> None:
    rng = random.Random(seed)
    ids = [f"e{i}" for i in range(12)]
    relations = ["alpha", "beta.x", "RELATED", "rare one", "rare`]->() //"]
    related = ("rare one",)
    triples = [(rng.choice(ids), rng.choice(relations), rng.choice([*ids, *VALUES])) for _ in range(40)]
    names = {i: i for i in ids if rng.random() < 0.8}
    write_graph(driver, gateway, triples, names, literals=VALUES, related=related)
    fake = MemoryGraph(triples, names, literals=VALUES, related=related)
    questions = [
        GoldQuestion(
            f"q{i}",
            "alpha?",
            (*map(GoldAnswer, rng.sample(ids, 2)), GoldAnswer(None, (rng.choice([*VALUES.values(), "nothing"]),))),
            tuple(rng.sample(ids, 2)),
        )
        for i in range(6)
    ]
    options = MiningOptions(max_hop=max_hop, bounds=replace(MiningOptions().bounds, proposers=1_000))
    mediating = frozenset(gateway.stream(stream_mediator_relations()))
    assert mediating == mediating_of(fake)
    real = PathMiner(gateway, gateway.run(read_catalogue()), mediating, options).mine(questions)
    expected = PathMiner(cast(Gateway, fake), catalogue_of(fake), mediating, options).mine(questions)
    assert [unordered(found) for found in real] == [unordered(found) for found in expected]
    assert any(isinstance(found, QuestionPaths) for found in real)


Triples = Sequence[tuple[str, str, str]]


def steps_from(triples: Triples, node: str) -> list[tuple[str, str]]:
    out = [(relation, tail) for head, relation, tail in triples if head == node]
    return out + [(f"^{relation}", head) for head, relation, tail in triples if tail == node and head != node]


def shortest(triples: Triples, start: str, end: str) -> list[tuple[str, ...]]:
    """The relations of every shortest path, by growing all paths; one entry a path."""
    paths: list[tuple[tuple[str, ...], tuple[str, ...]]] = [((), (start,))]
    for _ in range(4):
        paths = [
            ((*steps, step), (*nodes, node))
            for steps, nodes in paths
            if nodes[-1] not in VALUES
            for step, node in steps_from(triples, nodes[-1])
            if node not in nodes
        ]
        if found := [steps for steps, nodes in paths if nodes[-1] == end]:
            return found
    return []


def merged(chains: Sequence[PoolChain], kind: str, start: str) -> dict[tuple[str, ...], int]:
    return {chain.steps: chain.count for chain in chains if chain.kind == kind and chain.start == start}


def counted(paths: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    return {path: paths.count(path) for path in paths}


@pytest.mark.usefixtures("empty_graph")
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_a_pool_has_what_a_search_of_all_paths_finds(gateway: Gateway, driver: neo4j.Driver, seed: int) -> None:
    rng = random.Random(seed)
    ids = [f"e{i}" for i in range(14)]
    relations = ["alpha", "beta.x", "RELATED", "rare one"]
    drawn = [(rng.choice(ids), rng.choice(relations), rng.choice([*ids, *VALUES])) for _ in range(26)]
    triples = list(dict.fromkeys(each for each in drawn if each[0] != each[2]))
    write_graph(driver, gateway, triples, {i: i for i in ids}, literals=VALUES, related=("rare one",))
    asked = [
        GoldQuestion(f"q{i}", "alpha?", tuple(map(GoldAnswer, rng.sample(ids, 2))), tuple(rng.sample(ids, 2)))
        for i in range(12)
    ]
    found = collect_batch_pools(asked, gateway, PoolBounds())
    pools = [each for each in found if isinstance(each, PooledQuestion)]
    assert len(pools) > 3
    for gold, pool in zip(asked, found, strict=True):
        answers = {answer.id or "" for answer in gold.answers} - set(gold.topic_ids)
        paths = {(t, a): shortest(triples, t, a) for t in gold.topic_ids for a in answers}
        if isinstance(pool, SkippedQuestion):
            assert not any(paths.values())
            continue
        nearest = min(len(some[0]) for some in paths.values() if some)
        assert min(len(paths[t, pool.answer][0]) for t in pool.topics if paths[t, pool.answer]) == nearest
        for topic in pool.topics:
            expected = counted(paths[topic, pool.answer])
            assert merged(pool.chains, "path", topic) == expected
            around = counted([(step,) for step, _ in steps_from(triples, topic)])
            assert merged(pool.chains, "query", topic) == {s: n for s, n in around.items() if s not in expected}
        assert merged(pool.chains, "answer", pool.answer) == counted(
            [(step,) for step, _ in steps_from(triples, pool.answer)]
        )
        assert not pool.cut


def question(topic: str, *answers: str, id_: str = "q") -> GoldQuestion:
    return GoldQuestion(id_, "Which?", tuple(map(GoldAnswer, answers)), (topic,))


def test_bounds_are_kept_and_counted(engine: Engine) -> None:
    gateway = engine.gateway()
    asked = [question("m.lima", "m.spanish", "m.quechua", "m.chile")]
    (whole,) = collect_batch_pools(asked, gateway, PoolBounds())
    (cut,) = collect_batch_pools(asked, gateway, PoolBounds(max_answers=2, max_paths=1, max_degree=2, max_chains=2))
    assert isinstance(whole, PooledQuestion)
    assert isinstance(cut, PooledQuestion)
    assert not whole.cut
    assert set(cut.cut) == set(CUTS)
    assert len(cut.chains) == 2
    assert cut.chains[0].kind == "path"


def test_a_file_has_the_pools(engine: Engine, tmp_path: Path) -> None:
    asked = (
        question("m.peru", "m.lima", id_="a"),
        question("m.chile", "m.quechua", id_="b"),
        question("m.nobody", "m.lima", id_="c"),
        question("m.peru", "m.nothing", id_="d"),
    )
    out = tmp_path / "pool.jsonl.gz"
    pool = mine_pools(QuestionSet("set", "test", "1" * 64, asked), engine, PoolBounds(), batch_size=2)
    write_mined_file(out, pool.header, pool.questions)
    assert [each.id for each in pool.questions] == ["a", "b"]
    assert pool.header.counts["left out: no topic in the graph"] == 1
    read = read_pool(out)
    assert read == pool
    with pytest.raises(GraphError, match="found 1 with no topic in the graph"):
        mine_pools(QuestionSet("set", "test", "1" * 64, asked[2:3]), engine, PoolBounds())
