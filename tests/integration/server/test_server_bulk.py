"""A graph imported offline and put in the place of another, with a real Neo4j: values, failures, kills."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, LiteralString

import neo4j
import psutil
import pytest
from lodestar.engine.neo4j.bulk_import import LIST_DELIMITER, ImportFile, ImportFiles
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.neo4j.server_process import wait_for_end

pytestmark = [
    pytest.mark.long,
    pytest.mark.database,
    pytest.mark.skipif("LODESTAR_TEST_URI" in os.environ, reason="a server elsewhere has no folder here"),
]

MEMORY = {"heap_mb": 512, "pagecache_mb": 64}


def written(folder: Path, **tables: Mapping[str, Any]) -> ImportFiles:
    """Write each table as a file: `triples` are relationships, any other is of the label that it is called."""
    files: dict[str, ImportFile] = {}
    for name, columns in tables.items():
        rows = [*zip(*columns.values(), strict=True)]
        lines = ["\t".join(map(cell, row)) for row in [tuple(columns), *rows]]
        (folder / f"{name}.csv").write_text("\n".join([*lines, ""]), encoding="utf-8", newline="")
        spans_lines = any("\n" in line or "\r" in line for line in lines)
        longest = max(len(line.encode()) for line in lines)
        files[name] = ImportFile(f"{name}.csv", len(rows), spans_lines, longest)
    triples = (files.pop("triples"),) if "triples" in files else ()
    return ImportFiles(folder, tuple(files.items()), triples)


def cell(value: Any) -> str:
    """Return a value as the importer reads it."""
    if isinstance(value, list):
        value = LIST_DELIMITER.join(map(str, value))
    return "" if value is None else f'"{value.replace(chr(34), chr(34) * 2)}"' if isinstance(value, str) else str(value)


def asked(instance: EmbeddedServer, query: LiteralString) -> list[dict[str, Any]]:
    connection = instance.connection()
    with neo4j.GraphDatabase.driver(connection.uri, **connection.driver_options) as driver:
        return [record.data() for record in driver.execute_query(query).records]


def importers(incoming: EmbeddedServer) -> list[psutil.Process]:
    arguments = f"@{incoming.home.folder}/run/admin.args"
    found = []
    for process in psutil.process_iter():
        try:
            found += [process] if arguments in process.cmdline() else []
        except psutil.Error:
            continue
    return found


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, cache_dir: Path) -> Iterator[EmbeddedServer]:
    """A server that runs, with a user of its own; it had a graph before it ever started."""
    instance = EmbeddedServer("bulk", tmp_path_factory.mktemp("bulk"), cache_dir)
    assert not instance.has_graph
    with instance.loading() as incoming:
        incoming.import_graph(written(tmp_path_factory.mktemp("old"), Old={":ID(n)": [0], "id": ["old"]}))
        status = instance.adopt(incoming, progress=False)
    assert (status.phase, status.bolt_port) == ("stopped", 0)
    assert instance.has_graph
    instance.start(**MEMORY, progress=False)
    asked(instance, "CREATE USER ana SET PASSWORD 'a long password' CHANGE NOT REQUIRED")
    yield instance
    instance.incoming().home.create()
    instance.reset()
    assert not instance.home.folder.exists()
    assert not instance.incoming().home.folder.exists()


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file that takes seconds to import."""
    folder = tmp_path_factory.mktemp("slow")
    names = [f"entity {number}" for number in range(1_000_000)]
    written(
        folder, Entity={":ID(n)": range(len(names)), "id": names, "aliases:string[]": [[name] * 3 for name in names]}
    )
    return folder


def test_a_server_that_never_started_gets_a_graph(real: EmbeddedServer) -> None:
    assert asked(real, "MATCH (n:Old) RETURN n.id AS id") == [{"id": "old"}]


def run(code: str, real: EmbeddedServer, *arguments: object) -> subprocess.Popen[str]:
    """Run code in another process, with `real`, and `files` when a folder is the first argument."""
    opening = """
        import os, sys
        from pathlib import Path
        from lodestar.engine.neo4j import server_process
        from lodestar.engine.neo4j.embedded import EmbeddedServer
        from lodestar.engine.neo4j.bulk_import import ImportFile, ImportFiles
        real = EmbeddedServer("bulk", Path(sys.argv[1]), Path(sys.argv[2]))
        num_rows = sum(1 for _ in open(Path(sys.argv[3]) / "Entity.csv", "rb")) - 1
        files = ImportFiles(Path(sys.argv[3]), (("Entity", ImportFile("Entity.csv", num_rows)),))
        """
    text = textwrap.dedent(opening) + textwrap.dedent(code)
    folders = [real.servers_dir.parent, real.jars.folder.parent, *arguments]
    return subprocess.Popen([sys.executable, "-c", text, *map(str, folders)], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("way", ["tied", "untied", "interrupted"])
@pytest.mark.long
def test_no_importer_outlives_its_lodestar(real: EmbeddedServer, slow: Path, way: str) -> None:
    """Tied, the kernel ends it; untied, the next use of the home does; interrupted, the call itself."""
    code = f"""
        if {way!r} == "untied":
            server_process.make_command_end_with_parent = list
        incoming = real.incoming()
        try:
            incoming.import_graph(files, lambda stage, done, total: print(stage, done, flush=True))
        except KeyboardInterrupt:
            sys.exit(3 if incoming.has_graph or (incoming.home.data / "importing").exists() else 0)
        """
    with run(code, real, slow) as child:
        assert child.stdout
        assert child.stdout.readline() == "importing 0\n"
        incoming = real.incoming()
        while not (found := importers(incoming)):
            time.sleep(0.05)
        [importer] = found
        if way == "interrupted":
            child.send_signal(2)
            assert child.wait(20) == 0
        else:
            child.kill()
            child.wait()
    if way == "untied":
        assert importer.is_running()
        incoming.reset()
        assert not incoming.home.folder.exists()
    elif way == "tied" and sys.platform == "linux":
        wait_for_end(importer, 10)
        assert not incoming.has_graph
    assert importers(incoming) == []
    incoming.reset()


@pytest.mark.long
def test_a_full_disk_says_so(real: EmbeddedServer, slow: Path) -> None:
    code = """
        import resource
        incoming = real.incoming()
        resource.setrlimit(resource.RLIMIT_FSIZE, (20 << 20, 20 << 20))
        try:
            incoming.import_graph(files)
        except Exception as error:
            print(type(error).__name__, error.exit_code, incoming.has_graph, error)
        """
    with run(code, real, slow) as child:
        assert child.stdout
        said = child.stdout.read()
    assert said.startswith("StorageError 10 False no room left on the disk of ")
    real.incoming().reset()
