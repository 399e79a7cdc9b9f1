"""How a subgraph grew as text and a page: widths by attention, nothing from outside but text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

from lodestar.engine.show.browser import style_rules
from lodestar.engine.show.growth import MAX_EDGES, GrownEdge, Growth, growth_data, growth_lines, select_top_edges
from lodestar.engine.show.page import MAX_STROKE, growth_page
from lodestar.engine.show.picture import attention_relationship_type, picture_of_growth, question_picture_id
from lodestar.engine.values import Entity, Question, Topic

PERU, LIMA, SOL = Entity("m.peru", "Peru"), Entity("m.lima", "Lima <&>"), Entity("m.sol", "Sol")
SVG = "{http://www.w3.org/2000/svg}"


def drawn(page: str) -> ET.Element:
    """The curves of the page's first layer."""
    found = re.search(r"<svg.*?</svg>", page, re.DOTALL)
    assert found is not None
    return ET.fromstring(found[0])


def growth(*edges: GrownEdge, text: str = "What is the capital of Peru?") -> Growth:
    return Growth(Question(text), (Topic(PERU),), (select_top_edges(list(edges)),))


CAPITAL = GrownEdge(PERU, "capital", LIMA, False, 0.75, True)
CURRENCY = GrownEdge(PERU, "used in", SOL, True, 0.25, False)


def test_an_edge_is_as_wide_as_its_attention_and_pruned_ones_are_dashed() -> None:
    page = growth_page(growth(CURRENCY, CAPITAL))
    paths = sorted(drawn(page).iter(f"{SVG}path"), key=lambda path: float(path.attrib["stroke-width"]))
    assert [float(path.attrib["stroke-width"]) for path in paths] == [0.25 * MAX_STROKE, 0.75 * MAX_STROKE]
    assert [path.attrib["class"] for path in paths] == ["pruned", "kept"]
    texts = {text.text for text in drawn(page).iter(f"{SVG}text")}
    assert texts == {"capital →", "← used in"}
    for shown_text in (">Peru</p>", ">Lima &lt;&amp;&gt;</p>", ">Sol</p>", "Layer 1: 1 kept, 1 pruned", "from Peru"):
        assert shown_text in page


def test_the_most_attended_to_are_shown_and_the_rest_is_counted() -> None:
    edges = [
        GrownEdge(PERU, f"r{place:02}", LIMA, False, 0.5 / (place + 1), place % 2 == 0)
        for place in range(MAX_EDGES + 5)
    ]
    layer = select_top_edges(edges[::-1])
    assert [edge.relation for edge in layer.edges] == [f"r{place:02}" for place in range(MAX_EDGES)]
    assert (layer.more_kept, layer.more_pruned) == (3, 2)
    assert f"Layer 1: {MAX_EDGES // 2 + 3} kept, {MAX_EDGES // 2 + 2} pruned" in growth_page(growth(*edges))


def test_lines_and_data() -> None:
    assert growth_lines(growth(CURRENCY, CAPITAL)) == [
        "layer 1",
        "   75.0 %  Peru - capital -> Lima <&>",
        "   25.0 %  Peru <- used in - Sol  (pruned)",
    ]
    data: Any = growth_data(growth(CAPITAL))
    assert data["layers"][0]["edges"][0]["target"] == "m.lima"


def test_text_from_outside_stays_text() -> None:
    page = growth_page(growth(CAPITAL, text="</title><script>alert(1)</script> \x00"))
    assert "<script" not in page
    assert "Lima &lt;&amp;&gt;" in page
    assert drawn(page) is not None


def test_nothing_grew() -> None:
    assert drawn(growth_page(Growth(Question("Who?"), (), (select_top_edges([]),)))) is not None


def test_in_browser_an_edge_is_drawn_once_and_its_type_says_how_wide() -> None:
    weak = replace(CAPITAL, attention=0.3, kept=False)
    layers = (
        select_top_edges([CAPITAL, CURRENCY]),
        select_top_edges([weak, GrownEdge(LIMA, "in", SOL, False, 0.05, True)]),
    )
    picture = picture_of_growth(Growth(Question("What is the capital of Peru?"), (Topic(PERU),), layers))
    arrows = [arrow for arrow in picture.arrows if arrow.type != "LODESTAR_ABOUT"]
    names = [(picture.nodes[a.start].name, a.type, picture.nodes[a.end].name, a.properties["layers"]) for a in arrows]
    assert names == [
        ("Peru", "LODESTAR_GREW_5", "Lima <&>", [1, 2]),
        ("Peru", "LODESTAR_PRUNED", "Sol", [1]),
        ("Lima <&>", "LODESTAR_GREW_1", "Sol", [2]),
    ]
    assert arrows[0].properties["attention"] == 0.75
    assert arrows[1].properties["caption"] == "\u2190 used in 25 %"
    assert [node.label for node in picture.nodes[:2]] == ["LodestarQuestion", "LodestarTopic"]
    assert picture.question_id != question_picture_id(Question("What is the capital of Peru?"))


def test_browser_has_a_width_for_every_type() -> None:
    rules = style_rules()
    types = [f"relationship.{attention_relationship_type(attention)}" for attention in (0.0, 0.1, 0.3, 0.5, 0.9)]
    widths = [int(rules[type_]["shaft-width"].removesuffix("px")) for type_ in types]
    assert widths == sorted(set(widths))
    assert rules["relationship.LODESTAR_PRUNED"]["caption"] == rules[types[0]]["caption"] == "{caption}"


def test_what_browser_does_not_draw_is_counted() -> None:
    edges = [GrownEdge(PERU, f"r{place:02}", LIMA, False, 0.01, place % 2 == 0) for place in range(MAX_EDGES + 5)]
    picture = picture_of_growth(growth(*edges))
    assert picture.nodes[-1].name == "layer 1: 5 more, 2 of them pruned"
