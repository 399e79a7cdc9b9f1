"""A kill within a transaction, a disk without room and a damaged store leave the graph whole, or say that it is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import neo4j
import pytest
from lodestar import Engine
from lodestar.engine.errors import DatabaseError, LodestarError
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Connection, Settings
from lodestar.loaders.maintaining import verify

from tests.conftest import HEAP_MB, PAGECACHE_MB
from tests.e2e.conftest import Lodestar
from tests.made.graphs import COUNTRIES, COUNTRY_NAMES, TripleSource, load
from tests.references.snapshot import snapshot

pytestmark = pytest.mark.database

WRITER = """
import time
from lodestar import Engine
from lodestar.engine.neo4j.gateway import OpenTransaction

run = OpenTransaction.run

def wait(transaction, request):
    if request.template.name == "release_load_lock":
        print("within", flush=True)
        time.sleep(600)
    return run(transaction, request)

OpenTransaction.run = wait
Engine().add([("m.lima", "mayor", f"m.{number}") for number in range(200)])
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 400 MB in memory; only who may mount one has it."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", place], check=False, capture_output=True
    ).returncode:
        pytest.skip("this user may not mount a file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def fill(disk: Path, left_bytes: int) -> Path:
    """Leave so much room on a disk, by a file."""
    usage = os.statvfs(disk)
    with (disk / "filler").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, usage.f_bavail * usage.f_bsize - left_bytes)
    return disk / "filler"


def test_a_writer_that_is_killed_within_its_transaction_leaves_nothing(
    engine: Engine, environment: dict[str, str], driver: neo4j.Driver, gateway: Gateway
) -> None:
    before = snapshot(driver)
    with subprocess.Popen([sys.executable, "-c", WRITER], env=environment, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "within\n"
        writer.send_signal(signal.SIGKILL)
    with gateway.hold_load_lock():  # it is free as soon as nothing of the writer is left
        assert snapshot(driver) == before
    assert engine.add([("m.lima", "mayor", "m.ana")]).num_added == 1
    assert verify(gateway).faults == ()


@pytest.mark.usefixtures("engine")
def test_no_room_for_staging_is_one_line(
    lodestar: Lodestar, small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, connection: Connection
) -> None:
    kg = tmp_path / "kg.tsv"
    with kg.open("w", encoding="utf-8") as file:
        file.writelines(f"entity{n}\tknows\tentity{n * 7 % 100_003}\n" for n in range(600_000))
    fill(small_disk, 2_000_000)
    monkeypatch.setenv("LODESTAR_HOME", str(small_disk))
    monkeypatch.setenv("LODESTAR_URI", connection.uri)
    monkeypatch.setenv("LODESTAR_PASSWORD", connection.password)
    ran = lodestar("load", "tsv", str(kg), "--append")
    assert (ran.code, [line for line in ran.err.splitlines() if "Traceback" in line]) == (10, []), ran.err
    assert ran.err.splitlines()[-1].startswith("lodestar: ")
    assert [
        path for path in small_disk.rglob("*") if path.is_file() and path.suffix != ".lock" and "staging/" in str(path)
    ] == []


@pytest.mark.timeout(600)
def test_a_server_whose_disk_fills_up_and_whose_store_is_damaged(small_disk: Path, cache_dir: Path) -> None:
    server = EmbeddedServer("small", small_disk, cache_dir)
    settings = Settings(home=str(small_disk), cache=str(cache_dir), name="small")
    server.start(heap_mb=HEAP_MB, pagecache_mb=PAGECACHE_MB, progress=False)
    try:
        with Gateway(server.connection(60)) as gateway:
            load(TripleSource(COUNTRIES, COUNTRY_NAMES), gateway)
        filler, added = fill(small_disk, 1_000_000), 0
        with Engine(settings) as engine:
            with pytest.raises(LodestarError) as refused:
                for first in range(0, 200_000, 2_000):
                    added += engine.add(
                        [(f"m.{n}", "knows", f"m.{n + 1}") for n in range(first, first + 2_000)]
                    ).num_added
            assert "\n" not in str(refused.value)
        filler.unlink()
        server.stop()
        server.start(progress=False)
        with Gateway(server.connection(60)) as gateway:
            found = verify(gateway)
        assert (found.faults, found.num_triples) in [((), len(COUNTRIES) + each) for each in (added, added + 2_000)]

        server.stop()
        store = next(server.home.data.rglob("neostore.relationshipstore.db"))
        with store.open("r+b") as file:
            file.seek(64)
            file.write(os.urandom(store.stat().st_size - 64))
        with pytest.raises(LodestarError) as refused:
            server.start(progress=False)
            with Gateway(server.connection(60)) as gateway:
                faults = verify(gateway).faults
            raise DatabaseError("; ".join(faults)) if faults else AssertionError("nothing was noticed")
        print(f"after damage: {refused.value}")
        assert "\n" not in str(refused.value)
    finally:
        with suppress(LodestarError):
            server.reset()
