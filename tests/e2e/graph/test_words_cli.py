"""`lodestar search --relations`, `export --phrases` and `describe --file`: relations are shown, kept and undone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Lodestar

TRIPLES = "Ann Alder\towned_by\tSales\nBob Birch\towned_by\tSales\nAnn Alder\t#1\tMill\nSales\tcity\tPorto\n"
SAID = (
    "owned_by\twho looks after\tlabel=owner\tdescription=the team in charge\n"
    "^owned_by\twhat belongs to\ncity\twho looks after\n#1\tthe first\n"
)


@pytest.fixture
def described(empty_graph: None, lodestar: Lodestar) -> Lodestar:
    Path("kg.tsv").write_text(TRIPLES)
    Path("said.tsv").write_text(f"# mine\n{SAID}#origin=llm\nowned_by\tin whose hands\n")
    assert lodestar("load", "tsv", "kg.tsv", "--columns", "1,2,3").code == 0
    assert lodestar("describe", "--file", "said.tsv").code == 0
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
    assert "\n  the team in charge\n  → user: owner; who looks after\n  → llm: in whose hands\n" in ran.out
    assert "\n  ← user: what belongs to\n" in ran.out
    assert "“who looks after” asks for city, owned_by" in ran.err
    near = described("search", "--relations", "--top-k", "1", "in whose hands is it")
    assert near.out.lstrip()[6:].startswith(" owned_by: owner")
    assert "→ llm: in whose hands" in near.out


def test_an_export_has_what_is_said_and_its_load_gets_it_back(described: Lodestar) -> None:
    before = words(described)
    base = ("--base", "http://x/")
    exported = described("export", "out.nt", "--phrases", "out-phrases.tsv", "--json", *base)
    report = json.loads(exported.out)
    assert report["num_phrases"] == 5
    assert described("describe", "--undo").code == 0
    assert words(described) != before
    loaded = described("load", "out.nt", "--replace", "--writer", "online", *base)
    assert loaded.code == 0, loaded.err
    assert described("describe", "--file", "out-phrases.tsv").code == 0
    assert words(described) == before
