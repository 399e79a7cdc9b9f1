"""kill -9 at any moment, then the same command again: the graph is that of an undisturbed load.

``LODESTAR_KILLS`` is the number of moments per writer; the default keeps the suite short, as leaving the bulk writer and
appending to `make test-long` does.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import neo4j
import pytest
from lodestar.engine.errors import DatabaseUnavailableError, GraphError
from lodestar.engine.neo4j.catalogue import read_graph_state
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.loaders.maintaining import verify

from tests.conftest import HEAP_MB, PAGECACHE_MB, clear_database
from tests.places import clean_environment
from tests.references.snapshot import Snapshot, snapshot

KILLS = int(os.environ.get("LODESTAR_KILLS", "1"))

pytestmark = pytest.mark.timeout(600 + 180 * KILLS)


@pytest.fixture(scope="module")
def instance(home_dir: Path, cache_dir: Path) -> Iterator[EmbeddedServer]:
    instance = EmbeddedServer("killed", home_dir, cache_dir)
    instance.start(heap_mb=HEAP_MB, pagecache_mb=PAGECACHE_MB, progress=False)
    yield instance
    instance.reset()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A graph of 12,000 triples, two batches of the online writer, with literals and names, and a small one that is there before."""
    folder = tmp_path_factory.mktemp("kg")
    chosen = random.Random(7)
    lines = {f"e{chosen.randrange(4_000)}\tr.{chosen.randrange(60)}\te{chosen.randrange(4_000)}" for _ in range(11_000)}
    lines |= {f'e{chosen.randrange(4_000)}\tsaid\t"{chosen.randrange(900)}"@en' for _ in range(1_000)}
    large, small = folder / "large.tsv", folder / "small.tsv"
    large.write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8")
    small.write_text("a\tr.1\tb\na\told\te1\n", encoding="utf-8")
    (folder / "names.tsv").write_text("".join(f"e{i}\tEntity {i}\tE{i}\n" for i in range(3_000)), encoding="utf-8")
    return large, small


def command(instance: EmbeddedServer, path: Path, *options: str) -> list[str]:
    home = str(instance.servers_dir.parent)
    names = ("--names", str(path.with_name("names.tsv"))) if path.name == "large.tsv" else ()
    load = ["load", "tsv", str(path), *names, "--name", instance.name, *options]
    return ["env", f"LODESTAR_HOME={home}", sys.executable, "-m", "lodestar", *load]


def run(arguments: list[str], cache: Path) -> float:
    started_s = time.monotonic()
    done = subprocess.run(arguments, env=environment(cache), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return time.monotonic() - started_s


def environment(cache: Path) -> dict[str, str]:
    return clean_environment(LODESTAR_CACHE=str(cache))


def run_and_kill(arguments: list[str], cache: Path, after_s: float) -> float | None:
    """Return the seconds it took where it was done before it could be killed, None where it was killed."""
    started_s = time.monotonic()
    process = subprocess.Popen(
        arguments, env=environment(cache), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        process.wait(after_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return None
    return time.monotonic() - started_s


def look(instance: EmbeddedServer, check: Callable[[neo4j.Driver, Gateway], Snapshot | None]) -> Snapshot | None:
    connection = instance.connection(600)
    with (
        neo4j.GraphDatabase.driver(connection.uri, **connection.driver_options) as driver,
        Gateway(connection) as gateway,
    ):
        return check(driver, gateway)


def seen(driver: neo4j.Driver, gateway: Gateway) -> Snapshot:
    assert verify(gateway).faults == ()
    return snapshot(driver)


@pytest.mark.long
@pytest.mark.parametrize("options", [("--writer", "bulk", "--replace"), ("--writer", "online"), ("--append",)], ids=str)
def test_the_same_command_again_finishes_what_was_killed(
    instance: EmbeddedServer, files: tuple[Path, Path], cache_dir: Path, options: tuple[str, ...]
) -> None:
    large, small = files
    chosen = random.Random(str(options))

    def prepare() -> Snapshot | None:
        instance.start(progress=False)
        look(instance, lambda driver, _: clear_database(driver, "neo4j", schema=True))
        if options != ("--writer", "online"):
            run(command(instance, small, "--writer", "online"), cache_dir)
            return look(instance, seen)
        return None

    before = prepare()
    load = command(instance, large, *options)
    seconds = run(load, cache_dir)
    undisturbed = look(instance, seen)
    killed = 0
    for _ in range(2 * KILLS):
        prepare()
        moment_s = chosen.uniform(0.05, 1.0) * seconds
        took_s = run_and_kill(load, cache_dir, moment_s)
        seconds, killed = took_s or seconds, killed + (took_s is None)
        instance.start(progress=False)

        def between(driver: neo4j.Driver, gateway: Gateway, moment_s: float = moment_s) -> None:
            if "bulk" in options:
                assert snapshot(driver) in (before, undisturbed), f"killed after {moment_s:.2f} s"
                return
            state = gateway.run(read_graph_state())
            if not before and state.unfinished_loads:
                with pytest.raises(GraphError):
                    state.check()

        look(instance, between)
        run(load, cache_dir)
        assert look(instance, seen) == undisturbed, f"killed after {moment_s:.2f} s"
        if killed == KILLS:
            break
    print(f"{options}: killed {killed} times, each within {seconds:.1f} s")
    assert killed == KILLS


@pytest.mark.long
def test_a_server_that_goes_away_in_the_middle_is_one_line(
    instance: EmbeddedServer, files: tuple[Path, Path], cache_dir: Path
) -> None:
    instance.start(progress=False)
    look(instance, lambda driver, _: clear_database(driver, "neo4j", schema=True))
    load = command(instance, files[0], "--writer", "online")
    with subprocess.Popen(load, env=environment(cache_dir), stderr=subprocess.PIPE, text=True) as process:
        look(instance, until_some_triples)
        os.kill(instance.status().pid or 0, signal.SIGKILL)
        _, said = process.communicate(timeout=120)
    assert process.returncode == DatabaseUnavailableError.exit_code
    assert [line for line in said.splitlines() if line.startswith("lodestar: ")] == said.splitlines()[-1:]
    instance.start(progress=False)
    run(load, cache_dir)
    look(instance, seen)


def until_some_triples(_: neo4j.Driver, gateway: Gateway) -> None:
    deadline_s = time.monotonic() + 60
    while not gateway.run(read_graph_state()).num_triples:
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
