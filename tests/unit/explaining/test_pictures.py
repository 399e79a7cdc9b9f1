"""The picture and the page of an explanation: well formed whatever the names, complete, and without outside help."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lodestar.engine.show.explanation import Explanation
from lodestar.engine.show.page import WIDTH, explanation_page, svg, text_width

from tests.explanations import PERU, explained_path, explanation

HOSTILE = "</text><script>alert('1')</script>&\"<svg onload=x>\x00\x1b[2J\u202egnp.exe\ufffe${title}"
SVG = "{http://www.w3.org/2000/svg}"
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


class Page(HTMLParser):
    """The tags, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += f"{data}\n"


def named(name: str) -> Explanation:
    path = explained_path([(name, 1.0)], [(name, 1.0)], topic=name, relation=name, ends=[name])
    return explanation(path, question=f"? {name}", note=name)


def test_the_picture_shades_each_word_by_its_share_of_the_largest_weight() -> None:
    groups = Xml.fromstring(svg(PERU)).findall(f"{SVG}g")
    shades = {}
    for row, group in enumerate(groups):
        box, word = group.find(f"{SVG}rect"), group.find(f"{SVG}text")
        assert box is not None
        assert word is not None
        shades[row, word.text] = float(box.attrib["fill-opacity"])
    assert shades == pytest.approx(
        {
            (0, "what"): 1 / 3,
            (1, "capital"): 1,
            (2, "peru"): 1 / 6,
            (3, "capital"): 2 / 3,
            (4, "[END]"): 1 / 2,
            (5, "what"): 2 / 3,
            (6, "capital"): 2 / 3,
            (7, "peru"): 1 / 3,
            (8, "currency"): 1,
        },
        abs=1e-3,
    )


def test_picture_and_page_name_ends_scores_and_weights() -> None:
    drawn = "\n".join(Xml.fromstring(svg(PERU)).itertext())
    for text in (drawn, Page(explanation_page(PERU)).text):
        for shown in ("→ Lima", "→ Peruvian sol", "score 3.25", "s(q, p) 0.88", "75", "38", "location.country.capital"):
            assert shown in text


def test_hostile_names_stay_text() -> None:
    root = Xml.fromstring(svg(named(HOSTILE)))
    assert {element.tag for element in root.iter()} == {
        f"{SVG}{tag}" for tag in ("svg", "title", "rect", "path", "g", "text")
    }
    assert not any(key.startswith("on") for element in root.iter() for key in element.attrib)
    seen = Page(explanation_page(named(HOSTILE)))
    assert "script" not in seen.tags
    assert not any(key.startswith("on") for key, _ in seen.attributes)
    assert "<script>alert('1')</script>" in seen.text
    for text in (svg(named(HOSTILE)), explanation_page(named(HOSTILE))):
        assert not re.search("[\x00\x1b\u202e\ufffe]", text)


@settings(max_examples=50, deadline=None)
@given(NAMES.filter(str.strip))
def test_any_name_makes_a_picture_that_parses_and_stays_inside(name: str) -> None:
    root = Xml.fromstring(svg(named(name)))
    for box in root.iter(f"{SVG}rect"):
        assert float(box.get("x", 0)) + float(box.attrib["width"]) <= WIDTH
    assert Page(explanation_page(named(name))).tags.count("li") == 1


def test_nothing_is_asked_of_the_outside() -> None:
    assert not re.search(
        r"https?://(?!www\.w3\.org/2000/svg\")|url\(|@import|<script|<link|src=", svg(PERU) + explanation_page(PERU)
    )


def test_long_questions_and_words_are_wrapped_and_cut() -> None:
    path = explained_path([("w" * 300, 0.5), *((f"word{i}", 0.01) for i in range(50))], [("x", 1.0)])
    root = Xml.fromstring(svg(explanation(path, question="word " * 200)))
    boxes = [box for group in root.iter(f"{SVG}g") for box in group.findall(f"{SVG}rect")]
    assert len(boxes) == 52
    assert max(float(box.attrib["x"]) + float(box.attrib["width"]) for box in boxes) <= WIDTH
    assert float(root.attrib["height"]) > max(float(box.attrib["y"]) for box in boxes)


def test_without_a_path_the_note_is_shown() -> None:
    nothing = explanation(note="no path leads on")
    assert "no path leads on" in "".join(Xml.fromstring(svg(nothing)).itertext())
    assert "no path leads on" in Page(explanation_page(nothing)).text


def test_wide_and_combining_characters_have_their_width() -> None:
    assert text_width("日本", 10) > text_width("ab", 10) == text_width("a\u0301b", 10)
    assert text_width("i", 10) < text_width("m", 10) < text_width("m", 10, bold=True)
