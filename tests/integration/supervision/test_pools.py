"""Candidate pools of a real graph: every shortest path and neighbour that there is, merged, bounded, counted."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import neo4j
import pytest
from lodestar import Engine
from lodestar.engine.errors import GraphError
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion, QuestionSet, SkippedQuestion
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.supervision.pools import CUTS, PoolBounds, collect_pools, mine_pool
from lodestar.models.mined import PoolChain, PooledQuestion, read_pool, write_mined_file

from tests.made.plain_graph import write_graph

VALUES = {'"1821-07-28"^^<http://www.w3.org/2001/XMLSchema#date>': "1821-07-28", '"Firme y feliz"@es': "Firme y feliz"}

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
    found = collect_pools(asked, gateway, PoolBounds())
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
    (whole,) = collect_pools(asked, gateway, PoolBounds())
    (cut,) = collect_pools(asked, gateway, PoolBounds(max_answers=2, max_paths=1, max_degree=2, max_chains=2))
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
    pool = mine_pool(QuestionSet("set", "test", "1" * 64, asked), engine, PoolBounds(), batch_size=2)
    write_mined_file(out, pool.header, pool.questions)
    assert [each.id for each in pool.questions] == ["a", "b"]
    assert pool.header.counts["left out: no topic in the graph"] == 1
    read = read_pool(out)
    assert read == pool
    with pytest.raises(GraphError, match="found 1 with no topic in the graph"):
        mine_pool(QuestionSet("set", "test", "1" * 64, asked[2:3]), engine, PoolBounds())
