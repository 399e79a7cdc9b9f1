"""A real embedded Neo4j: started, asked, killed, started again."""

from __future__ import annotations

import json
import os
import socket
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from lodestar.engine.errors import DatabaseUnavailableError, EmbeddedServerError
from lodestar.engine.neo4j import server_home
from lodestar.engine.neo4j.embedded import EmbeddedServer, ServerStatus
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j.server_home import make_neo4j_settings
from lodestar.engine.settings import Connection

from tests.made.certificates import write_certificate

pytestmark = pytest.mark.database


@pytest.fixture
def status(server: EmbeddedServer) -> ServerStatus:
    return server.status()


def test_a_running_server_is_not_made_another(server: EmbeddedServer, status: ServerStatus) -> None:
    with pytest.raises(EmbeddedServerError, match="already runs with heap_mb"):
        server.start(heap_mb=status.heap_mb + 1, progress=False)
    assert server.status() == status


def test_it_listens_on_loopback_only(status: ServerStatus) -> None:
    listening = [s.laddr for s in psutil.Process(status.pid).net_connections("tcp") if s.status == psutil.CONN_LISTEN]
    assert {address.port for address in listening} == {status.bolt_port, status.http_port}
    assert {address.ip.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}


def test_nobody_else_reads_what_is_under_home(server: EmbeddedServer, home_dir: Path) -> None:
    held = [path for path in (home_dir, *home_dir.rglob("*")) if path.exists()]
    assert not {path: oct(path.stat().st_mode) for path in held if path.stat().st_mode & 0o077}
    assert [path for path in server.home.data.rglob("*") if path.is_file()]


def test_browser_answers_and_names_this_server(status: ServerStatus) -> None:
    with urllib.request.urlopen(status.browser_url) as answer:
        assert b"Neo4j Browser" in answer.read()
    with urllib.request.urlopen(f"http://127.0.0.1:{status.http_port}/") as answer:
        assert json.load(answer)["bolt_direct"] == status.bolt_uri


def content(path: Path) -> bytes:
    """Return what is in a file; one that the running server has deleted since has nothing."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def test_the_password_is_in_its_file_alone(server: EmbeddedServer, status: ServerStatus) -> None:
    password = status.password_file.read_text().strip()
    assert password not in " ".join(psutil.Process(status.pid).cmdline())
    assert password not in str(psutil.Process(status.pid).environ())
    assert password not in repr(server.connection())
    files = [path for path in status.home.rglob("*") if path.is_file() and path != status.password_file]
    assert any(path.name == "debug.log" for path in files)
    assert [path for path in files if password.encode() in content(path)] == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("tls"), "localhost")


@pytest.fixture(scope="module")
def films(server: EmbeddedServer, home_dir: Path, cache_dir: Path, certificate: Path) -> Iterator[EmbeddedServer]:
    """A second server beside the first, which speaks TLS to those who ask for it."""
    instance = EmbeddedServer("films", home_dir, cache_dir)
    tls = {
        "server.bolt.tls_level": "OPTIONAL",
        "dbms.ssl.policy.bolt.enabled": "true",
        "dbms.ssl.policy.bolt.base_directory": str(certificate.parent),
        "dbms.ssl.policy.bolt.client_auth": "NONE",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server_home, "make_neo4j_settings", lambda state: {**make_neo4j_settings(state), **tls})
        instance.start(heap_mb=512, pagecache_mb=64, progress=False)
        yield instance
        instance.reset()


def over_tls(instance: EmbeddedServer, address: str) -> Connection:
    return replace(instance.connection(), uri=f"{address}:{instance.status().bolt_port}")


@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s"])
@pytest.mark.long
def test_a_trusted_certificate_is_asked_over_tls(
    films: EmbeddedServer, certificate: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Gateway(over_tls(films, f"{scheme}://localhost")) as gateway:
        assert gateway.version() == films.status().version


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["bolt+ssc", "neo4j+ssc"])
def test_any_certificate_will_do_where_told(films: EmbeddedServer, scheme: str) -> None:
    with Gateway(over_tls(films, f"{scheme}://127.0.0.1")) as gateway:
        assert gateway.version() == films.status().version


def test_a_server_that_speaks_no_tls_is_one_clear_line(server: EmbeddedServer) -> None:
    connection = over_tls(server, "bolt+s://localhost")
    with Gateway(connection) as gateway, pytest.raises(DatabaseUnavailableError, match="it speaks no TLS") as caught:
        gateway.version()
    assert "\n" not in str(caught.value)


def test_a_port_that_is_taken_between_the_look_and_the_start(
    home_dir: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = EmbeddedServer("hurried", home_dir, cache_dir)
    with socket.socket() as thief:
        thief.bind(("127.0.0.1", 0))
        thief.listen()
        taken, look = thief.getsockname()[1], server_home.choose_port
        looks = iter([taken])
        monkeypatch.setattr(server_home, "choose_port", lambda *how, **more: next(looks, 0) or look(*how, **more))
        try:
            assert taken not in (instance.start(heap_mb=512, progress=False).bolt_port, instance.status().http_port)
        finally:
            instance.reset()


@pytest.mark.long
def test_a_second_server_lives_through_kill_stale_pid_and_taken_port(
    films: EmbeddedServer, server: EmbeddedServer
) -> None:
    first = films.status()
    assert first.running
    assert {first.bolt_port, first.http_port}.isdisjoint({server.status().bolt_port, server.status().http_port})
    assert "films" in [other.name for other in server.others()]

    killed = psutil.Process(first.pid)
    killed.kill()
    killed.wait()
    assert films.status().phase == "stopped"

    # The pid is another process's by now, and another server has its port.
    state = films.home.read_state()
    assert state
    films.home.write_state(replace(state, pid=os.getpid(), started_s=psutil.Process().create_time()))
    with socket.socket() as thief:
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        thief.bind(("127.0.0.1", first.bolt_port))
        thief.listen()
        again = films.start(progress=False)
    assert again.running
    assert again.bolt_port != first.bolt_port
    assert again.heap_mb == 512
    with Gateway(films.connection()) as gateway:
        gateway.version()

    # A lost or damaged memory of the server: it is found by its command line.
    (films.home.folder / "server.json").write_text("{")
    assert films.status().pid == again.pid
    assert films.stop() is True
    assert films.stop() is False
    assert server.status().running


def test_a_failed_start_says_why_and_is_forgotten(home_dir: Path, cache_dir: Path) -> None:
    instance = EmbeddedServer("large", home_dir, cache_dir)
    with pytest.raises(EmbeddedServerError, match=r"Neo4j did not start: .*memory.* its log is .*console\.log"):
        instance.start(heap_mb=1 << 20, progress=False)
    assert instance.status().phase != "running"
    instance.reset()
