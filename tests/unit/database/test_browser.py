"""Pictures for Neo4j Browser without a database: what is drawn, and the links."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from lodestar.engine.neo4j_browser import make_browser_link, make_picture, make_picture_query
from lodestar.engine.settings import Connection

from tests.made.pictures import country_retrieval, neighbours

SECRET = "not-for-any-link"
CONNECTION = Connection("bolt://127.0.0.1:7687", "neo4j", SECRET)


@pytest.mark.parametrize(("max_paths", "max_instances"), [(1, 1), (2, 3), (5, 5)])
def test_a_picture_is_bounded(max_paths: int, max_instances: int) -> None:
    picture = make_picture(neighbours(1_000, extra_paths=30), max_paths, max_instances)
    assert len(picture.nodes) <= 1 + 1 + max_paths * (2 + max_instances) + 1


def test_the_link_has_the_query_and_the_user_and_never_the_password() -> None:
    picture = make_picture(country_retrieval())
    link = make_browser_link("http://127.0.0.1:7474/browser/", CONNECTION, make_picture_query(picture.question_id))
    parts = urlsplit(link)
    values = {name: value for name, (value,) in parse_qs(parts.query).items()}
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == "http://127.0.0.1:7474/browser/"
    assert f"'{picture.question_id}'" in values.pop("arg")
    assert values == {"dbms": "bolt://neo4j@127.0.0.1:7687", "db": "neo4j", "cmd": "edit"}
    assert SECRET not in unquote(link)


def test_a_password_in_the_address_does_not_reach_the_link() -> None:
    link = make_browser_link(
        "http://h:7474/browser/", Connection(f"neo4j+ssc://u:{SECRET}@h:7687", "me", ""), "RETURN 1"
    )
    assert SECRET not in unquote(link)
    assert parse_qs(urlsplit(link).query)["dbms"] == ["neo4j+s://me@h:7687"]


def test_browser_reads_a_command_back_whole() -> None:
    """Browser decodes the whole address first and then cuts at the next `&` or `#`; Enter runs one line only."""
    command = make_picture_query("0a")
    link = make_browser_link("http://127.0.0.1:7474/browser/", CONNECTION, command)
    decoded = unquote(link.replace("+", " "))
    assert decoded.partition("&arg=")[2] == command
    assert not set("&#\n") & set(command)


def test_a_question_is_a_comment_that_it_cannot_end() -> None:
    plain = make_picture_query("0a")
    for question in ("Who is A&B's #1?", "*/ MATCH (n) DETACH DELETE n //", "\\u002a\\u002f RETURN 1", "a\n*/b"):
        said, end, query = make_picture_query("0a", question).partition(" */ ")
        assert (end, query) == (" */ ", plain)
        assert not set("&#\n\\/*") & set(said.removeprefix("/* "))
    assert make_picture_query("0a", "Who is José?").startswith("/* Who is José? */ CYPHER 5 ")


def test_only_an_id_becomes_part_of_the_query() -> None:
    with pytest.raises(ValueError, match="base 16"):
        make_picture_query("' DETACH DELETE n //")
