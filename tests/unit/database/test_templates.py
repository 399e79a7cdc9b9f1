from __future__ import annotations

import pytest
from lodestar.engine.neo4j import Template, all_names, quote_identifier, template


def test_a_part_stands_for_its_text_and_is_no_query() -> None:
    found = template("refresh_signatures_of")
    assert "CALL (e) {\n  MATCH (e)-[r]->" in found.text
    assert "//" not in found.text
    assert found.render({}).startswith("CYPHER 5 ")
    assert "relation_sizes" not in all_names()


def test_names_are_quoted() -> None:
    found = Template("x", "read", "MATCH (n)-[:{{RELATION}}]->() RETURN n")
    assert found.render({"RELATION": "a`b"}) == "CYPHER 5 MATCH (n)-[:`a``b`]->() RETURN n"


def test_quoting_doubles_back_ticks_and_refuses_what_cypher_would_unescape() -> None:
    assert quote_identifier("a`]->() DETACH DELETE n //") == "`a``]->() DETACH DELETE n //`"
    for bad in ("", "a\x00b", "a\\u0060b"):
        with pytest.raises(ValueError, match="not usable"):
            quote_identifier(bad)
