"""Drawings of evidence: columns and rows, what is left out, markup that no name can break."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from hypothesis import given
from hypothesis import strategies as st
from lodestar.engine.evidence.drawing import answer_drawing, drawing_data, drawing_of, drawing_svg, evidence_html
from lodestar.engine.evidence.evidence import Answer, Evidence
from lodestar.engine.values import AnswerEntity, Entity, Question

from tests.made.evidence import evidence_of, leads, ranked

PERU, LIMA, SOL, MEDIATOR = Entity("m.peru", "Peru"), Entity("m.lima", "Lima"), Entity("m.sol", "Sol"), Entity("m.1")


def test_nodes_stand_in_columns_by_how_far_they_are_and_none_on_another() -> None:
    chains = ranked(leads("capital", LIMA, topic=PERU), leads("currency", SOL, topic=PERU, via=MEDIATOR))
    drawing = drawing_of(evidence_of(*chains))
    places = {node.label: (node.column, node.kind) for node in drawing.nodes}
    assert places == {"Peru": (0, "topic"), "Lima": (1, "end"), "…": (1, "mediator"), "Sol": (2, "end")}
    assert len({(node.column, node.row) for node in drawing.nodes}) == len(drawing.nodes)
    assert drawing.num_columns == 3
    assert drawing_data(drawing)["columns"] == 3


def test_relations_between_the_same_two_are_one_edge_with_the_ranks_of_both() -> None:
    drawing = drawing_of(evidence_of(*ranked(leads("capital", LIMA, topic=PERU), leads("seat", LIMA, topic=PERU))))
    (edge,) = drawing.edges
    assert edge.relations == ("capital", "seat")
    assert edge.ranks == (1, 2)


def test_what_is_not_drawn_is_said() -> None:
    ends = [Entity(f"m.{number}", f"End {number}") for number in range(9)]
    chains = ranked(*(leads(f"r{number}", *ends, topic=PERU, cut=number == 0) for number in range(8)))
    drawing = drawing_of(evidence_of(*chains, left_out=("triples at a hub",)))
    assert drawing.left_out[:2] == ("path 1: 5 more ends", "path 1: a bound cut it, so that the graph may have more")
    assert drawing.left_out[-2:] == ("2 more paths", "triples at a hub")


def test_an_answer_is_drawn_as_one() -> None:
    evidence = evidence_of(*ranked(leads("capital", LIMA, topic=PERU)))
    answer = Answer(evidence, (AnswerEntity("Lima", "m.lima", 0.9, "graph", (0,)),), "Lima", "extractive")
    assert {node.label: node.kind for node in answer_drawing(answer).nodes}["Lima"] == "answer"
    assert "Lima" in answer._repr_html_()
    assert "<svg" in evidence._repr_html_()


def test_nothing_is_drawn_of_nothing() -> None:
    empty: Evidence = Evidence(Question("?"), (), "chain", note="no known entity in the question")  # type: ignore[type-arg]
    assert drawing_of(empty).nodes == ()
    assert "no known entity" in evidence_html(empty)


@given(name=st.text(max_size=60), relation=st.text(min_size=1, max_size=40))
def test_no_name_breaks_the_markup(name: str, relation: str) -> None:
    end = Entity("m.end", name + "<script>alert(1)</script>")
    evidence = evidence_of(*ranked(leads(relation + "&<b>", end, topic=PERU)), text=f"</title>{name}?")
    ElementTree.fromstring(drawing_svg(drawing_of(evidence), evidence.question.text))
    page = evidence_html(evidence)
    ElementTree.fromstring(page)
    assert "<script" not in page
    assert "<b>" not in page
