from __future__ import annotations

import pytest
from lodestar.engine.neo4j.templates import TemplateError, all_names, parse, quote_identifier

HEADER = "// Purpose.\n// mode:    read\n// params:  {params}\n// returns: id :: STRING\n// needs:   nothing\n"


def source(body: str, params: str = "$ids :: LIST<STRING>") -> str:
    return HEADER.format(params=params) + body


def test_a_part_stands_for_its_text_and_is_no_query() -> None:
    found = parse("x", source("UNWIND $ids AS id\nMATCH (e:Entity {id: id})\n{{> relation_sizes}}\nRETURN e.id AS id"))
    assert "{id: id})\nCALL (e) {\n  MATCH (e)-[r]->" in found.text
    assert "//" not in found.text
    assert "relation_sizes" not in all_names()


def test_names_are_quoted_and_must_be_complete() -> None:
    text = source("MATCH ()-[:{{RELATION}}]->(e) WHERE e.id IN $ids RETURN e.id AS id").replace(
        "// returns", "// names:   RELATION\n// returns"
    )
    found = parse("x", text)
    assert "[:`a``b`]" in found.render({"RELATION": "a`b"})
    with pytest.raises(TemplateError, match="expected names"):
        found.render({})


def test_a_condition_stands_as_it_is_on_lines_of_its_own() -> None:
    text = source("MATCH (n) WHERE ({{NODES}}) RETURN n.id AS id LIMIT $most", "$most :: INTEGER")
    found = parse("x", text.replace("// returns", "// conditions: NODES\n// returns"))
    assert found.conditions == found.names == {"NODES"}
    assert "WHERE (\nn.a = 1 // one\n) RETURN" in found.render({"NODES": "n.a = 1 // one"})


def test_quoting_doubles_back_ticks_and_refuses_what_cypher_would_unescape() -> None:
    assert quote_identifier("a`]->() DETACH DELETE n //") == "`a``]->() DETACH DELETE n //`"
    for bad in ("", "a\x00b", "a\\u0060b"):
        with pytest.raises(ValueError, match="not usable"):
            quote_identifier(bad)
