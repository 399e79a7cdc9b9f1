"""`lodestar load neo4j` by the command line; a second server is read in `make test-long` alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import neo4j
import pytest
from lodestar.engine.neo4j import server_home
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.settings import Connection

from tests.e2e.conftest import Lodestar
from tests.made.certificates import write_certificate
from tests.made.property_graphs import MOVIES, write_graph

pytestmark = pytest.mark.usefixtures("empty_graph")


@pytest.fixture
def source(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> Connection:
    """The tests' own server, read by --dry-run alone; its password is in the environment."""
    monkeypatch.setenv("LODESTAR_FROM_PASSWORD", connection.password)
    return connection


def state(driver: neo4j.Driver) -> list[Any]:
    """Everything in a database, and the last transaction that changed it."""
    asked = (
        "MATCH (n) RETURN elementId(n), labels(n), properties(n) ORDER BY elementId(n)",
        "MATCH ()-[r]->() RETURN elementId(r), type(r), properties(r) ORDER BY elementId(r)",
        "SHOW DATABASE neo4j YIELD lastCommittedTxn",
    )
    return [driver.execute_query(text).records for text in asked]


@pytest.mark.long
def test_a_server_that_refuses_every_write_is_read_over_tls(
    lodestar: Lodestar, source_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = source_server.connection()
    monkeypatch.setenv("LODESTAR_FROM_PASSWORD", source.password)
    with neo4j.GraphDatabase.driver(source.uri, **source.driver_options) as driver:
        write_graph(driver, MOVIES)
    usual = server_home.make_neo4j_settings
    certificate = write_certificate(tmp_path, "localhost")
    other = {
        "server.databases.default_to_read_only": "true",
        "server.bolt.tls_level": "OPTIONAL",
        "dbms.ssl.policy.bolt.enabled": "true",
        "dbms.ssl.policy.bolt.base_directory": str(certificate.parent),
        "dbms.ssl.policy.bolt.client_auth": "NONE",
    }

    def configure(server: server_home.ServerState) -> Mapping[str, str]:
        return {**usual(server), **other}

    source_server.stop()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(server_home, "make_neo4j_settings", configure)
            source_server.start(progress=False)
        with neo4j.GraphDatabase.driver(source.uri, **source.driver_options) as driver:
            with pytest.raises(neo4j.exceptions.ClientError, match="read"):
                driver.execute_query("CREATE (:Movie)")
            before = state(driver)
            address = f"neo4j+s://localhost:{source_server.status().bolt_port}"
            refused = lodestar("load", "neo4j", "--from", address)
            assert (refused.code, refused.err.count("\n")) == (4, 1)
            assert refused.err.startswith(
                f"lodestar: no Neo4j answers at {address}: if one runs there, it speaks no TLS"
            )
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            ran = lodestar("load", "neo4j", "--from", address)
            assert ran.code == 0, ran.err
            assert state(driver) == before
        assert "45 triples, 18 entities" in ran.err
        assert lodestar("db", "check").code == 0
    finally:
        source_server.stop()
        source_server.start(progress=False)


def test_bad_input_is_one_line_each(lodestar: Lodestar, source: Connection, driver: neo4j.Driver) -> None:
    write_graph(driver, MOVIES)
    load = ("load", "neo4j", "--from", source.uri, "--dry-run")
    before = state(driver)
    Path("m.toml").write_text("[labels.Film]\nname = ['title']\n", encoding="utf-8")
    expected: list[tuple[int, str, tuple[str, ...]]] = [
        (2, "--labels: there is no label 'Persn', there is Person", (*load, "--labels", "Persn")),
        (3, "m.toml: there is no label 'Film', there is", (*load, "--mapping", "m.toml")),
        (3, "missing.toml: the mapping cannot be read", (*load, "--mapping", "missing.toml")),
        (3, "expected a property that names nodes", (*load, "--leave-out", "name", "--leave-out", "title")),
        (
            4,
            "has no database 'films': check --from, --from-user, --from-database and",
            (*load, "--from-database", "films"),
        ),
        (4, "no Neo4j answers at bolt://127.0.0.1:1: check --from", ("load", "neo4j", "--from", "bolt://127.0.0.1:1")),
        (2, "database address: expected one of", ("load", "neo4j", "--from", "http://127.0.0.1:7474")),
        (2, "expected bolt://HOST or bolt://HOST:PORT", ("load", "neo4j", "--from", "bolt://neo4j:secret@127.0.0.1")),
    ]
    for code, message, arguments in expected:
        ran = lodestar(*arguments)
        errors = [line for line in ran.err.splitlines() if line.startswith("lodestar:")]
        assert (ran.code, len(errors), message in errors[0]) == (code, 1, True), (arguments, ran.err)
    assert state(driver) == before
    driver.execute_query("MATCH (n) DETACH DELETE n")
    ran = lodestar(*load)
    assert (ran.code, "expected nodes in database 'neo4j', found none that 'neo4j' may read" in ran.err) == (3, True)


def test_a_wrong_password_is_tried_once(
    lodestar: Lodestar, source: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neo4j locks a user out after three wrong passwords: two loads of one attempt each do not."""
    monkeypatch.setenv("LODESTAR_FROM_PASSWORD", "wrong")
    message = f"lodestar: {source.uri} refused user 'neo4j': check --from, --from-user, --from-database and LODESTAR_FROM_PASSWORD\n"
    for _ in range(2):
        ran = lodestar("load", "neo4j", "--from", source.uri)
        assert (ran.code, ran.err) == (4, message)
    with neo4j.GraphDatabase.driver(source.uri, **source.driver_options) as driver:
        driver.verify_authentication()


def test_the_database_that_is_loaded_into_is_not_read(
    lodestar: Lodestar, source: Connection, driver: neo4j.Driver
) -> None:
    write_graph(driver, MOVIES)
    ran = lodestar("load", "neo4j", "--from", source.uri)
    assert (ran.code, "--from names the database that is loaded into" in ran.err) == (2, True), ran.err
