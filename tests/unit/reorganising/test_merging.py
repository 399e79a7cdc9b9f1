from __future__ import annotations

from dataclasses import replace

import pytest
from lodestar.engine.data_model import Chain, Entity, Scored
from lodestar.engine.evidence import Calibration
from lodestar.engine.reorganising import JOINED_CUT, MAX_JOINING, Merge, find_meeting_ends, read_nodes_between_topics

from tests.fakes.call_context import make_context
from tests.fakes.memory_graph import MemoryGraph
from tests.made.evidence import evidence_of, leads


def lead(topic: str, ends: str, score: float, num_hops: int = 1) -> Scored[Chain]:
    entities = [Entity(end, end) for end in ends]
    via = Entity("via", "via") if num_hops == 2 else None
    return Scored(leads("r", *entities, topic=Entity(topic, topic), via=via), score)


def met(*chains: Scored[Chain], **mentions: str) -> list[str]:
    return ["".join(sorted(target.id for target in some)) for some in find_meeting_ends(chains, mentions)]


def test_two_topics_meet_at_what_they_share() -> None:
    assert met(lead("a", "xyz", 1.0), lead("b", "yw", 0.5)) == ["y", "y"]


def test_the_best_lead_that_shares_an_end_counts() -> None:
    assert met(lead("a", "xyz", 1.0), lead("b", "w", 0.9), lead("b", "z", 0.8), lead("b", "xy", 0.7))[0] == "z"


def test_one_topic_never_meets_itself_nor_another_reading_of_the_same_mention() -> None:
    assert met(lead("a", "x", 1.0), lead("a", "x", 0.5)) == ["", ""]
    assert met(lead("a", "x", 1.0), lead("b", "x", 0.5), a="Peru", b="Peru") == ["", ""]


def test_a_chain_meets_the_shortest_paths_between_its_topic_and_another() -> None:
    """No chain of c is there, but the graph leads from a over r to y and z, and from y over q to c."""
    graph = MemoryGraph([("a", "r", "y"), ("a", "r", "z"), ("c", "q", "y")])
    evidence = evidence_of(lead("a", "yz", 0.9), lead("c", "v", 0.1))
    (merged,) = Merge()(make_context(graph), [evidence])
    assert [[end.id for end in item.value.targets] for item in merged.items] == [["y"], []]
    joined, alone = read_nodes_between_topics(graph, [evidence, evidence_of(lead("a", "yz", 0.9))])
    assert joined == ({("a", (("r", False),)): {"y"}, ("c", (("q", False),)): {"y"}}, False)
    assert alone == ({}, False) and graph.requests.count("join_topics") == 2


def test_shortest_paths_that_were_not_read_are_said() -> None:
    evidence = evidence_of(lead("a", "v", 0.9), lead("c", "w", 0.1))
    for more in (0, 1):
        graph = MemoryGraph([t for n in range(MAX_JOINING + more) for t in (("a", "r", f"m{n}"), ("c", "q", f"m{n}"))])
        (merged,) = Merge()(make_context(graph), [evidence])
        assert merged.left_out == (JOINED_CUT,) * more


def test_what_meets_gains_the_bonus_in_log_odds_and_keeps_its_group() -> None:
    chains = (lead("c", "q", 1.0), lead("a", "xy", 0.9), lead("b", "y", 0.8))
    grouped = (replace(chain, group=group) for group, chain in enumerate(chains))
    evidence = evidence_of(*grouped, calibration=Calibration("logit", 2.0, 0.0))
    (merged,) = Merge(bonus=0.5)(make_context(), [evidence])
    assert [(item.value.topic.id, item.score) for item in merged.items] == [
        ("a", pytest.approx(1.15)),
        ("b", pytest.approx(1.05)),
        ("c", 1.0),
    ]
    assert [item.group for item in merged.items] == [1, 2, 0]
    assert [[end.id for end in item.value.answers] for item in merged.items] == [["y"], ["y"], ["q"]]
    (plain,) = Merge(bonus=0.5)(make_context(), [replace(evidence, calibration=None)])
    assert [item.score for item in plain.items] == [1.0, 0.9, 0.8]
