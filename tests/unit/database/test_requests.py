"""Requests to a database: bounded, quoted, and what the gateway makes of a server that it cannot use."""

from __future__ import annotations

import pytest
from lodestar.engine.errors import AuthenticationError, DatabaseError
from lodestar.engine.neo4j import quote_identifier
from lodestar.engine.neo4j.gateway import check_server_version, translate_errors
from lodestar.engine.settings import Connection
from neo4j.exceptions import Neo4jError


def test_quoting_doubles_back_ticks_and_refuses_what_cypher_would_unescape() -> None:
    assert quote_identifier("a`]->() DETACH DELETE n //") == "`a``]->() DETACH DELETE n //`"
    for bad in ("", "a\x00b", "a\\u0060b"):
        with pytest.raises(ValueError, match="not usable"):
            quote_identifier(bad)


SECRET = "not-to-be-shown"
CONNECTION = Connection("bolt://graph.example:7687", password=SECRET)


@pytest.mark.parametrize("agent", ["Neo4j/5.26.0", "Neo4j/5.26-aura", "Neo4j/5.27.0", "Neo4j/2025.01.0"])
def test_supported_versions(agent: str) -> None:
    assert check_server_version(CONNECTION, agent) == agent.removeprefix("Neo4j/")


@pytest.mark.parametrize("agent", ["Neo4j/4.4.30", "Neo4j/5.25.1", "Neo4j/dev", "Neo4j/", "Memgraph/5.26.0", ""])
def test_other_servers_are_refused(agent: str) -> None:
    with pytest.raises(DatabaseError, match=r"bolt://graph.example:7687 is .*: expected Neo4j 5.26 or newer"):
        check_server_version(CONNECTION, agent)


@pytest.mark.parametrize(
    ("code", "expected", "message"),
    [
        ("Neo.ClientError.Security.Unauthorized", AuthenticationError, "check LODESTAR_USER and LODESTAR_PASSWORD"),
        ("Neo.ClientError.Security.AuthenticationRateLimit", DatabaseError, "Neo4j: refused"),
        ("Neo.TransientError.General.MemoryPoolOutOfMemoryError", DatabaseError, "db start --heap-mb"),
        ("Neo.ClientError.Database.DatabaseNotFound", DatabaseError, "no database 'neo4j': check LODESTAR_DATABASE"),
    ],
)
def test_the_servers_refusals_are_told_apart(code: str, expected: type[DatabaseError], message: str) -> None:
    with pytest.raises(expected, match=message) as caught, translate_errors(CONNECTION):
        raise Neo4jError._hydrate_neo4j(code=code, message="refused")
    assert SECRET not in str(caught.value)
