"""Seconds and memory of `lodestar load neo4j`, beside the same statements as TSV.

    python -m benchmarks.speed.existing --nodes 1000000

A graph of people is written into an embedded server: NODES nodes with a name and two properties, three relationships a
node, every tenth of them with a property. It is read and loaded into another embedded server by the bulk writer; then
the statements that were read are loaded from TSV files in the same way. Both loads run in processes of their own, whose
peak memory is told. Servers are under a temporary home.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import neo4j
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Settings
from lodestar.loaders.formats.delimited import TsvSource
from lodestar.loaders.formats.neo4j_graphs import Neo4jGraph
from lodestar.loaders.loading import LoadOptions, load_embedded
from lodestar.loaders.mapping import Choices
from lodestar.loaders.property_graph import PropertyGraphSource, map_graph
from lodestar.loaders.source import SourceRowBatches

from .loading import measured, row

BATCH = 10_000


def write_people(instance: EmbeddedServer, num_nodes: int) -> None:
    connection = instance.connection()
    with neo4j.GraphDatabase.driver(connection.uri, **connection.driver_options) as driver:
        driver.execute_query("CREATE CONSTRAINT IF NOT EXISTS FOR (p:Person) REQUIRE p.number IS UNIQUE")
        for first in range(0, num_nodes, BATCH):
            driver.execute_query(
                "UNWIND range($first, $last) AS i "
                "CREATE (:Person {number: i, name: 'Person ' + i, born: 1900 + i % 100})",
                first=first,
                last=min(first + BATCH, num_nodes) - 1,
            )
        for first in range(0, num_nodes, BATCH):
            driver.execute_query(
                "UNWIND range($first, $last) AS i MATCH (p:Person {number: i}) UNWIND [7, 11, 13] AS step "
                "MATCH (q:Person {number: (i * step + step) % $num}) CREATE (p)-[r:KNOWS]->(q) "
                "SET r.since = CASE WHEN (i + step) % 10 = 0 THEN 2000 + i % 20 END",
                first=first,
                last=min(first + BATCH, num_nodes) - 1,
                num=num_nodes,
            )


def open_source(home: Path, cache: Path) -> tuple[Gateway, PropertyGraphSource]:
    gateway = Gateway(EmbeddedServer("source", home, cache).connection(3_600.0))
    return gateway, map_graph(Neo4jGraph(gateway), Choices())


def load_neo4j(home: Path, cache: Path, staging: Path) -> int:
    gateway, source = open_source(home, cache)
    with gateway:
        options = LoadOptions(staging=staging, mode="replace", writer="bulk")
        return load_embedded(source, EmbeddedServer("target", home, cache), options).num_triples


def load_tsv(home: Path, cache: Path, staging: Path) -> int:
    source = TsvSource(str(staging / "kg.tsv.gz"), str(staging / "names.tsv.gz"), has_header=False)
    options = LoadOptions(staging=staging, mode="replace", writer="bulk")
    return load_embedded(source, EmbeddedServer("target", home, cache), options).num_triples


def write_tsv(source: PropertyGraphSource, folder: Path) -> None:
    with ExitStack() as opened:
        files: dict[str, Any] = {
            category: opened.enter_context(gzip.open(folder / name, "wt", compresslevel=2, encoding="utf-8"))
            for category, name in (("triple", "kg.tsv.gz"), ("name", "names.tsv.gz"))
        }
        for part in source.parts():
            assert isinstance(part, SourceRowBatches)
            for batch in part.batches:
                _write_lines(batch.to_pylist(), files)


def _write_lines(rows: list[dict[str, str]], files: Mapping[str, IO[str]]) -> None:
    for category, file in files.items():
        file.writelines(_lines(category, rows))


def _lines(category: str, rows: list[dict[str, str]]) -> Iterator[str]:
    for each in rows:
        if each["category"] == category:
            tail = f"{each['tail']}^^{each['datatype']}" if each["datatype"] else each["tail"]
            yield "\t".join((each["head"], *([each["relation"]] if category == "triple" else []), tail)) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="Folder for everything (default: a temporary one).")
    given = parser.parse_args()
    cache = Settings().cache_dir
    with tempfile.TemporaryDirectory(dir=given.folder) as folder, ExitStack() as stopped:
        home, staging = Path(folder) / "home", Path(folder) / "staging"
        staging.mkdir()
        for name in ("source", "target"):
            instance = EmbeddedServer(name, home, cache)
            instance.start(heap_mb=1_024, pagecache_mb=512, progress=False)
            stopped.callback(instance.reset)
        write_people(EmbeddedServer("source", home, cache), given.nodes)
        row("source", "seconds", "peak MB", "triples")
        neo4j_s, peak_mb, num_triples = measured(load_neo4j, home, cache, staging)
        row("neo4j", neo4j_s, peak_mb, num_triples)
        gateway, source = open_source(home, cache)
        with gateway:
            write_tsv(source, staging)
        tsv_s, peak_mb, num_triples = measured(load_tsv, home, cache, staging)
        row("tsv", tsv_s, peak_mb, num_triples)
        row("ratio", neo4j_s / tsv_s, "", "")


if __name__ == "__main__":
    main()
