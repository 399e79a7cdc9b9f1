"""The page's drawing of evidence: columns and rows, and what is left out."""

from __future__ import annotations

from typing import Any

from lodestar.engine.evidence.evidence import Answer, Evidence
from lodestar.engine.serving.page import draw
from lodestar.engine.values import AnswerEntity, Entity, Path, Question, Triple

from tests.made.evidence import chain_of, evidence_of, leads, ranked

PERU, LIMA, SOL, MEDIATOR = Entity("m.peru", "Peru"), Entity("m.lima", "Lima"), Entity("m.sol", "Sol"), Entity("m.1")


def drawing_of(evidence: Evidence[Any], *answers: AnswerEntity) -> dict[str, Any]:
    return draw(Answer(evidence, answers, "", "extractive"))


def test_nodes_stand_in_columns_by_how_far_they_are_and_none_on_another() -> None:
    chains = ranked(leads("capital", LIMA, topic=PERU), leads("currency", SOL, topic=PERU, via=MEDIATOR))
    drawing = drawing_of(evidence_of(*chains))
    places = {node["label"]: (node["column"], node["kind"]) for node in drawing["nodes"]}
    assert places == {"Peru": (0, "topic"), "Lima": (1, "end"), "…": (1, "mediator"), "Sol": (2, "end")}
    assert len({(node["column"], node["row"]) for node in drawing["nodes"]}) == len(drawing["nodes"])
    assert drawing["columns"] == 3


def test_relations_between_the_same_two_are_one_edge_with_the_ranks_of_both() -> None:
    drawing = drawing_of(evidence_of(*ranked(leads("capital", LIMA, topic=PERU), leads("seat", LIMA, topic=PERU))))
    (edge,) = drawing["edges"]
    assert edge["relations"] == ["capital", "seat"]
    assert edge["ranks"] == [1, 2]


def test_what_is_not_drawn_is_said() -> None:
    ends = [Entity(f"m.{number}", f"End {number}") for number in range(9)]
    chains = ranked(*(leads(f"r{number}", *ends, topic=PERU, cut=number == 0) for number in range(8)))
    drawing = drawing_of(evidence_of(*chains, left_out=("triples at a hub",)))
    assert drawing["left_out"][:2] == ["path 1: 5 more ends", "path 1: a bound cut it, so that the graph may have more"]
    assert drawing["left_out"][2:4] == ["path 2: 5 more ends", "path 3: 5 more ends"]
    assert drawing["left_out"][-2:] == ["2 more paths", "triples at a hub"]


def test_an_answer_is_drawn_as_one() -> None:
    evidence = evidence_of(*ranked(leads("capital", LIMA, topic=PERU)))
    drawing = drawing_of(evidence, AnswerEntity("Lima", "m.lima", 0.9, "graph", (0,)))
    assert {node["label"]: node["kind"] for node in drawing["nodes"]}["Lima"] == "answer"


def test_nothing_is_drawn_of_nothing() -> None:
    empty: Evidence = Evidence(Question("?"), (), "chain", note="no known entity in the question")
    nothing = drawing_of(empty)
    assert (nothing["nodes"], nothing["columns"], nothing["rows"]) == ([], 1, 1.0)


A, B, C, D = (Entity(name, name) for name in "ABCD")


def path(*walked: tuple[Entity, str, Entity]) -> Path:
    """The entity path over these triples, of which one that starts with ^ is walked from tail to head."""
    triples = [Triple(t, r[1:], h) if r.startswith("^") else Triple(h, r, t) for h, r, t in walked]
    return Path(tuple(triples), tuple(r.startswith("^") for _, r, _ in walked))


def rows_of(*paths: Path) -> dict[str, float]:
    drawing = drawing_of(evidence_of(*ranked(*(chain_of(each) for each in paths))))
    return {node["label"]: node["row"] for node in drawing["nodes"]}


TALL = tuple(path((A, "r", Entity(f"e{n}", f"e{n}")), (Entity(f"e{n}", f"e{n}"), "s", D)) for n in range(4))


def test_a_column_stands_in_the_middle_and_each_node_beside_what_leads_to_it() -> None:
    assert rows_of(*TALL) == {"A": 1.5, "e0": 0.0, "e1": 1.0, "e2": 2.0, "e3": 3.0, "D": 1.5}
    crossing = rows_of(
        path((A, "r", B), (B, "s", Entity("x", "x"))),
        path((A, "r", C), (C, "s", D)),
        path((A, "r", B), (B, "s", Entity("y", "y"))),
    )
    assert crossing == {"A": 1.0, "B": 0.5, "C": 1.5, "x": 0.0, "y": 1.0, "D": 2.0}
    x, y = Entity("x", "x"), Entity("y", "y")
    of_both = rows_of(*(path((A, "r", via), (via, "s", end)) for via, end in ((B, x), (C, x), (C, y))))
    assert of_both == {"A": 0.5, "B": 0.0, "C": 1.0, "x": 0.0, "y": 1.0}, "x is between B and C"
