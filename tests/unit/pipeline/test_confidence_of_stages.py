"""Whatever stages evidence goes through: its scores are calibrated, or the answer shows no confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from lodestar.engine.answering import ExtractiveAnswerer
from lodestar.engine.data_model import Entity, Scored
from lodestar.engine.evidence import SIMILARITY, AnswerProbabilityFactors, Calibration, Evidence, EvidenceTrace
from lodestar.engine.evidence.chains_and_triples import convert_item_kind, convert_to_chains, convert_to_triples
from lodestar.engine.parts import Reorganiser
from lodestar.engine.pipeline import unite_evidence
from lodestar.engine.reorganising import Merge, PathPooling, Reorganise
from lodestar.engine.reorganising.filtering import AdaptiveK, FIFilter

from tests.fakes.call_context import make_context
from tests.fakes.memory_graph import MemoryGraph
from tests.made.evidence import evidence_of, leads

PERU, LIMA, CUSCO, ANA = (Entity(name, name) for name in ("Peru", "Lima", "Cusco", "Ana"))
FIRST = leads("mayor", ANA, topic=PERU, via=LIMA)
SAID = AnswerProbabilityFactors("Peru", str(FIRST.relation_path), 2.0, 0.4, -0.2, 0.77)
CHAINS = evidence_of(
    Scored(FIRST, 2.0), Scored(leads("city", CUSCO, topic=PERU), 1.6), calibration=SIMILARITY, extras=(SAID,)
)
TRIPLES = replace(
    convert_to_triples(CHAINS),
    calibration=Calibration("logit", 5.0, 5.0, of="triple"),
    trace=EvidenceTrace(),
    extras=(),
)


class OneHop:
    """Predicts one hop."""

    def logits(self, questions: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.array([[1.0, 0.0]] * len(questions), dtype=np.float32)


def in_order(evidence: Evidence[Any]) -> npt.NDArray[np.float64]:
    """The first item is the most relevant."""
    return -np.arange(len(evidence.items), dtype=np.float64)


POOL = PathPooling(keep=0, coarse=0)
REORGANISE = Reorganise()
MERGE = Merge(0.5)
FILTER = FIFilter(coarse=2, fine=False)
CUT = AdaptiveK()


def ask(evidence: Evidence[Any], *stages: Reorganiser) -> Evidence[Any]:
    ctx = make_context(opened={FILTER: ("in order", in_order), CUT: OneHop()})
    for stage in stages:
        (evidence,) = stage(ctx, convert_item_kind(ctx.db, [evidence], stage.takes))
    return convert_to_chains(ctx.db, [evidence])[0]


@pytest.mark.parametrize(
    "stages", [(), (MERGE,), (FILTER,), (CUT,), (MERGE, FILTER, CUT), (REORGANISE,), (REORGANISE, MERGE), (POOL,)]
)
def test_the_path_that_was_retrieved_keeps_its_confidence(stages: tuple[Reorganiser, ...]) -> None:
    found = ask(CHAINS, *stages)
    assert str(found.items[0].value.relation_path) == SAID.path
    assert ExtractiveAnswerer().answer_of(found).confidence == SAID.probability


@pytest.mark.parametrize(
    "stages", [(), (REORGANISE,), (MERGE,), (FILTER,), (REORGANISE, MERGE), (CUT, POOL), (POOL, REORGANISE, MERGE)]
)
def test_of_chains_made_of_triples_nobody_knows(stages: tuple[Reorganiser, ...]) -> None:
    assert_unsaid(ask(TRIPLES, *stages))


@pytest.mark.parametrize(
    "other", [CHAINS, TRIPLES, *convert_to_chains(MemoryGraph([]), [TRIPLES])], ids=["chains", "triples", "made"]
)
def test_a_union_has_no_confidence(other: Evidence[Any]) -> None:
    assert_unsaid(unite_evidence(CHAINS, *convert_to_chains(MemoryGraph([]), [other]), ()))


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
    data = answer.to_dict()
    assert data["confidence"] is None
    assert all(each.confidence is None for each in answer.entities)
