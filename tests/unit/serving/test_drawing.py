"""Drawings of evidence: columns and rows, what is left out, markup that no name can break."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lodestar.engine.evidence.drawing import (
    FILLS,
    Drawing,
    answer_drawing,
    drawing_data,
    drawing_svg,
    evidence_html,
    make_drawing,
)
from lodestar.engine.evidence.evidence import Answer, Evidence
from lodestar.engine.values import AnswerEntity, Entity, Path, Question, Scored, Topic, Triple

from tests.conftest import examples
from tests.made.evidence import chain_of, evidence_of, leads, ranked

PERU, LIMA, SOL, MEDIATOR = Entity("m.peru", "Peru"), Entity("m.lima", "Lima"), Entity("m.sol", "Sol"), Entity("m.1")


def test_nodes_stand_in_columns_by_how_far_they_are_and_none_on_another() -> None:
    chains = ranked(leads("capital", LIMA, topic=PERU), leads("currency", SOL, topic=PERU, via=MEDIATOR))
    drawing = make_drawing(evidence_of(*chains))
    places = {node.label: (node.column, node.kind) for node in drawing.nodes}
    assert places == {"Peru": (0, "topic"), "Lima": (1, "end"), "…": (1, "mediator"), "Sol": (2, "end")}
    assert len({(node.column, node.row) for node in drawing.nodes}) == len(drawing.nodes)
    assert drawing.num_columns == 3
    assert drawing_data(drawing)["columns"] == 3


def test_relations_between_the_same_two_are_one_edge_with_the_ranks_of_both() -> None:
    drawing = make_drawing(evidence_of(*ranked(leads("capital", LIMA, topic=PERU), leads("seat", LIMA, topic=PERU))))
    (edge,) = drawing.edges
    assert edge.relations == ("capital", "seat")
    assert edge.ranks == (1, 2)


def test_what_is_not_drawn_is_said() -> None:
    ends = [Entity(f"m.{number}", f"End {number}") for number in range(9)]
    chains = ranked(*(leads(f"r{number}", *ends, topic=PERU, cut=number == 0) for number in range(8)))
    drawing = make_drawing(evidence_of(*chains, left_out=("triples at a hub",)))
    assert drawing.left_out[:2] == ("path 1: 5 more ends", "path 1: a bound cut it, so that the graph may have more")
    assert drawing.left_out[2:4] == ("path 2: 5 more ends", "path 3: 5 more ends")
    assert drawing.left_out[-2:] == ("2 more paths", "triples at a hub")


def test_an_answer_is_drawn_as_one() -> None:
    evidence = evidence_of(*ranked(leads("capital", LIMA, topic=PERU)))
    answer = Answer(evidence, (AnswerEntity("Lima", "m.lima", 0.9, "graph", (0,)),), "Lima", "extractive")
    assert {node.label: node.kind for node in answer_drawing(answer).nodes}["Lima"] == "answer"
    assert "Lima" in answer._repr_html_()
    assert "<svg" in evidence._repr_html_()
    green, _ = FILLS["answer"]
    assert green in answer._repr_html_()
    assert green not in evidence._repr_html_()


def test_names_of_topics_and_answers_are_bold_and_no_others() -> None:
    evidence = evidence_of(*ranked(leads("capital", LIMA, topic=PERU), leads("currency", SOL, topic=PERU)))
    answer = Answer(evidence, (AnswerEntity("Lima", "m.lima", 0.9, "graph", (0,)),), "Lima", "extractive")
    texts = re.findall(r"<text([^>]*)>(Peru|Lima|Sol)<", drawing_svg(answer_drawing(answer), "Peru"))
    assert {name for written, name in texts if 'font-weight="600"' in written} == {"Peru", "Lima"}
    assert {name for _, name in texts} == {"Peru", "Lima", "Sol"}


def test_a_line_for_each_path_has_its_rank_and_score() -> None:
    evidence = evidence_of(*ranked(leads("capital", LIMA, topic=PERU), leads("currency", SOL, topic=PERU)))
    rows = re.findall(r"<tr><td>(\d+)</td><td>([\d.]+)</td><td>(.*?)</td></tr>", evidence_html(evidence))
    assert [(rank, score) for rank, score, _ in rows] == [
        (str(rank), f"{each.score:.3f}") for rank, each in enumerate(evidence.items, start=1)
    ]
    assert ["Lima" in line for *_, line in rows] == [True, False]


def test_nothing_is_drawn_of_nothing() -> None:
    empty: Evidence = Evidence(Question("?"), (), "chain", note="no known entity in the question")  # type: ignore[type-arg]
    nothing = make_drawing(empty)
    assert (nothing.nodes, nothing.num_columns, nothing.num_rows) == ((), 1, 1.0)
    page = evidence_html(empty)
    assert "no known entity" in page
    assert not any(part in page for part in ("<svg", "<table", "not shown", "about"))


@settings(max_examples=examples(25))
@given(name=st.text(max_size=60), relation=st.text(min_size=1, max_size=40))
def test_no_name_breaks_the_markup(name: str, relation: str) -> None:
    end = Entity("m.end", name + "<script>alert(1)</script>")
    evidence = evidence_of(*ranked(leads(relation + "&<b>", end, topic=PERU)), text=f"</title>{name}?")
    ElementTree.fromstring(drawing_svg(make_drawing(evidence), evidence.question.text))
    page = evidence_html(evidence)
    ElementTree.fromstring(page)
    assert "<script" not in page
    assert "<b>" not in page


A, B, C, D = (Entity(name, name) for name in "ABCD")


def path(*walked: tuple[Entity, str, Entity]) -> Path:
    """The entity path over these triples, of which one that starts with ^ is walked from tail to head."""
    triples = [Triple(t, r[1:], h) if r.startswith("^") else Triple(h, r, t) for h, r, t in walked]
    return Path(tuple(triples), tuple(r.startswith("^") for _, r, _ in walked))


def draw_paths(*paths: Path, **options: Any) -> Drawing:
    return make_drawing(evidence_of(*ranked(*(chain_of(each) for each in paths)), **options))


def elements(drawing: Drawing, tag: str) -> list[ElementTree.Element]:
    return ElementTree.fromstring(drawing_svg(drawing, "?")).findall(f".//{{http://www.w3.org/2000/svg}}{tag}")


Box = tuple[float, float, float, float]


def boxes(drawing: Drawing) -> list[Box]:
    """Left, top, right and bottom of each node, in their order; of a record without a name its circle and a margin."""
    found = []
    svg = ElementTree.fromstring(drawing_svg(drawing, "?"))
    for each in svg.iter():
        at = {name: float(value) for name, value in each.attrib.items() if value.replace(".", "").isdigit()}
        if each.tag.endswith("circle"):
            found.append((at["cx"] - 8, at["cy"] - 8, at["cx"] + 8, at["cy"] + 8))
        elif each.tag.endswith("rect") and "x" in at:
            found.append((at["x"], at["y"], at["x"] + at["width"], at["y"] + at["height"]))
    return found


def lines(drawing: Drawing) -> list[tuple[list[float], list[float], str]]:
    """Of each edge the eight numbers of its curve, those of its arrow's tip and base, and the colour of both."""
    curves, arrows = [], []
    for each in elements(drawing, "path"):
        numbers = [float(number) for number in re.findall(r"-?\d+\.?\d*", each.attrib["d"])]
        if each.attrib["fill"] == "none":
            curves.append((numbers, each.attrib["stroke"]))
        else:
            arrows.append((numbers, each.attrib["fill"]))
    assert [colour for _, colour in curves] == [colour for _, colour in arrows]
    return [(curve, arrow, colour) for (curve, colour), (arrow, _) in zip(curves, arrows, strict=True)]


FORWARD = (path((A, "r", B), (B, "s", MEDIATOR), (MEDIATOR, "t", C)), path((A, "^u", D)))
LEVEL = (path((A, "r", B)), path((A, "s", C)), path((A, "r", B), (B, "t", C)))
BACK = (path((A, "r", B)), path((C, "s", A), (A, "^t", B), (B, "u", C)))
HOME = (path((A, "r", B)), path((A, "s", C), (C, "t", D), (D, "^u", B)))
BOTH = (path((A, "r", B)), path((A, "^s", B)), path((A, "^t", C)))
TALL = tuple(path((A, "r", Entity(f"e{n}", f"e{n}")), (Entity(f"e{n}", f"e{n}"), "s", D)) for n in range(4))


@pytest.mark.parametrize(
    "paths", [FORWARD, LEVEL, BACK, HOME, BOTH, TALL], ids=["on", "level", "back", "home", "both", "tall"]
)
def test_lines_lead_from_box_to_box_within_the_picture(paths: tuple[Path, ...]) -> None:
    drawing = draw_paths(*paths)
    around = boxes(drawing)
    _, _, width, height = map(float, ElementTree.fromstring(drawing_svg(drawing, "?")).attrib["viewBox"].split())
    assert len(around) == len(drawing.nodes)
    assert all(0 < left < right < width and 0 < top < bottom < height for left, top, right, bottom in around)
    for one, two in combinations(around, 2):
        assert one[2] < two[0] or two[2] < one[0] or one[3] < two[1] or two[3] < one[1], "no box lies on another"
    for edge, (curve, arrow, colour) in zip(drawing.edges, lines(drawing), strict=True):
        x1, y1, middle, _, _, _, x2, y2 = curve
        source, target = around[edge.source], around[edge.target]
        is_level = drawing.nodes[edge.source].column == drawing.nodes[edge.target].column
        goes_on = drawing.nodes[edge.source].column < drawing.nodes[edge.target].column
        assert x1 == pytest.approx(source[2] if is_level or goes_on else source[0], abs=0.2)
        assert x2 == pytest.approx(target[2] if is_level or not goes_on else target[0], abs=0.2)
        assert source[1] < y1 < source[3]
        assert target[1] < y2 < target[3]
        assert middle == pytest.approx(x1 + 60 if is_level else (x1 + x2) / 2, abs=0.2)
        tip = (x1, y1) if edge.inverse else (x2, y2)
        assert arrow[:2] == pytest.approx(tip)
        points_left = is_level or (goes_on if edge.inverse else not goes_on)
        assert arrow[2] == (8 if points_left else -8), "it points at the box"
        assert (colour == "#2f6fd0") == (1 in edge.ranks)
    ends = [tuple(curve) for curve, _, _ in lines(drawing)]
    assert len(set(ends)) == len(ends), "no line lies on another"


def test_a_picture_by_hand() -> None:
    """Two columns of boxes of 168 by 34, 300 and 62 apart, with a margin of 18 and 36; the best path's line is wide."""
    one = draw_paths(path((A, "r", B)))
    assert boxes(one) == [(18, 36, 186, 70), (318, 36, 486, 70)]
    assert [(curve, arrow[:2]) for curve, arrow, _ in lines(one)] == [([186, 53, 252, 53, 252, 53, 318, 53], [318, 53])]
    two = draw_paths(path((A, "r", B)), path((A, "s", C)))
    assert boxes(two) == [(18, 67, 186, 101), (318, 36, 486, 70), (318, 98, 486, 132)]
    for drawing, height in ((one, 106), (two, 168)):
        svg = ElementTree.fromstring(drawing_svg(drawing, "?"))
        assert [svg.attrib[name] for name in ("viewBox", "width", "height")] == [
            f"0 0 504 {height}",
            "504",
            f"{height}",
        ]
    widths = [each.attrib["stroke-width"] for each in elements(two, "path") if each.attrib["fill"] == "none"]
    assert widths == ["2.2", "1.3"]


def test_the_words_of_a_line_within_a_column_stand_beside_it() -> None:
    drawing = draw_paths(*LEVEL)
    (place,) = (n for n, edge in enumerate(drawing.edges) if edge.source and edge.target)
    text = [each for each in elements(drawing, "text") if each.attrib["font-size"] == "10.5"][place]
    curve, _, _ = lines(drawing)[place]
    assert float(text.attrib["x"]) == pytest.approx(curve[0] + 50)
    assert float(text.attrib["y"]) == pytest.approx((curve[1] + curve[7]) / 2 - 5)
    assert text.attrib["text-anchor"] == "start"


@pytest.mark.parametrize(("length", "shown"), [(22, "n" * 22), (23, "n" * 21 + "…")])
def test_a_relation_of_more_than_twenty_two_letters_is_cut(length: int, shown: str) -> None:
    texts = elements(draw_paths(path((A, "n" * length, B))), "text")
    assert [each.text for each in texts if each.attrib["font-size"] == "10.5"] == [shown]


def test_a_column_stands_in_the_middle_and_each_node_beside_what_leads_to_it() -> None:
    drawing = draw_paths(*TALL)
    rows = {node.label: node.row for node in drawing.nodes}
    assert rows == {"A": 1.5, "e0": 0.0, "e1": 1.0, "e2": 2.0, "e3": 3.0, "D": 1.5}
    crossing = draw_paths(
        path((A, "r", B), (B, "s", Entity("x", "x"))),
        path((A, "r", C), (C, "s", D)),
        path((A, "r", B), (B, "s", Entity("y", "y"))),
    )
    rows = {node.label: node.row for node in crossing.nodes}
    assert rows == {"A": 1.0, "B": 0.5, "C": 1.5, "x": 0.0, "y": 1.0, "D": 2.0}
    x, y = Entity("x", "x"), Entity("y", "y")
    of_both = draw_paths(*(path((A, "r", via), (via, "s", end)) for via, end in ((B, x), (C, x), (C, y))))
    rows = {node.label: node.row for node in of_both.nodes}
    assert rows == {"A": 0.5, "B": 0.0, "C": 1.0, "x": 0.0, "y": 1.0}, "x is between B and C"


def test_only_a_line_back_between_the_same_two_is_bent_aside() -> None:
    straight, bent, other = lines(draw_paths(*BOTH))
    assert straight[0][1] != bent[0][1]
    assert bent[0][1] - straight[0][1] == 8
    assert bent[0][7] - straight[0][7] == 8
    assert other[0][1] == straight[0][1]


def test_the_words_of_a_line_stand_at_its_end_that_fewer_lines_share() -> None:
    fan_in = draw_paths(*(path((start, f"r{n}", D)) for n, start in enumerate((A, B, C))))
    texts = [each for each in elements(fan_in, "text") if each.attrib["font-size"] == "10.5"]
    assert [each.text for each in texts] == ["r0", "r1", "r2"]
    around = boxes(fan_in)
    for edge, text in zip(fan_in.edges, texts, strict=True):
        assert text.attrib["text-anchor"] == "start"
        assert float(text.attrib["x"]) == pytest.approx(around[edge.source][2] + 14, abs=0.2)
    fan_out = draw_paths(*(path((A, f"r{n}", end)) for n, end in enumerate((B, C, D))))
    around = boxes(fan_out)
    texts = [each for each in elements(fan_out, "text") if each.attrib["font-size"] == "10.5"]
    for edge, text in zip(fan_out.edges, texts, strict=True):
        assert text.attrib["text-anchor"] == "end"
        assert float(text.attrib["x"]) == pytest.approx(around[edge.target][0] - 14, abs=0.2)
    (text,) = (each for each in elements(draw_paths(path((A, "r", B))), "text") if each.attrib["font-size"] == "10.5")
    assert text.attrib["text-anchor"] == "end", "of one line at the second of its ends"


@pytest.mark.parametrize("paths", [FORWARD, BACK, TALL], ids=["on", "back", "tall"])
def test_the_words_of_a_line_stand_between_its_ends(paths: tuple[Path, ...]) -> None:
    drawing = draw_paths(*paths)
    texts = [each for each in elements(drawing, "text") if each.attrib["font-size"] == "10.5"]
    for edge, (curve, _, _), text in zip(drawing.edges, lines(drawing), texts, strict=True):
        if drawing.nodes[edge.source].column != drawing.nodes[edge.target].column:
            left, right = sorted((curve[0], curve[6]))
            at = float(text.attrib["x"])
            assert left < at < right
            assert text.attrib["text-anchor"] == ("start" if at < (left + right) / 2 else "end")


def test_of_many_relations_of_one_line_two_are_named_above_one_another() -> None:
    drawing = draw_paths(*(path((A, f"r{n}", B)) for n in range(4)))
    texts = [each for each in elements(drawing, "text") if each.attrib["font-size"] == "10.5"]
    assert [each.text for each in texts] == ["r0", "r1 +2"]
    assert float(texts[1].attrib["y"]) - float(texts[0].attrib["y"]) == 12


def test_words_stand_above_their_line_and_of_one_that_is_bent_below_it() -> None:
    for drawing, rows in ((draw_paths(path((A, "r", B))), 1), (draw_paths(path((A, "r", B)), path((A, "s", B))), 2)):
        ((curve, _, _),) = lines(drawing)
        texts = [each for each in elements(drawing, "text") if each.attrib["font-size"] == "10.5"]
        assert [float(each.attrib["y"]) for each in texts] == [curve[1] - 5 - 12 * row for row in reversed(range(rows))]
    drawing = draw_paths(*BOTH)
    _, below, _ = (each for each in elements(drawing, "text") if each.attrib["font-size"] == "10.5")
    assert float(below.attrib["y"]) == lines(drawing)[1][0][7] + 13


@pytest.mark.parametrize(("length", "shown"), [(23, "n" * 23), (24, "n" * 22 + "…")])
def test_a_name_that_does_not_fit_its_box_is_cut_and_whole_in_its_title(length: int, shown: str) -> None:
    drawing = draw_paths(path((A, "r", Entity("long", "n" * length))))
    assert [each.text for each in elements(drawing, "text") if each.attrib["font-size"] == "13"] == ["A", shown]
    assert "n" * length in [each.text for each in elements(drawing, "title")]


def test_what_was_asked_about_is_what_the_chains_start_from() -> None:
    evidence = evidence_of(
        *ranked(leads("capital", LIMA, topic=PERU)), topics=(Topic(SOL), Topic(PERU, kind="country"))
    )
    assert "about Peru (country)" in evidence_html(evidence)
    assert "Sol" not in evidence_html(evidence)
    triples = Evidence(
        Question("?"), (Topic(SOL), Topic(PERU)), "triple", (Scored(Triple(PERU, "capital", LIMA), 1.0),)
    )
    assert "about Sol<" in evidence_html(triples)
