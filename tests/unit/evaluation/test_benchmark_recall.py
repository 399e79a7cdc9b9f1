"""The right triples and paths of `benchmarks.accuracy.triple_recall`, by hand."""

from __future__ import annotations

from lodestar.engine.evaluation.diagnosis import WholeGraph
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion
from lodestar.engine.values import Entity

from benchmarks.accuracy.triple_recall import Right

TRIPLES = (
    ("peru", "capital", "lima"),
    ("lima", "lies in", "peru"),
    ("ana", "born in", "peru"),
    ("ana", "lives in", "quito"),
    ("eva", "born in", "peru"),
    ("eva", "lives in", "quito"),
    ("peru", "motto", "firm"),
    ("quito", "motto", "firm"),
)


def graph() -> WholeGraph:
    entities = {name: Entity(name, name, is_literal=name == "firm") for triple in TRIPLES for name in triple[::2]}
    return WholeGraph.of((entities[head], relation, entities[tail]) for head, relation, tail in TRIPLES)


def question(*answers: str) -> GoldQuestion:
    return GoldQuestion("q", "Which?", tuple(map(GoldAnswer, answers)), ("peru",))


def test_right_are_all_triples_of_all_shortest_paths_and_no_path_leads_through_a_literal() -> None:
    triples, paths, answers = Right(graph()).of(question("lima", "quito"))
    assert triples == set(TRIPLES[:6])
    assert paths == {("capital",), ("^lies in",), ("^born in", "lives in")}
    assert answers == {"lima", "quito"}
