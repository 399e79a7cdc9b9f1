"""Exports, the state of the database, and the words of relations as a user shows, keeps, exports and undoes them."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

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


@pytest.fixture
def graph(empty_graph: None, gateway: Gateway) -> None:
    load(GRAPH, gateway)


@pytest.mark.usefixtures("graph")
def test_tsv_to_standard_output(lodestar: Lodestar) -> None:
    ran = lodestar("export")
    assert (ran.code, ran.out) == (0, TSV)
    start, end = ran.err.splitlines()
    assert start == "exporting the graph …"
    assert end.startswith("4 triples in ")
    assert lodestar("export", "-", "--format", "tsv").out == TSV


@pytest.mark.usefixtures("graph")
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
        "base": None,
    }


@pytest.mark.usefixtures("graph")
def test_a_reader_that_leaves_is_no_fault(environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "lodestar", "export"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read().decode().splitlines() == ["exporting the graph …"]
    assert process.wait() == 1


TRIPLES = "Ann Alder\towned_by\tSales\nBob Birch\towned_by\tSales\nAnn Alder\t#1\tMill\nSales\tcity\tPorto\n"
SAID = (
    "owned_by\twho looks after\tlabel=owner\tdescription=the team in charge\n"
    "^owned_by\twhat belongs to\ncity\twho looks after\n#1\tthe first\n"
)


@pytest.fixture
def described(empty_graph: None, lodestar: Lodestar) -> Lodestar:
    Path("kg.tsv").write_text(TRIPLES)
    Path("said.tsv").write_text(f"# mine\n{SAID}owned_by\tin whose hands\n")
    assert lodestar("load", "tsv", "kg.tsv", "--columns", "1,2,3").code == 0
    said = lodestar("describe", "--file", "said.tsv")
    assert (said.code, "“who looks after” asks for city, owned_by" in said.err) == (0, True)
    return lodestar


def words(lodestar: Lodestar) -> dict[str, Any]:
    rows = json.loads(lodestar("search", "--relations", "--json").out)
    return {
        row["relation"]: (row["label"], row["description"], [p for p in row["phrases"] if p["origin"] != "lexicon"])
        for row in rows
    }


def test_relations_show_label_description_phrases_by_source_and_collisions(described: Lodestar) -> None:
    ran = described("search", "--relations")
    assert ran.code == 0
    assert "owned_by: owner  (" in ran.out
    assert "\n  the team in charge\n  → user: owner; who looks after; in whose hands\n" in ran.out
    assert "\n  ← user: what belongs to\n" in ran.out
    near = described("search", "--relations", "--top-k", "1", "in whose hands is it")
    assert near.out.lstrip()[6:].startswith(" owned_by: owner")


def test_what_is_said_stays_when_an_export_is_loaded_until_it_is_taken_back(described: Lodestar) -> None:
    before = words(described)
    base = ("--base", "http://x/")
    assert described("export", "out.nt", *base).code == 0
    loaded = described("load", "out.nt", "--replace", "--writer", "online", *base)
    assert loaded.code == 0, loaded.err
    assert words(described) == before
    assert described("describe", "--undo").code == 0
    assert words(described) != before
