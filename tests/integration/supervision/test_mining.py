"""Mining over a real Neo4j: as the fake has it, bounded at hubs, names as they are written, the same file each time."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import cast

import neo4j
import pytest
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion, SkippedQuestion
from lodestar.engine.neo4j.catalogue import read_catalogue
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j.graph import (
    stream_mediator_relations,
)
from lodestar.engine.supervision import Miner, MiningOptions, QuestionPaths, serialise_trie
from lodestar.models.mined import iterate_paths

from tests.fakes.memory_graph import MemoryGraph
from tests.made.mined_graphs import catalogue_of, mediating_of
from tests.made.plain_graph import write_graph

pytestmark = pytest.mark.usefixtures("empty_graph")

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
