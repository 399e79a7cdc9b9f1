"""Combinators and bridges: stages made of stages, over evidence made by hand."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from hypothesis import given
from hypothesis import strategies as st
from lodestar.engine.context import Context
from lodestar.engine.data_model import Entity, LinkedQuestion, Question, Scored, Topic, Triple
from lodestar.engine.evidence import Calibration, Evidence, Kind
from lodestar.engine.evidence.chains_and_triples import convert_to_chains, convert_to_triples
from lodestar.engine.parts import Expression, NamedPart, Reorganiser, resolve_stages

from tests.fakes.call_context import make_engine
from tests.fakes.memory_graph import MemoryGraph
from tests.made.evidence import evidence_of, leads

PERU, LIMA, CUSCO, SOL = (Entity(name[0], name) for name in ("Peru", "Lima", "Cusco", "Sol"))
QUESTION = LinkedQuestion(Question("?"), (Topic(PERU, relations=(1,)),))
PROBABLE = Calibration("probability")


class Found:
    """A retriever that has found its evidence already."""

    def __init__(self, evidence: Evidence[Any]) -> None:
        self.evidence = evidence
        self.gives: Kind = evidence.kind

    def __call__(self, _ctx: Context, questions: Sequence[LinkedQuestion], _top_k: int) -> list[Evidence[Any]]:
        return [replace(self.evidence, question=linked.question, topics=linked.topics) for linked in questions]


@dataclass(frozen=True)
class Turned(Reorganiser):
    """A reorganiser of triples that turns their order round."""

    name: ClassVar[str] = "turned"
    takes: ClassVar[Kind] = "triple"
    gives: ClassVar[Kind] = "triple"

    def __call__(self, _ctx: Context, evidence: Sequence[Evidence[Any]]) -> list[Evidence[Any]]:
        return [replace(each, items=each.items[::-1], calibration=None) for each in evidence]


def found(evidence: Evidence[Any], name: str = "found") -> NamedPart:
    return NamedPart(name, Found(evidence))


def ask(stages: Expression) -> Evidence[Any]:
    return make_engine(MemoryGraph([]), stages, lambda *_: [QUESTION.topics]).retrieve("?")


def triples(*scored: tuple[Triple, float, int], **options: Any) -> Evidence[Triple]:
    items = tuple(itertools.starmap(Scored, scored))
    return Evidence(QUESTION.question, QUESTION.topics, "triple", items, **options)


CAPITAL, MONEY = Triple(PERU, "capital", LIMA), Triple(PERU, "money", SOL)
CHAINS = evidence_of(
    Scored(leads("capital", LIMA, topic=PERU), 0.9), Scored(leads("money", SOL, topic=PERU), 0.4), calibration=PROBABLE
)


def test_a_bridge_stands_where_kinds_differ() -> None:
    stages = found(CHAINS) + Turned()
    assert resolve_stages(stages) == (["found", "chain → triple", "turned"], "triple")
    turned = ask(stages)
    assert [(item.value, item.score) for item in turned.items] == [(MONEY, 0.4), (CAPITAL, 0.9)]
    assert turned.calibration is None
    assert turned.trace.stages == (("found", "chain", 2), ("turned", "triple", 2))


def test_the_score_of_a_triple_is_that_of_its_best_chain_and_so_is_its_group() -> None:
    both = leads("capital", LIMA, topic=PERU)
    evidence = evidence_of(
        Scored(leads("capital", LIMA, topic=PERU), 0.9, 1),
        Scored(both, 0.2, 0),
        Scored(leads("m", SOL, topic=PERU), 0.1, 1),
    )
    found = convert_to_triples(evidence)
    assert [(item.value.relation, item.score) for item in found.items] == [("capital", 0.9), ("m", 0.1)]
    assert [item.group for item in found.items] == [0, 1]


def test_triples_make_the_chains_that_leave_the_topics() -> None:
    by = Triple(LIMA, "mayor", CUSCO)
    (found,) = convert_to_chains(MemoryGraph([]), [triples((CAPITAL, 0.9, 0), (by, 0.5, 1), (MONEY, 0.7, 1))])
    assert [(str(item.value.relation_path), item.score) for item in found.items] == [
        ("capital", 0.9),
        ("money", 0.7),
        ("capital → mayor", 0.5),
    ]
    assert ([item.group for item in found.items], found.calibration) == ([0, 1, 0], None)
    assert found.items[2].value.triples() == ((CAPITAL,), (by,))


edges = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from("rs"), st.integers(0, 5), st.floats(0, 1)),
    min_size=1,
    max_size=10,
    unique_by=lambda edge: edge[:3],
)


@given(edges)
def test_there_and_back_again_loses_no_triple_that_a_topic_leads_to(rows: list[tuple[int, str, int, float]]) -> None:
    entities = [Entity(str(i), str(i)) for i in range(6)]
    given_ = Evidence(
        Question("?"),
        (Topic(entities[0]),),
        "triple",
        tuple(Scored(Triple(entities[h], r, entities[t]), score) for h, r, t, score in rows),
    )
    (chains,) = convert_to_chains(MemoryGraph([]), [given_])
    scores = {item.value: item.score for item in given_.items}
    back = convert_to_triples(chains)
    assert {item.value for item in back.items} <= set(scores)
    for item in chains.items:
        assert item.score == min(max(scores[t] for t in step) for step in item.value.triples())
        for instance in item.value.instances():
            assert instance[0][0] == entities[0]
            assert len(set(item.value.triples_of(instance))) == len(instance)


def test_a_union_is_by_reciprocal_rank_whatever_the_probabilities() -> None:
    other = evidence_of(Scored(leads("money", SOL, topic=PERU), 9.0), calibration=Calibration("logit", 1.0, 0.0))
    united = ask(found(CHAINS) | found(other, "other"))
    assert united.calibration is None
    assert united.items[0].score < 0.04
    assert [(name, len(each.items)) for name, each in united.trace.sources] == [("found", 2), ("other", 1)]
