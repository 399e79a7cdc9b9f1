"""The right triples and paths of `benchmarks.accuracy.triple_recall`, by hand."""

from __future__ import annotations

from lodestar.engine.evaluation.whole_graph import WholeGraph
from lodestar.engine.evidence.bridges import to_chains
from lodestar.engine.evidence.evidence import Evidence
from lodestar.engine.questions.gold import GoldAnswer, GoldQuestion
from lodestar.engine.values import Entity, Question, Scored, Topic, Triple

from benchmarks.accuracy.triple_recall import Right, chains_within

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


def test_a_literal_may_be_the_end() -> None:
    triples, paths, _ = Right(graph()).of(question("firm"))
    assert (triples, paths) == ({TRIPLES[6]}, {("motto",)})


def test_nothing_is_right_where_nothing_leads_to_an_answer() -> None:
    assert Right(graph()).of(question("nowhere")) == (set(), set(), set())
    assert Right(graph()).of(question("peru")) == (set(), set(), set())


def test_flat_and_reorganised_triples_are_read_within_the_same_number() -> None:
    peru, *others = (Entity(name, name) for name in ("peru", "lima", "quito", "cusco"))
    triples = [Triple(peru, f"r{number}", other) for number, other in enumerate(others)]
    items = tuple(Scored(triple, 1.0 - place / 10) for place, triple in enumerate(triples))
    flat = Evidence(Question("Which?"), (Topic(peru, 1.0),), "triple", items)
    for num_triples in range(1, 5):
        read = chains_within(flat, num_triples)
        assert [each.value for each in read.items] == [
            each.value for each in chains_within(to_chains(flat), num_triples).items
        ]
        assert len(read.items) == min(num_triples, 3)
