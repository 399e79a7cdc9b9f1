"""The page of an explanation: complete whatever the names, and without outside help."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lodestar.engine.show.explanation import Explanation
from lodestar.engine.show.page import explanation_page

from tests.made.explanations import PERU, explained_path, explanation

HOSTILE = "</text><script>alert('1')</script>&\"<svg onload=x>\x00\x1b[2J\u202egnp.exe\ufffe${title}"
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


def test_the_page_shades_each_word_by_its_share_of_the_largest_weight() -> None:
    shades: list[tuple[Any, Any]] = [
        (word, float(share))
        for share, word in re.findall(r'<span style="--w:([\d.]+)">([^<]*)</span>', explanation_page(PERU))
    ]
    assert shades == [
        (word, pytest.approx(share, abs=1e-3))
        for word, share in (
            ("what", 1 / 3),
            ("capital", 1),
            ("peru", 1 / 6),
            ("capital", 2 / 3),
            ("[END]", 1 / 2),
            ("what", 2 / 3),
            ("capital", 2 / 3),
            ("peru", 1 / 3),
            ("currency", 1),
        )
    ]


def test_the_page_names_ends_scores_and_weights() -> None:
    text = Page(explanation_page(PERU)).text
    for shown in ("→ Lima", "→ Peruvian sol", "score 3.25", "s(q, p) 0.88", "75", "38", "location.country.capital"):
        assert shown in text


def test_hostile_names_stay_text() -> None:
    page = explanation_page(named(HOSTILE))
    seen = Page(page)
    assert "script" not in seen.tags
    assert not any(key.startswith("on") for key, _ in seen.attributes)
    assert "<script>alert('1')</script>" in seen.text
    assert not re.search("[\x00\x1b\u202e\ufffe]", page)


@settings(max_examples=50)
@given(NAMES.filter(str.strip))
def test_any_name_makes_a_page_of_one_row(name: str) -> None:
    assert Page(explanation_page(named(name))).tags.count("li") == 1


def test_a_notebook_shows_the_page_and_nothing_of_it_leaves_its_frame() -> None:
    shown = Page(PERU._repr_html_())
    assert shown.tags == ["iframe"]
    assert dict(shown.attributes)["srcdoc"] == explanation_page(PERU)


def test_nothing_is_asked_of_the_outside() -> None:
    assert not re.search(r"https?://|url\(|@import|<script|<link|src=", explanation_page(PERU))


def test_without_a_path_the_note_is_shown() -> None:
    assert "no path leads on" in Page(explanation_page(explanation(note="no path leads on"))).text
