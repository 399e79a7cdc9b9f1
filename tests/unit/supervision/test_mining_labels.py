"""Which paths are trained on, on cases worked out by hand."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from lodestar.engine.supervision import HopTrie, TopicAnswerPath, WalkedPath, flatten_hops
from lodestar.engine.supervision.mining import find_paths_allowed_as_negatives, label_paths, make_negatives

from tests.made.mined_graphs import hop, hops


def path(spaced: str, topic: int = 0, *, gold: bool = False, answers: str = "x") -> TopicAnswerPath:
    return TopicAnswerPath(topic, hops(*spaced.split()), 1.0, 1.0, gold=gold, answers=frozenset(answers))


def marks(paths: Sequence[tuple[TopicAnswerPath, float]], *, annotated: bool = False) -> list[str]:
    found = label_paths([path for path, _ in paths], [similarity for _, similarity in paths], annotated=annotated)
    return ["positive" if label.positive else "shortest" if label.shortest else "" for label in found]


def test_positives_are_the_shortest_of_at_least_mean_similarity() -> None:
    # Mean of .8, .4, .3: .5; the longer path is more similar, and no candidate.
    assert marks([(path("a"), 0.8), (path("b"), 0.4), (path("c"), 0.3), (path("a b"), 0.9)]) == [
        "positive",
        "shortest",
        "shortest",
        "",
    ]


def test_the_shortest_is_of_each_topic_and_answer() -> None:
    """a leads to x; a b, longer, to y as well, which nothing shorter does; c d to x alone."""
    paths = [(path("a"), 0.5), (path("a b", answers="xy"), 0.5), (path("c d"), 0.9), (path("c d", topic=1), 0.5)]
    assert marks(paths) == ["positive", "positive", "", "positive"]


def test_a_path_that_hardly_leads_to_an_answer_may_be_a_negative_unless_it_is_a_positive() -> None:
    """One right end among 500, the only answer: F1 = 2 · .002 / 1.002 = .004; one among 20: .095."""
    wide, narrow, chosen = (replace(path(p), precision=x) for p, x in (("a", 1 / 500), ("b", 1 / 20), ("c", 1 / 500)))
    paths = [wide, narrow, chosen]
    labelled = [replace(each, positive=each.hops == ("c",)) for each in label_paths(paths, [0.0] * 3, annotated=False)]
    assert find_paths_allowed_as_negatives(paths, labelled) == {(0, flatten_hops(wide.hops))}


def test_of_gold_relations_walked_in_other_directions_the_best_path_is_gold() -> None:
    exact = path("a b", gold=True)
    wide = [replace(path(spaced, gold=True), precision=0.2) for spaced in ("^a b", "a ^b")]
    other = replace(path("c b", gold=True), precision=0.1)
    found = label_paths([wide[0], exact, wide[1], other], [0.0] * 4, annotated=True)
    assert [(each.gold, each.positive) for each in found] == [
        (False, False),
        (True, True),
        (False, False),
        (True, True),
    ]


def test_gold_paths_are_positive_in_the_place_of_the_shortest() -> None:
    paths = [(path("a"), 0.8), (path("b c", gold=True), 0.1)]
    assert marks(paths, annotated=True) == ["shortest", "positive"]
    assert marks([(path("a"), 0.8)], annotated=True) == ["shortest"]


NEAREST = {"a": ("b", "c", "d"), "b": ("a", "c", "d"), "c": ("b", "d", "a"), "d": ("c", "a", "b")}
REACH: HopTrie = {
    hop("a"): {hop("^b"): {hop("c"): {}, hop("d"): {}}, hop("^a"): {}},
    hop("c → ^b"): {hop("d"): {}},
}


def kinds(
    positives: Sequence[TopicAnswerPath], others: Sequence[TopicAnswerPath] = (), num_negatives: int = 2
) -> list[tuple[str, str]]:
    known = {(path.topic, path.hops) for path in (*positives, *others)}

    def is_answer(topic: int, path: WalkedPath) -> bool:
        return (topic, path) in known

    found = make_negatives(
        positives,
        [REACH, REACH],
        is_answer,
        nearest=NEAREST.__getitem__,
        num_negatives=num_negatives,
        rng=random.Random(0),
    )
    return [(n.kind, " ".join(n.hops)) for n in found]


def of_kind(found: Sequence[tuple[str, str]], kind: str) -> list[str]:
    return [hops for k, hops in found if k == kind]


def test_each_hop_is_replaced_by_what_can_be_walked_there_then_by_the_nearest_relations() -> None:
    found = kinds([path("a ^b")])
    assert of_kind(found, "similar") == ["c → ^b", "b", "a ^a", "a ^c"]
    assert sorted(of_kind(found, "random")) == ["a ^d", "c", "d"]
    assert of_kind(found, "early") == ["a"]
    assert set(of_kind(found, "overrun")) == {"a ^b c", "a ^b d"}


def test_what_leads_to_an_answer_is_no_negative_and_none_comes_twice() -> None:
    paths = [path("a ^b"), path("a ^a")]
    found = kinds(paths, [path("b"), path("a ^b c")], num_negatives=4)
    hops = [hops for _, hops in found]
    assert len(hops) == len(set(hops))
    assert not set(hops) & {"a ^b", "a ^a", "b", "a ^b c"}
    assert "c" in hops


def test_none_goes_back_from_a_mediator_by_the_relation_that_led_there() -> None:
    way = TopicAnswerPath(0, (hop("c → ^b"),), 1.0, 1.0, gold=False, answers=frozenset("x"))
    found = [hops for _, hops in kinds([way], num_negatives=4)]
    assert "c → ^a" in found
    assert "c → ^c" not in found
