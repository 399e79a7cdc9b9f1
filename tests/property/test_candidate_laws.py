"""Candidates of evidence made at random: what they are, and what they do not depend on."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from lodestar.engine.answering.candidates import LIMIT, AnswerCandidates, find_candidates
from lodestar.engine.data_model import Entity, Question, Scored, Topic, Triple
from lodestar.engine.evidence import Calibration, Evidence, EvidenceTrace

from tests.fakes.memory_graph import MemoryGraph

NAMED = [Entity(name, name) for name in "abcde"]
RECORD = Entity("m", None)
VALUE = Entity('"1821"', "1821", is_literal=True)
triples = st.lists(
    st.builds(
        Triple, st.sampled_from([*NAMED, RECORD]), st.sampled_from(["r", "s"]), st.sampled_from([*NAMED, RECORD, VALUE])
    ),
    max_size=9,
    unique=True,
)
topics = st.lists(st.sampled_from(NAMED), min_size=1, max_size=2, unique=True)


def evidence_of(facts: list[Triple], starts: list[Entity]) -> Evidence[Triple]:
    """Evidence whose scores are of the triples, not of their places."""
    items = tuple(Scored(each, float(hash_of(each))) for each in facts)
    return Evidence(Question("?"), tuple(map(Topic, starts)), "triple", items, Calibration("logit", of="triple"))


def hash_of(triple: Triple) -> int:
    """A number from −4 to 4 that the triple alone decides."""
    return sum(map(ord, f"{triple.head.id}{triple.relation}{triple.tail.id}")) % 9 - 4


def said(found: AnswerCandidates, question: int = 0) -> dict[str, set[tuple[float, ...]]]:
    """What the ways say of each candidate of a question."""
    says: dict[str, set[tuple[float, ...]]] = {
        found.entities[row].id: set() for row in range(found.starts[question], found.starts[question + 1])
    }
    for source in found.sources:
        ways = source.columns
        for row, chain, *values in zip(ways.candidate, ways.chain, ways.last, ways.stops, strict=True):
            if found.question[row] == question:
                path = (ways.hops[chain], ways.score[chain], ways.num_ends[chain])
                says[found.entities[row].id].add((*map(float, path), *map(float, values)))
    return says


@given(triples, topics, st.randoms())
def test_candidates_do_not_depend_on_the_order_of_the_evidence(
    facts: list[Triple], starts: list[Entity], random: Random
) -> None:
    mixed = random.sample(facts, len(facts))
    assert said(find_candidates(MemoryGraph([]), [evidence_of(facts, starts)])) == said(
        find_candidates(MemoryGraph([]), [evidence_of(mixed, starts)])
    )


@given(triples, topics)
def test_candidates_are_all_named_ends_but_topics(facts: list[Triple], starts: list[Entity]) -> None:
    named = {end for each in facts for end in (each.head, each.tail)}
    expected = {each.id for each in named if not each.is_mediator and each not in starts}
    found = find_candidates(MemoryGraph([]), [evidence_of(facts, starts)])
    assert {each.id for each in found.entities} == expected
    assert all(ways for ways in said(found).values())


@given(triples, topics)
def test_what_a_filter_takes_away_from_a_union_is_no_candidate(facts: list[Triple], starts: list[Entity]) -> None:
    whole = evidence_of(facts, starts)
    left = replace(whole.cut_to(len(facts) // 2), trace=EvidenceTrace(sources=(("a", whole), ("b", whole))))
    kept = {end.id for each in left.items for end in (each.value.head, each.value.tail)}
    found = find_candidates(MemoryGraph([]), [left])
    assert {each.id for each in found.entities} <= kept
    assert [source.name for source in found.sources] == ["a", "b"]
    assert all(np.abs(source.columns.last).max(initial=0) <= LIMIT for source in found.sources)
