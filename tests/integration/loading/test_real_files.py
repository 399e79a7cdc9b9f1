"""Every real file: loaded, exported and compared with what a reader of a few lines finds in it.

Small files by the online writer; ``LODESTAR_ALL_FILES=1`` takes all files and both writers and compares the graphs, which
takes minutes.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import neo4j
import pytest
from lodestar.engine.neo4j.embedded import ServerPair
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.loaders.export.exporting import ExportRequest, export
from lodestar.loaders.export.writers import tsv_literal
from lodestar.loaders.formats.by_name import source_class
from lodestar.loaders.formats.rdf import read_noise_rules
from lodestar.loaders.loads.loading import LoadOptions, load_embedded
from lodestar.loaders.loads.maintaining import verify
from lodestar.loaders.source import Source

from tests.conftest import HEAP_MB, PAGECACHE_MB, clear_database
from tests.made.graphs import load
from tests.places import DATA
from tests.references.parsers import freebase
from tests.references.snapshot import snapshot

ALL = bool(os.environ.get("LODESTAR_ALL_FILES"))

Triples = set[tuple[str, str, str]]


def lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        yield from (line.rstrip("\n") for line in file)


def columns(separator: str) -> Callable[[Path], Triples]:
    def read(path: Path) -> Triples:
        return {(h, r, t) for h, r, t, *_ in (line.split(separator) for line in lines(path))}

    return read


def subgraphs(path: Path) -> Triples:
    return {(h, r, t) for line in lines(path) for h, r, t in json.loads(line)["graph"]}


def dump(path: Path) -> Triples:
    found = (freebase(line, ["en"], False, read_noise_rules()) for line in lines(path))
    return {
        (
            str(row.head),
            str(row.relation),
            tsv_literal(str(row.tail), row.datatype, row.language) if row.is_literal else str(row.tail),
        )
        for row in found
        if row.category == "triple"
    }


FILES: list[tuple[str, str, dict[str, Any], Callable[[Path], Triples]]] = [
    ("tsv", "fb237/kg.tsv.gz", {"names_path": "fb237/names.tsv.gz"}, columns("\t")),
    (
        "tsv",
        "freebase-mid/kg.tsv.gz",
        {"names_path": "freebase-mid/names.tsv.gz", "columns": ["1", "2", "3"]},
        columns("\t"),
    ),
    ("tsv", "medqa/chatdoctor-kg.tsv.gz", {}, columns("\t")),
    ("metaqa", "metaqa/kb.txt.gz", {}, columns("|")),
    ("pathquestion", "pathquestion/pq-2h/kb.txt.gz", {}, columns("\t")),
    ("pathquestion", "pathquestion/pq-3h/kb.txt.gz", {}, columns("\t")),
    ("pathquestion", "pathquestion/pql-2h/kb.txt.gz", {}, columns("\t")),
    ("rog", "rog-webqsp-sample/questions.jsonl.gz", {}, subgraphs),
    ("freebase", "freebase-rdf/fb-rdf-10k-head.nt.gz", {}, dump),
    ("freebase", "freebase-rdf/fb-rdf-pred-schema-properties-ids-1-byalpha-typeinfo.gz", {}, dump),
    ("freebase", "freebase-rdf/sample_m.0100kt2c.nt.gz", {}, dump),
]
LONG = ("rog-webqsp-sample/questions.jsonl.gz", "freebase-rdf/fb-rdf-pred-schema-properties-ids-1-byalpha-typeinfo.gz")
NO_TRIPLES = "freebase-rdf/fb-rdf-10k-names-all-s01-c01.nt.gz"
"""Only names: nothing to load by itself."""


@pytest.fixture(scope="module")
def bulk(home_dir: Path, cache_dir: Path) -> Iterator[ServerPair]:
    instance = ServerPair("real-files", home_dir, cache_dir)
    instance.start(heap_mb=HEAP_MB, pagecache_mb=PAGECACHE_MB, progress=False)
    yield instance
    instance.reset()


def source_of(kind: str, file: str, arguments: dict[str, Any]) -> Source:
    paths = {name: str(DATA / value) if name.endswith("path") else value for name, value in arguments.items()}
    return source_class(kind)(str(DATA / file), **paths)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("kind", "file", "arguments", "read"),
    [pytest.param(*each, id=each[1], marks=[pytest.mark.long] if each[1] in LONG else []) for each in FILES],
)
def test_what_is_loaded_is_exported(
    gateway: Gateway,
    driver: neo4j.Driver,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    kind: str,
    file: str,
    arguments: dict[str, Any],
    read: Callable[[Path], Triples],
) -> None:
    if not DATA.is_dir():
        pytest.skip(f"no real files at {DATA}")
    if not ALL and (DATA / file).stat().st_size > 1_000_000:
        pytest.skip("a large file: LODESTAR_ALL_FILES=1 takes it")
    clear_database(driver, "neo4j", schema=True)
    report = load(source_of(kind, file, arguments), gateway)
    exported = tmp_path / "out.tsv"
    export(ExportRequest(str(exported)), gateway)
    rows = [tuple(line.split("\t")) for line in exported.read_text(encoding="utf-8").split("\n")[:-1]]
    expected = read(DATA / file)
    assert len(rows) == len(set(rows)) == report.num_triples
    assert {(h, r, t) for h, r, t in rows} == expected
    if kind == "freebase":
        assert sum(report.categories.values()) == sum(1 for _ in lines(DATA / file))
    assert verify(gateway).faults == ()
    if ALL:
        instance: ServerPair = request.getfixturevalue("bulk")
        options = LoadOptions(staging=tmp_path, mode="replace", writer="bulk")
        load_embedded(source_of(kind, file, arguments), instance, options)
        connection = instance.connection()
        with neo4j.GraphDatabase.driver(connection.uri, **connection.driver_options) as other:
            assert snapshot(other) == snapshot(driver)


def test_names_of_the_dump_join_the_graph_they_name(gateway: Gateway, driver: neo4j.Driver, tmp_path: Path) -> None:
    if not DATA.is_dir():
        pytest.skip(f"no real files at {DATA}")
    clear_database(driver, "neo4j", schema=True)
    both = tmp_path / "both.nt"
    names = list(lines(DATA / NO_TRIPLES))
    head = "freebase-rdf/fb-rdf-10k-head.nt.gz"
    both.write_text("\n".join([*lines(DATA / head), *names]) + "\n", encoding="utf-8")
    report = load(source_class("freebase")(str(both), languages=["en", "*"]), gateway)
    stored = driver.execute_query("MATCH (e:Entity) WHERE e.name IS NOT NULL RETURN count(e)").records[0][0]
    named = {re.match(r"</([^>]*)>", line).group(1) for line in names}  # type: ignore[union-attr]
    ids = {record["id"] for record in driver.execute_query("MATCH (e:Entity) RETURN e.id AS id").records}
    assert report.categories["name"] > len(names)
    assert stored >= len(named & ids) > 0
