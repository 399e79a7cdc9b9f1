"""Each kind of miss, on a graph small enough to see why."""

from __future__ import annotations

from itertools import pairwise

import pytest
from lodestar.engine.evaluation.diagnosis import MissDiagnoser
from lodestar.engine.evaluation.judging import GoldIdResolver
from lodestar.engine.evaluation.record import Miss
from lodestar.engine.evaluation.whole_graph import WholeGraph
from lodestar.engine.evidence.chain import Chain
from lodestar.engine.evidence.evidence import Answer
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion
from lodestar.engine.values import Entity, Path, RelationPath, RelationStep, Scored, Topic, Triple

from tests.made.evidence import chain_of, evidence_of

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
def test_each_kind(
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
