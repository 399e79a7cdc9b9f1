"""Texts are sent to the database in requests of a bounded size."""

from __future__ import annotations

import pytest
from lodestar.engine.neo4j import all_names, quote_identifier, split_into_requests, template


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], []),
        (["a", "b", "c"], [["a", "b"], ["c"]]),
        (["a" * 9, "bb", "c"], [["a" * 9], ["bb", "c"]]),
        (["a", "b" * 11, "c"], [["a"], ["b" * 11], ["c"]]),
        (["a" * 5, "b" * 5, "c"], [["a" * 5, "b" * 5], ["c"]]),
    ],
)
def test_a_request_has_so_many_texts_and_so_many_characters(texts: list[str], expected: list[list[str]]) -> None:
    assert list(split_into_requests(texts, 2, len, 10)) == expected


def test_a_part_stands_for_its_text_and_is_no_query() -> None:
    found = template("refresh_signatures_of")
    assert "CALL (e) {\n  MATCH (e)-[r]->" in found.text
    assert "//" not in found.text
    assert found.render({}).startswith("CYPHER 5 ")
    assert "relation_sizes" not in all_names()


def test_quoting_doubles_back_ticks_and_refuses_what_cypher_would_unescape() -> None:
    assert quote_identifier("a`]->() DETACH DELETE n //") == "`a``]->() DETACH DELETE n //`"
    for bad in ("", "a\x00b", "a\\u0060b"):
        with pytest.raises(ValueError, match="not usable"):
            quote_identifier(bad)
