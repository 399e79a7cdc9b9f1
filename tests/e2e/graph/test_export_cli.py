"""`lodestar export` and `lodestar stats` as a user runs them."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import neo4j
import pytest

from tests.e2e.conftest import Lodestar
from tests.made.written_graphs import Literal, Load, Names, WrittenGraph, of_base_load

DATE = "http://www.w3.org/2001/XMLSchema#date"
GRAPH = WrittenGraph(
    of_base_load(
        [
            ("m.peru", "location.country.capital", "m.lima"),
            ("m.peru", "location.country.founded", Literal("1821-07-28", DATE)),
            ("m.lima", "location.location.containedby", "m.peru"),
            ("m.peru", "location.country.motto", Literal("Firme y feliz por la unión", None, "es")),
        ]
    ),
    {"m.peru": Names("Peru", ("Perú",), "en es"), "m.lima": Names("Lima")},
)
TSV = (
    "m.lima\tlocation.location.containedby\tm.peru\n"
    "m.peru\tlocation.country.capital\tm.lima\n"
    f"m.peru\tlocation.country.founded\t1821-07-28^^{DATE}\n"
    'm.peru\tlocation.country.motto\t"Firme y feliz por la unión"@es\n'
)


@pytest.fixture(autouse=True)
def graph(empty_graph: None, driver: neo4j.Driver) -> None:
    GRAPH.write(driver)


def test_tsv_to_standard_output(lodestar: Lodestar) -> None:
    ran = lodestar("export")
    assert (ran.code, ran.out) == (0, TSV)
    start, end = ran.err.splitlines()
    assert start == "exporting the graph …"
    assert end.startswith(f"4 triples, {len(TSV.encode())} bytes in ")
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
        "size_bytes": kg.stat().st_size,
        "sha256": hashlib.sha256(kg.read_bytes()).hexdigest(),
        "num_names": 3,
        "names_path": str(names),
        "names_size_bytes": names.stat().st_size,
        "names_sha256": hashlib.sha256(names.read_bytes()).hexdigest(),
        "num_phrases": 0,
        "phrases_path": None,
        "base": None,
    }


@pytest.mark.parametrize(
    ("arguments", "code", "fault"),
    [
        (["kg.xyz"], 2, "kg.xyz: expected a name that ends with .tsv, .txt, .nt, .parquet, or a --format"),
        (["kg.nt", "--names", "n.tsv"], 2, "N-Triples has the names among the triples: leave out --names"),
        (["kg.parquet", "--names", "n.gz"], 2, "parquet is compressed already: give a name without .gz"),
        (["kg.tsv", "--names", "./kg.tsv"], 2, "triples and names cannot both go to kg.tsv: give --names another file"),
        (["--json"], 2, "the data and the report of --json cannot both go to standard output: give a FILE"),
        (["kg.nt", "--base", "kg"], 2, "--base: expected an absolute IRI as http://rdf.freebase.com/ns/, found 'kg'"),
        (
            ["kg.tsv", "--load", "2"],
            2,
            "--load: expected the number of a finished load (1), found 2: see `lodestar stats`",
        ),
        (["no/kg.tsv"], 10, "no/kg.tsv: cannot be written: no such folder: make it, or name another"),
        (["--format", "tsv", "."], 2, ".: expected the name of a file to write, found a folder"),
    ],
)
def test_a_fault_is_one_line_and_leaves_nothing(
    lodestar: Lodestar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, fault: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = lodestar("export", *arguments)
    assert ran.code == code
    assert [line for line in ran.err.splitlines() if not line.startswith("exporting ")] == [f"lodestar: {fault}"]
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_leaves_is_no_fault(environment: dict[str, str], driver: neo4j.Driver) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "lodestar", "export"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read().decode().splitlines() == ["exporting the graph …"]
    assert process.wait() == 1


def test_stats_for_people(lodestar: Lodestar) -> None:
    ran = lodestar("stats", "--top", "1")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[:2] == ["4 triples, 2 entities, 2 literals, 4 relations", "0 entities without a name (0.0%)"]
    assert lines[lines.index("Loads") + 1].startswith("    1  test  (test by online): 4 triples, 20")
    assert lines[lines.index("Top relations") + 1].split() == ["1", "25.0%", *["location.country.capital"] * 2]
    assert lines[lines.index("Top hubs") + 1].split() == ["4", "Peru", "m.peru"]
    assert lines[lines.index("Degrees") + 1] == "  min 2   median 2   mean 3.0   p90 4   p99 4   max 4"
    assert "█" * 30 in lines[lines.index("Degrees") + 2]
    assert lines[lines.index("Components") + 1] == "  1 component, the largest of 2 entities (100.0%)"
    assert "not counted: use --components" in lodestar("stats", "--no-components").out


def test_stats_as_json(lodestar: Lodestar) -> None:
    stats = json.loads(lodestar("stats", "--json", "--no-components").out)
    assert (stats["num_triples"], stats["num_entities"], stats["num_literals"]) == (4, 2, 2)
    assert stats["loads"][0]["source"] == Load().source
    assert stats["hubs"][0] == {"id": "m.peru", "name": "Peru", "degree": 4}
    assert stats["relations"][0]["share"] == 0.25
    assert stats["degrees"]["bins"] == [{"low": 2, "high": 3, "count": 1}, {"low": 4, "high": 7, "count": 1}]
    assert stats["components"] is None
