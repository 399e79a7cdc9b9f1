"""ReG's reorganisation by hand: chains, their scores, answers merged, topics joined, and the part."""

from __future__ import annotations

from dataclasses import replace

from lodestar.engine.data_model import Chain, Entity, Question, Scored, Topic, Triple
from lodestar.engine.evidence import Calibration, ChainLengthShares, Evidence
from lodestar.engine.reorganising import Reorganise

from tests.fakes.call_context import make_context

PROBABILITY = Calibration("probability")


def entity(name: str) -> Entity:
    return Entity(name, None if name.startswith("m") else name.upper())


def triples(*facts: tuple[str, float], topics: str = "a") -> Evidence[Triple]:
    """Triples written as head, relation, tail in a word."""
    items = tuple(Scored(Triple(entity(f[0]), f[1], entity(f[2])), score) for f, score in facts)
    return Evidence(Question("?"), tuple(Topic(entity(topic)) for topic in topics), "triple", items, PROBABILITY)


def chained(*evidence: Evidence[Triple], max_length: int = 4) -> list[Evidence[Chain]]:
    return Reorganise(max_length)(make_context(), evidence)


def shown(evidence: Evidence[Chain]) -> list[tuple[str, str, float]]:
    return [
        (f"{i.value.topic.id}:{i.value.relation_path}", "".join(end.id for end in i.value.ends), i.score)
        for i in evidence.items
    ]


FACTS = triples(("arb", 0.9), ("bsc", 0.5), ("bsd", 0.7), ("xqa", 0.4), ("ypx", 0.6), ("ups", 0.8))


def test_chains_start_at_the_topic_or_end_there() -> None:
    """u p s meets no topic and is in none."""
    (found,) = chained(FACTS)
    assert {path: ends for path, ends, _ in shown(found)} == {
        "a:r": "b", "a:r → s": "cd", "a:^q": "x", "a:^q → ^p": "y"
    }  # fmt: skip
    assert {path for path, _, _ in shown(chained(FACTS, max_length=1)[0])} == {"a:r", "a:^q"}
    assert (found.kind, found.calibration) == ("chain", PROBABILITY)


def test_a_chain_is_worth_its_triples_and_that_none_leads_on() -> None:
    """r: .9 · (1 − .7); r → s: .9 · .7; ^q: .4 · (1 − .6); ^q → ^p: .4 · .6. Without probabilities: the weakest step."""
    (found,) = chained(FACTS)
    assert [(path, round(score, 9)) for path, _, score in shown(found)] == [
        ("a:r → s", 0.63), ("a:r", 0.27), ("a:^q → ^p", 0.24), ("a:^q", 0.16)
    ]  # fmt: skip
    (plain,) = chained(replace(FACTS, calibration=None))
    assert [(path, score) for path, _, score in shown(plain)] == [
        ("a:r", 0.9), ("a:r → s", 0.7), ("a:^q", 0.4), ("a:^q → ^p", 0.4)
    ]  # fmt: skip


def test_a_chain_is_as_likely_as_its_length_where_the_retriever_tells_lengths() -> None:
    """r: .9 · .25; r → s: .9 · .7 · .75; ^q: .4 · .25; ^q → ^p: .4 · .6 · .75. The last share is of all longer ones."""
    (found,) = chained(replace(FACTS, extras=(ChainLengthShares((0.25, 0.75)),)))
    assert {path: round(score, 9) for path, _, score in shown(found)} == {
        "a:r → s": 0.4725, "a:r": 0.225, "a:^q → ^p": 0.18, "a:^q": 0.1
    }  # fmt: skip


def test_each_relation_that_leads_on_may_be_meant() -> None:
    """r: .9 · (1 − .5) · (1 − .2); s leads on by its best triple, .5."""
    (found,) = chained(triples(("arb", 0.9), ("bsc", 0.5), ("bsd", 0.4), ("bte", 0.2)))
    assert {path: round(score, 9) for path, _, score in shown(found)} == {
        "a:r": 0.36, "a:r → s": 0.45, "a:r → t": 0.18
    }  # fmt: skip


def test_a_chain_that_may_turn_reaches_what_shares_a_head_or_a_tail() -> None:
    facts = triples(("arb", 0.9), ("crb", 0.8))
    assert {path: ends for path, ends, _ in shown(chained(facts)[0])} == {"a:r": "b", "a:r → ^r": "c"}


def test_mediators_are_walked_through_and_are_no_ends() -> None:
    (found,) = chained(triples(("arm", 0.9), ("msb", 0.5)))
    assert shown(found) == [("a:r → s", "b", 0.45)]
    assert found.items[0].value.relation_path.num_hops == 1


def test_groups_stay_with_their_triples_and_a_batch_is_each_alone() -> None:
    items = zip(FACTS.items, (1, 0, 1, 2, 2, 0), strict=True)
    grouped = replace(FACTS, items=tuple(replace(item, group=group) for item, group in items))
    together = chained(grouped, triples(), FACTS)
    assert together == [each for one in (grouped, triples(), FACTS) for each in chained(one)]
    assert [item.group for item in together[0].items[:2]] == [0, 1]
    assert chained() == []


def test_chains_of_two_topics_that_meet_stand_together_and_share_what_they_meet_at() -> None:
    facts = triples(("arx", 0.9), ("ary", 0.9), ("asz", 0.8), ("bty", 0.3), ("btw", 0.3), topics="ab")
    (found,) = chained(facts, max_length=1)
    assert [(path, targets) for path, _, _ in shown(found)[:2] for targets in ["y"]] == [("a:r", "y"), ("b:t", "y")]
    assert [[end.id for end in i.value.targets] for i in found.items[:2]] == [["y"], ["y"]]
