"""Memory and ports, chosen by the machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from lodestar.engine import machine
from lodestar.engine.errors import PortTakenError
from lodestar.engine.neo4j import server_home
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.neo4j.server_home import ServerState


@pytest.mark.parametrize(
    ("total_mb", "store_mb", "heap_mb", "pagecache_mb"),
    [
        (1024, 0, 512, 256),
        (24_000, 0, 1024, 256),
        (24_000, 100, 1824, 376),
        (24_000, 5_000, 4000, 6256),
        (24_000, 50_000, 4000, 8000),
        (1 << 20, 50_000, 4096, 60_256),
    ],
)
def test_memory_grows_with_the_store_within_bounds(
    total_mb: int, store_mb: int, heap_mb: int, pagecache_mb: int
) -> None:
    assert server_home.default_heap_mb(total_mb, store_mb) == heap_mb
    assert server_home.default_pagecache_mb(total_mb, store_mb) == pagecache_mb


@pytest.mark.parametrize(
    ("own", "files", "cpus"),
    [
        ("0::/a/b\n", {}, 64),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "150000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "20000 100000\n"}, 1),
    ],
)
def test_a_quota_of_processors_is_kept_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, files: dict[str, str], cpus: int
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / "own").write_text(own)
    monkeypatch.setattr(machine, "_CGROUPS", tmp_path)
    monkeypatch.setattr(machine, "_OWN_CGROUPS", tmp_path / "own")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    assert machine.num_cpus() == cpus


def test_a_given_port_is_taken_or_refused_and_others_are_the_first_that_is_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(PortTakenError, match=f"port {port} is taken"):
            server_home.choose_port(port, (1,))
        chosen = server_home.choose_port(None, (0, port))
        assert chosen not in (0, port)
    assert server_home.choose_port(port) == port
    assert server_home.choose_port(None, (port, chosen), avoid=port) == chosen


def test_memory_that_nobody_gave_is_chosen_anew_by_the_size_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "memory_mb", lambda: 12_288)
    instance = EmbeddedServer("default", tmp_path, tmp_path)
    instance.home.create()
    instance.home.write_state(ServerState("5.26.30", 9000, 9001, 700, 800, given_heap_mb=700))
    for name, size_mb in (("neostore.relationshipstore.db", 3_000), ("schema/index/fulltext-1.0/1/_0.cfs", 1_000)):
        file = instance.home.data / "databases" / "neo4j" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        os.truncate(file, size_mb << 20)
    state = instance._plan({})
    assert (state.heap_mb, state.pagecache_mb) == (700, 3_856)
    state = instance._plan({"pagecache_mb": 900})
    assert (state.heap_mb, state.pagecache_mb, state.given_pagecache_mb) == (700, 900, 900)
