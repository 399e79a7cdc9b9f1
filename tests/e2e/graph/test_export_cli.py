"""`lodestar export` and `lodestar db status` as a user runs them."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.loaders.source import StatementRow, name_row, triple_row

from tests.e2e.conftest import Lodestar
from tests.made.graphs import RowSource, load

DATE = "http://www.w3.org/2001/XMLSchema#date"
GRAPH = RowSource(
    [
        triple_row(1, "m.peru", "location.country.capital", "m.lima"),
        triple_row(2, "m.lima", "location.location.containedby", "m.peru"),
        StatementRow(3, "triple", "m.peru", "location.country.founded", "1821-07-28", True, DATE),
        StatementRow(4, "triple", "m.peru", "location.country.motto", "Firme y feliz por la unión", True, None, "es"),
        StatementRow(5, "name", "m.peru", None, "Peru", None, None, "en"),
        StatementRow(6, "name", "m.peru", None, "Perú", None, None, "es"),
        name_row(7, "m.lima", "Lima"),
    ],
    languages=("en", "es"),
)
TSV = (
    "m.lima\tlocation.location.containedby\tm.peru\n"
    "m.peru\tlocation.country.capital\tm.lima\n"
    f'm.peru\tlocation.country.founded\t"1821-07-28"^^<{DATE}>\n'
    'm.peru\tlocation.country.motto\t"Firme y feliz por la unión"@es\n'
)


@pytest.fixture(autouse=True)
def graph(empty_graph: None, gateway: Gateway) -> None:
    load(GRAPH, gateway)


def test_tsv_to_standard_output(lodestar: Lodestar) -> None:
    ran = lodestar("export")
    assert (ran.code, ran.out) == (0, TSV)
    start, end = ran.err.splitlines()
    assert start == "exporting the graph …"
    assert end.startswith("4 triples in ")
    assert lodestar("export", "-", "--format", "tsv").out == TSV


def test_files_with_a_report(lodestar: Lodestar, tmp_path: Path) -> None:
    kg, names = tmp_path / "kg.tsv.gz", tmp_path / "names.tsv"
    ran = lodestar("export", str(kg), "--names", str(names), "--json")
    assert ran.code == 0, ran.err
    assert gzip.decompress(kg.read_bytes()).decode() == TSV
    assert names.read_text() == "m.lima\tLima\nm.peru\tPeru\tPerú\n"
    report = json.loads(ran.out)
    assert report.pop("seconds") > 0
    assert report == {
        "path": str(kg),
        "format": "tsv",
        "num_triples": 4,
        "num_names": 3,
        "num_phrases": 0,
        "base": None,
    }


def test_a_reader_that_leaves_is_no_fault(environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "lodestar", "export"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read().decode().splitlines() == ["exporting the graph …"]
    assert process.wait() == 1


def test_status_shows_what_the_graph_holds(lodestar: Lodestar) -> None:
    ran = lodestar("db", "status")
    assert ran.code == 0
    assert "  graph     4 triples, 2 entities, 2 literals, 4 relations" in ran.out.splitlines()
    graph = json.loads(lodestar("db", "status", "--json").out)["graph"]
    assert (graph["num_triples"], graph["num_entities"], graph["num_literals"]) == (4, 2, 2)
    assert graph["loads"][0]["source"] == GRAPH.name
