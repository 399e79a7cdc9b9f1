"""Mining over a real Neo4j: as the fake has it, bounded at hubs, names as they are written, the same file each time."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import cast

import neo4j
import pytest
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion, SkippedQuestion
from lodestar.engine.neo4j.catalogue import read_catalogue
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j.graph import (
    AnswerSteps,
    LastSteps,
    find_answer_paths,
    find_last_steps,
    stream_mediator_relations,
)
from lodestar.engine.supervision import serialise_trie
from lodestar.engine.supervision.mining import Miner, MiningOptions, QuestionPaths
from lodestar.engine.values import RelationStep
from lodestar.models.mined import iterate_paths

from tests.fakes.memory_graph import MemoryGraph
from tests.made.graphs import TripleSource, load
from tests.made.mined_graphs import catalogue_of, hops, mediating_of
from tests.made.plain_graph import write_graph

pytestmark = pytest.mark.usefixtures("empty_graph")

HUB_EDGES = 100_000
MAX_DEGREE = 1_000
VALUES = {'"1821-07-28"^^<http://www.w3.org/2001/XMLSchema#date>': "1821-07-28", '"Firme y feliz"@es': "Firme y feliz"}


def unordered(found: QuestionPaths | SkippedQuestion) -> object:
    """What was found, whatever the order in which a store keeps relationships."""
    if isinstance(found, SkippedQuestion):
        return found
    reach = tuple(frozenset(iterate_paths(serialise_trie(each))) for each in found.reach)
    return found.question.id, found.topics, found.paths, reach, found.reaching, found.num_cut


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
@pytest.mark.parametrize("max_hop", [1, 2, 3])
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
    real = Miner(gateway, gateway.run(read_catalogue()), mediating, options).mine(questions)
    expected = Miner(cast(Gateway, fake), catalogue_of(fake), mediating, options).mine(questions)
    assert [unordered(found) for found in real] == [unordered(found) for found in expected]
    assert any(isinstance(found, QuestionPaths) for found in real)


@pytest.mark.long
def test_the_search_for_answers_is_bounded_at_hubs(gateway: Gateway) -> None:
    """Hubs of 10⁵ edges as topic, as answer, and on the way: what a walk over their edges would find is found without."""
    triples = [(f"p{i}", "nationality", "hub") for i in range(HUB_EDGES)]
    triples += [(f"p{i}", "language", "tongue") for i in range(2 * MAX_DEGREE)]
    triples += [
        ("hub", "capital", "city"),
        ("p7", "spouse", "p8"),
        ("hub", "anthem", "song"),
        ("hub", "near", "tongue"),
    ]
    load(TripleSource(triples, {i: i for t in triples for i in (t[0], t[2])}), gateway)
    expected = {
        ("p7", "city"): ({("nationality", "capital")}, False),
        ("p7", "p8"): ({("spouse",), ("nationality", "^nationality"), ("language", "^language")}, False),
        # Not ("language", "^near"): triples between two hubs are not looked for.
        ("p7", "hub"): ({("nationality",), ("spouse", "nationality")}, True),
        ("hub", "city"): ({("capital",)}, True),
        ("hub", "p7"): ({("^nationality",), ("^nationality", "^spouse")}, True),
        ("hub", "tongue"): ({("^nationality", "language")}, True),
        ("city", "song"): ({("^capital", "anthem")}, False),
        ("p7", "nobody"): (set(), False),
    }
    pairs = [(topic, (answer,)) for topic, answer in expected]
    seconds = []
    found: list[AnswerSteps] = []
    for _ in range(5):
        started = time.perf_counter()
        found = gateway.run(find_answer_paths(pairs, MAX_DEGREE, 2_000))
        seconds.append(time.perf_counter() - started)
    for (ends, (paths, cut)), got in zip(expected.items(), found, strict=True):
        assert {tuple(map(str, path)) for path in got.paths} == paths, ends
        assert got.cut == cut, ends
    # One walk over the edges of a hub, for each of its neighbours, would take hours.
    assert min(seconds[1:]) < 2.0
    last = gateway.run(find_last_steps(["hub", "city", "nobody"], MAX_DEGREE))
    assert last["city"] == LastSteps({"hub": frozenset({RelationStep("capital")})})
    assert (len(last["hub"].steps), last["hub"].cut) == (MAX_DEGREE, True)
    assert "nobody" not in last
    question = GoldQuestion("q", "capital of the country of nationality", (GoldAnswer("city"),), ("p7",))
    miner = Miner(gateway, gateway.run(read_catalogue()), frozenset(), MiningOptions())
    started = time.perf_counter()
    (mined,) = miner.mine([question])
    assert time.perf_counter() - started < 10.0
    assert isinstance(mined, QuestionPaths)
    assert [path.hops for path in mined.paths] == [hops("nationality", "capital")]
