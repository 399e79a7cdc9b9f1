"""Whatever stages evidence goes through: its scores are calibrated, or the answer shows no confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from lodestar.engine.answering.extractive import ExtractiveAnswerer
from lodestar.engine.evidence.bridges import to_chains, to_triples
from lodestar.engine.evidence.calibration import SIMILARITY, Calibration, Certainty
from lodestar.engine.evidence.evidence import Evidence, Kind, answer_data
from lodestar.engine.pipeline import ReorganisedRetriever, unite_evidence
from lodestar.engine.reorganising.chaining import ChainExpander, ChainMerger, ExpansionBounds
from lodestar.engine.reorganising.filtering import AdaptiveKFilter, RelevanceFilter
from lodestar.engine.reorganising.pooling import PathPoolingReorganiser
from lodestar.engine.stages import Reorganiser
from lodestar.engine.steps import Steps
from lodestar.engine.values import Entity, LinkedQuestion, Question, Scored, Topic
from lodestar.models.gril.network import HopModel
from lodestar.models.path_pooling import PoolingOptions

from tests.fakes.memory_graph import MemoryGraph
from tests.made.evidence import evidence_of, leads

PERU, LIMA, CUSCO, ANA = (Entity(name, name) for name in ("Peru", "Lima", "Cusco", "Ana"))
GRAPH = MemoryGraph([("Peru", "city", "Lima")])
FIRST = leads("mayor", ANA, topic=PERU, via=LIMA)
SAID = Certainty("Peru", str(FIRST.relation_path), 2.0, 0.4, -0.2, 0.77)
CHAINS = evidence_of(
    Scored(FIRST, 2.0), Scored(leads("city", CUSCO, topic=PERU), 1.6), calibration=SIMILARITY, extras=(SAID,)
)
TRIPLES = replace(to_triples(CHAINS), calibration=Calibration("logit", 5.0, 5.0, of="triple"), retrieved=(), extras=())


class OneHop:
    """Predicts one hop."""

    def logits(self, questions: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.array([[1.0, 0.0]] * len(questions), dtype=np.float32)


class InOrder:
    """The first item is the most relevant."""

    name = "in order"

    def of(self, evidence: Evidence[Any]) -> npt.NDArray[np.float64]:
        return -np.arange(len(evidence.items), dtype=np.float64)


class Found:
    """Retrieves the same evidence for every question."""

    def __init__(self, evidence: Evidence[Any]) -> None:
        self.evidence = evidence
        self.gives: Kind = evidence.kind

    def retrieve(self, questions: Sequence[LinkedQuestion], _top_k: int) -> Steps[list[Evidence[Any]]]:
        yield from ()
        return [self.evidence for _ in questions]


POOL = PathPoolingReorganiser(PoolingOptions(), keep=None, coarse=None)
REORGANISE = ChainExpander(ExpansionBounds(4, 100, turning=True), 100)
MERGE = ChainMerger(0.5)
FILTER = RelevanceFilter(InOrder(), coarse=2, is_fine=False)
CUT = AdaptiveKFilter(cast(HopModel, OneHop()), per_hop=5)


def ask(evidence: Evidence[Any], *stages: Reorganiser) -> Evidence[Any]:
    steps = ReorganisedRetriever(Found(evidence), *stages).retrieve([LinkedQuestion(Question("?"), (Topic(PERU),))], 10)
    (found,) = GRAPH.run_steps(steps)
    return to_chains(found)


@pytest.mark.parametrize(
    "stages", [(), (MERGE,), (FILTER,), (CUT,), (MERGE, FILTER, CUT), (REORGANISE,), (REORGANISE, MERGE)]
)
def test_the_path_that_was_retrieved_keeps_its_confidence(stages: tuple[Reorganiser, ...]) -> None:
    found = ask(CHAINS, *stages)
    assert str(found.items[0].value.relation_path) == SAID.path
    assert ExtractiveAnswerer().answer_of(found).confidence == SAID.probability


@pytest.mark.parametrize("evidence", [CHAINS, TRIPLES], ids=["chains", "triples"])
@pytest.mark.parametrize(
    "stages", [(POOL,), (POOL, REORGANISE), (POOL, REORGANISE, MERGE), (POOL, FILTER), (CUT, POOL)]
)
def test_pooled_scores_are_no_probabilities(evidence: Evidence[Any], stages: tuple[Reorganiser, ...]) -> None:
    assert_unsaid(ask(evidence, *stages))


@pytest.mark.parametrize("stages", [(), (REORGANISE,), (MERGE,), (FILTER,), (REORGANISE, MERGE), (REORGANISE, FILTER)])
def test_of_chains_made_of_triples_nobody_knows(stages: tuple[Reorganiser, ...]) -> None:
    assert_unsaid(ask(TRIPLES, *stages))


@pytest.mark.parametrize("other", [CHAINS, TRIPLES, to_chains(TRIPLES)], ids=["chains", "triples", "made"])
def test_a_union_has_no_confidence(other: Evidence[Any]) -> None:
    assert_unsaid(unite_evidence(CHAINS, to_chains(other)))


def test_a_chain_that_triples_make_beside_the_retrieved_has_no_probability() -> None:
    found = ask(CHAINS, REORGANISE)
    known = {str(item.value.relation_path): found.probability(place) for place, item in enumerate(found.items)}
    assert known[SAID.path] == SIMILARITY.probability(2.0)
    assert known["on"] is None  # half of the path
    alone = replace(found, items=tuple(i for i in found.items if str(i.value.relation_path) == "on"))
    assert ExtractiveAnswerer().answer_of(alone).confidence is None


def assert_unsaid(found: Evidence[Any]) -> None:
    answer = ExtractiveAnswerer().answer_of(found)
    assert answer.found
    assert (answer.confidence, answer.unsure) == (None, False)
    data = answer_data(answer)
    assert data["confidence"] is None
    assert all(each.confidence is None for each in answer.entities)
