from __future__ import annotations

from lodestar.engine.retrieval.meeting import Lead, meetings


def lead(topic: str, ends: str, score: float, num_hops: int = 1, mention: str = "") -> Lead:
    return Lead(topic, mention, num_hops, frozenset(ends), score)


def test_two_topics_meet_at_what_they_share() -> None:
    assert meetings([lead("a", "xyz", 1.0), lead("b", "yw", 0.5)]) == [frozenset("y"), frozenset("y")]


def test_the_best_lead_that_shares_an_end_counts() -> None:
    found = meetings([lead("a", "xyz", 1.0), lead("b", "w", 0.9), lead("b", "z", 0.8), lead("b", "xy", 0.7)])
    assert found[0] == frozenset("z")


def test_one_topic_never_meets_itself_nor_another_reading_of_the_same_mention() -> None:
    assert meetings([lead("a", "x", 1.0), lead("a", "x", 0.5)]) == [frozenset()] * 2
    assert meetings([lead("a", "x", 1.0, mention="Peru"), lead("b", "x", 0.5, mention="Peru")]) == [frozenset()] * 2


def test_a_longer_path_meets_but_is_no_lead() -> None:
    assert meetings([lead("a", "x", 1.0, num_hops=2), lead("b", "x", 0.5)]) == [frozenset("x"), frozenset()]


def test_only_the_best_few_are_leads() -> None:
    many = [lead("b", "w", 0.9 - i / 100) for i in range(5)]
    assert meetings([lead("a", "x", 1.0), *many, lead("b", "x", 0.1)])[0] == frozenset()
