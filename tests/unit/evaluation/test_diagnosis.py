"""The whole graph in memory, what is within reach in it, each kind of miss, and questions made unanswerable."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lodestar.engine.errors import UsageError
from lodestar.engine.evaluation.diagnosis import (
    GoldIdResolver,
    Miss,
    MissDiagnoser,
    WholeGraph,
    check_excluded,
    exclude_relations,
    find_reachable_paths,
)
from lodestar.engine.evidence.chain import Chain
from lodestar.engine.evidence.evidence import Answer
from lodestar.engine.gold_questions import GoldAnswer, GoldPath, GoldQuestion
from lodestar.engine.values import Entity, Path, RelationPath, RelationStep, Scored, Topic, Triple

from tests.made.evidence import chain_of, evidence_of, leads

GRAPH = WholeGraph.of(
    (Entity(h, h.upper()), r, Entity(t, t.upper()))
    for h, r, t in [
        ("a", "r", "b"),
        ("b", "s", "c"),
        ("b", "t", "d"),
        ("c", "s", "e"),
        ("f", "r", "f2"),
    ]
)


def path(*steps: str) -> RelationPath:
    return RelationPath(tuple(RelationStep(step.removeprefix("^"), step.startswith("^")) for step in steps))


def chain(relation_path: RelationPath, ends: list[str]) -> Chain:
    """The chain from a by these relations to these ends, by way of b."""
    paths = []
    for end in ends:
        places = [Entity(each, each.upper()) for each in ["a", *["b"] * (len(relation_path.steps) - 1), end]]
        ends_of = zip(pairwise(places), relation_path.steps, strict=True)
        triples = [Triple(head, step.relation, tail) for (head, tail), step in ends_of]
        paths.append(Path(tuple(triples), tuple(False for _ in triples)))
    return chain_of(*paths)


def miss(
    answers: tuple[GoldAnswer, ...],
    found: list[tuple[RelationPath, list[str]]],
    walked: list[RelationPath] | None = None,
    topics: tuple[str, ...] = ("a",),
) -> Miss:
    linked = tuple(Topic(Entity(t, t.upper())) for t in topics)
    paths = tuple(Scored(chain(each, ends), 1.0) for each, ends in found)
    evidence = evidence_of(*paths, topics=linked, walked=tuple(("a", each) for each in walked or []))
    question = GoldQuestion("q", "?", answers, topic_ids=("a",))
    return MissDiagnoser(GoldIdResolver(GRAPH), max_hop=2).miss(question, Answer(evidence, (), "", "test"))


ONE, TWO = path("r"), path("r", "s")


@pytest.mark.parametrize(
    ("answers", "found", "walked", "topics", "expected"),
    [
        ((GoldAnswer("c"),), [], [], (), Miss("not linked")),
        ((GoldAnswer("c"),), [(ONE, ["b"])], [ONE], ("b",), Miss("not linked")),
        ((GoldAnswer("z"),), [(ONE, ["b"])], [ONE], ("a",), Miss("not in the graph")),
        ((GoldAnswer(None, ("no such name",)),), [(ONE, ["b"])], [ONE], ("a",), Miss("not in the graph")),
        ((GoldAnswer("e"),), [(ONE, ["b"])], [ONE], ("a",), Miss("out of reach")),
        ((GoldAnswer("f"),), [(ONE, ["b"])], [ONE], ("a",), Miss("out of reach")),
        ((GoldAnswer("c"),), [(path("r", "t"), ["d"])], [], ("a",), Miss("pruned", None)),
        ((GoldAnswer("c"),), [(path("r", "t"), ["d"])], [ONE, path("r", "t")], ("a",), Miss("pruned", 2)),
        ((GoldAnswer("b"),), [(TWO, ["c"])], [TWO], ("a",), Miss("pruned", 1)),
        ((GoldAnswer("c"),), [(ONE, ["b"]), (TWO, ["c"])], [ONE, TWO], ("a",), Miss("not the first", 2)),
        ((GoldAnswer(None, ("C",)),), [(TWO, ["c"])], [ONE, TWO], ("a",), Miss("lost by the answerer")),
    ],
)
def test_each_kind_of_miss(
    answers: tuple[GoldAnswer, ...],
    found: list[tuple[RelationPath, list[str]]],
    walked: list[RelationPath],
    topics: tuple[str, ...],
    expected: Miss,
) -> None:
    assert miss(answers, found, walked, topics) == expected


def test_names_stand_for_ids_where_a_set_gives_none() -> None:
    gold = GoldIdResolver(GRAPH)
    question = GoldQuestion("q", "?", (GoldAnswer(None, ("C", "D")), GoldAnswer("e")), topic_names=("A",))
    assert gold.answers(question) == ("c", "d", "e")


MEDIATORS = {"x", "y"}
LITERAL = "l"

nodes = st.sampled_from(["a", "b", "c", "d", "e", *sorted(MEDIATORS), LITERAL])
triples = st.lists(
    st.tuples(nodes.filter(lambda node: node != LITERAL), st.sampled_from(["r", "s", "t"]), nodes),
    min_size=1,
    max_size=18,
)
Walked = dict[tuple[str, ...], frozenset[str]]


def entity(id_: str) -> Entity:
    return Entity(id_, None if id_ in MEDIATORS else id_, is_literal=id_ == LITERAL)


def graph_of(rows: list[tuple[str, str, str]]) -> WholeGraph:
    return WholeGraph.of((entity(h), r, entity(t)) for h, r, t in sorted(set(rows)))


def walked(rows: list[tuple[str, str, str]], topic: str, max_hop: int) -> Walked:
    """Every relation path with its ends, by definition."""
    leads: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for head, relation, tail in rows:
        leads[head][relation].add(tail)
        leads[tail][f"^{relation}"].add(head)
    found: Walked = {}

    def walk(frontier: frozenset[str], steps: tuple[str, ...], num_hops: int, at_mediator: bool) -> None:
        for step in {step for node in frontier if node != LITERAL for step in leads[node]}:
            if at_mediator and (step == f"^{steps[-1]}" or steps[-1] == f"^{step}"):
                continue
            reached = frozenset(t for node in frontier if node != LITERAL for t in leads[node].get(step, ()))
            to_mediator = reached <= MEDIATORS
            hops = num_hops + (not to_mediator)
            if hops > max_hop or len(steps) >= 2 * max_hop:
                continue
            found[(*steps, step)] = frozenset() if to_mediator else reached - MEDIATORS
            if hops < max_hop:
                walk(reached, (*steps, step), hops, to_mediator)

    walk(frozenset({topic}), (), 0, False)
    return found


@settings(max_examples=60)
@given(triples, st.integers(1, 2), st.sets(st.sampled_from(["a", "b", "c", LITERAL]), min_size=1, max_size=3))
def test_what_is_reachable_is_what_a_walk_finds(rows: list[tuple[str, str, str]], max_hop: int, gold: set[str]) -> None:
    graph = graph_of(rows)
    known = {node for head, _, tail in rows for node in (head, tail)}
    topic = next((node for node in ("d", "a", "e") if node in known), None)
    if topic is None or not gold & known:
        return
    wanted = np.array([graph.numbers[node] for node in sorted(gold & known)])
    for return_to_topic in (False, True):
        expected = {
            steps: found
            for steps, ends in walked(rows, topic, max_hop).items()
            if (found := ends if return_to_topic and not is_reversed(steps) else ends - {topic}) & gold
        }
        check(graph, topic, wanted, max_hop, gold & known, expected, return_to_topic=return_to_topic)


def is_reversed(steps: tuple[str, ...]) -> bool:
    turned = tuple(step.removeprefix("^") if step.startswith("^") else "^" + step for step in reversed(steps))
    return steps == turned


def check(
    graph: WholeGraph,
    topic: str,
    wanted: np.ndarray,
    max_hop: int,
    gold: set[str],
    expected: dict[tuple[str, ...], frozenset[str]],
    *,
    return_to_topic: bool,
) -> None:
    found = find_reachable_paths(graph, [graph.numbers[topic]], wanted, max_hop, return_to_topic=return_to_topic)
    by_steps = {tuple(map(str, each.relation_path.steps)): each for each in found}
    assert {steps: frozenset(e.id for e in each.ends) for steps, each in by_steps.items()} == expected
    for steps, each in by_steps.items():
        ends = expected[steps]
        right = len(ends & gold)
        assert each.f1 == pytest.approx(2 * right / (len(ends) + len(gold)))
    assert [each.f1 for each in found] == sorted((each.f1 for each in found), reverse=True)


def test_paths_within_reach_by_hand() -> None:
    graph = graph_of(
        [("a", "r", "b"), ("b", "s", "c"), ("b", "s", "d"), ("a", "t", "c"), ("a", "m", "x"), ("x", "n", "e")]
    )

    def found(gold: str) -> list[tuple[str, float]]:
        wanted = np.array([graph.numbers[gold]])
        return [
            (str(r.relation_path), round(r.f1, 3)) for r in find_reachable_paths(graph, [graph.numbers["a"]], wanted, 2)
        ]

    assert found("c") == [("t", 1.0), ("r → s", 0.667)]
    assert found("e") == [("m → n", 1.0)]
    assert found("a") == []


COUNTRIES = GoldIdResolver(
    WholeGraph.of(
        (Entity(h, h.upper()), r, Entity(t, t.upper()))
        for h, r, t in [
            ("peru", "capital", "lima"),
            ("peru", "largest_city", "lima"),
            ("peru", "city", "lima"),
            ("peru", "city", "cusco"),
            ("peru", "city", "puno"),
            ("peru", "city", "ica"),
            ("peru", "river", "amazon"),
            ("amazon", "flows_by", "lima"),
            ("chile", "capital", "santiago"),
        ]
    )
)


def asked(*answers: str, topic: str = "peru", paths: tuple[GoldPath, ...] = ()) -> GoldQuestion:
    return GoldQuestion("q", "?", tuple(map(GoldAnswer, answers)), topic_ids=(topic,), paths=paths)


def test_what_leads_to_right_answers_and_to_little_else_is_left_out() -> None:
    (one,) = exclude_relations([asked("lima")], COUNTRIES, 1)
    assert (one.id, len(one.answers)) == ("q without its relations", 0)
    assert one.excluded_relations == {"capital", "largest_city"}
    (two,) = exclude_relations([asked("lima")], COUNTRIES, 2)
    assert two.excluded_relations == {"capital", "largest_city", "river", "flows_by"}
    assert one.as_question(("peru",)).excluded_relations == one.excluded_relations


def test_from_an_f1_of_one_half_on_a_path_is_left_out_beside_a_better_one() -> None:
    """Beside `seat`, whose F1 is 1: `towns` has two ends (2/3), `places` three (1/2), `stops` four (2/5)."""
    ends = {"seat": "l", "towns": "la", "places": "lab", "stops": "labc"}
    gold = GoldIdResolver(
        WholeGraph.of((Entity("p", "P"), r, Entity(t, t)) for r, tails in ends.items() for t in tails)
    )
    (found,) = exclude_relations([asked("l", topic="p")], gold, 1)
    assert found.excluded_relations == {"seat", "towns", "places"}


def test_a_search_that_does_not_leave_them_out_is_found_out() -> None:
    (question,) = exclude_relations([asked("lima")], COUNTRIES, 1)
    evidence = evidence_of(Scored(leads("city", Entity("lima", "Lima"), topic=Entity("peru", "Peru")), 1.0))
    check_excluded(question, evidence)
    used = evidence_of(Scored(leads("capital", Entity("lima", "Lima"), topic=Entity("peru", "Peru")), 1.0))
    with pytest.raises(UsageError, match="found the excluded 'capital'"):
        check_excluded(question, used)
