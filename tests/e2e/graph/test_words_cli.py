"""`lodestar relations`, `export --phrases` and `load --phrases`: what is said of relations is shown, kept and undone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Lodestar
from tests.fakes.scripted_llm import ScriptedLLM, says

TRIPLES = "Ann Alder\towned_by\tSales\nBob Birch\towned_by\tSales\nAnn Alder\t#1\tMill\nSales\tcity\tPorto\n"
SAID = (
    "owned_by\twho looks after\tlabel=owner\tdescription=the team in charge\n"
    "^owned_by\twhat belongs to\ncity\twho looks after\n#1\tthe first\n"
)


@pytest.fixture
def described(empty_graph: None, lodestar: Lodestar) -> Lodestar:
    Path("kg.tsv").write_text(TRIPLES)
    Path("said.tsv").write_text(f"# mine\n{SAID}#origin=llm\nowned_by\tin whose hands\n")
    assert lodestar("load", "tsv", "kg.tsv", "--header", "no", "--phrases", "said.tsv").code == 0
    return lodestar


def words(lodestar: Lodestar) -> dict[str, Any]:
    rows = json.loads(lodestar("relations", "--json").out)
    return {
        row["relation"]: (row["label"], row["description"], [p for p in row["phrases"] if p["origin"] != "lexicon"])
        for row in rows
    }


def test_relations_show_label_description_phrases_by_source_and_collisions(described: Lodestar) -> None:
    ran = described("relations")
    assert ran.code == 0
    assert "owned_by: owner  (" in ran.out
    assert "\n  the team in charge\n  → user: owner; who looks after\n  → llm: in whose hands\n" in ran.out
    assert "\n  ← user: what belongs to\n" in ran.out
    assert "“who looks after” asks for city, owned_by" in ran.err
    near = described("relations", "--top-k", "1", "in whose hands is it")
    assert near.out.lstrip()[6:].startswith(" owned_by: owner")
    assert "→ llm: in whose hands" in near.out


@pytest.mark.parametrize("file", ["out.tsv", "out.nt"])
def test_an_export_has_what_is_said_and_its_load_gets_it_back(described: Lodestar, file: str) -> None:
    before = words(described)
    base = ("--base", "http://x/") if file.endswith("nt") else ()
    exported = described("export", file, "--phrases", "out-phrases.tsv", "--json", *base)
    report = json.loads(exported.out)
    assert (report["num_phrases"], report["phrases_path"]) == (5, "out-phrases.tsv")
    assert described("describe", "--undo").code == 0
    assert words(described) != before
    loaded = described(
        "load", file, "--replace", "--force", "--writer", "online", "--phrases", "out-phrases.tsv", *base
    )
    assert loaded.code == 0, loaded.err
    assert words(described) == before


def test_phrases_of_a_graph_that_is_loaded_already_are_taken_too(described: Lodestar) -> None:
    Path("more.tsv").write_text("city\tin which town\nnowhere\tlost\tforgotten\n")
    ran = described("load", "tsv", "kg.tsv", "--header", "no", "--phrases", "more.tsv")
    assert ran.code == 0
    assert "left out 2 phrases of relations that the graph does not have" in ran.err
    assert [p["text"] for p in words(described)["city"][2]] == ["who looks after", "in which town"]


def test_a_file_of_phrases_that_cannot_be_read_stops_a_load_before_anything_is_written(
    empty_graph: None, lodestar: Lodestar
) -> None:
    Path("kg.tsv").write_text(TRIPLES)
    Path("bad.tsv").write_text("owned_by\twho\nowned_by\t<b>who</b>\n")
    ran = lodestar("load", "tsv", "kg.tsv", "--header", "no", "--phrases", "bad.tsv")
    assert ran.code == 3
    assert ran.err.splitlines()[-1].startswith("lodestar: bad.tsv:2: expected a phrase without markup")
    assert lodestar("stats").code == 5


def test_triples_and_phrases_cannot_go_to_one_file(described: Lodestar) -> None:
    ran = described("export", "x.tsv", "--phrases", "x.tsv")
    assert ran.code == 2
    assert "triples and phrases cannot both go to x.tsv: give --phrases another file" in ran.err


BAD_PHRASES: Mapping[str, tuple[str | bytes | None, str]] = {
    "markup": ("owned_by\t<i>who</i>\n", "p.tsv:2: expected a phrase without markup, found '<i>'"),
    "brackets": ("owned_by\t[[who]] has it\n", "p.tsv:2: expected a phrase without markup, found '[['"),
    "many": (
        "owned_by\t" + "\t".join(f"who {n}" for n in range(100_000)) + "\n",
        "at most 200 phrases of a relation, found 10",
    ),
    "too many": (
        "owned_by\t" + "\t".join(f"who {n}" for n in range(200_001)) + "\n",
        "p.tsv:2: expected at most 200,000 phrases",
    ),
    "not there": ("ownedby\twho\n", "p.tsv:2: the graph has no relation 'ownedby'; nearest: owned_by"),
    "nothing": ("owned_by\n", "p.tsv:2: expected a relation, a tab and at least one phrase"),
    "long": ("owned_by\t" + "x" * 201 + "\n", "p.tsv:2: expected a phrase of at most 200 characters, found 201"),
    "bytes": (b"owned_by\t\xff\n", "p.tsv"),
    "no file": (None, "p.tsv"),
}


def test_phrases_that_cannot_be_taken_are_one_line_and_change_nothing(described: Lodestar) -> None:
    before = words(described)
    for name, (content, said) in BAD_PHRASES.items():
        Path("p.tsv").unlink(missing_ok=True)
        if content is not None:
            Path("p.tsv").write_bytes(content if isinstance(content, bytes) else f"city\tnew\n{content}".encode())
        ran = described("describe", "--file", "p.tsv")
        assert (ran.code, len(ran.err.splitlines()), said in ran.err) == (3, 1, True), (name, ran.err)
    assert words(described) == before


def test_phrases_of_two_relations_in_other_languages_and_for_relations_that_are_numbers(
    empty_graph: None, lodestar: Lodestar
) -> None:
    Path("kg.tsv").write_text("Ann Alder\t17\tSales\nBob Birch\t17\tMill\nAnn Alder\t18\tPorto\nBob Birch\t18\tRiga\n")
    assert lodestar("load", "tsv", "kg.tsv", "--header", "no").code == 0
    said = lodestar("describe", "--json", "17", "in welcher Abteilung", "誰の部署", "who is it with")
    assert json.loads(said.out) == {"relations": 1, "phrases": 3, "collisions": {}, "left_out": {}}
    ran = lodestar("describe", "18", "Who is it WITH", "in which town does live")
    assert "“who is it with” asks for 17, 18: questions may take one for the other" in ran.err
    assert lodestar("ask", "In which town does Ann Alder live?").out.splitlines()[1].strip() == "Porto"
    assert lodestar("ask", "In welcher Abteilung ist Bob Birch?").out.splitlines()[1].strip() == "Mill"
    (number, *_) = json.loads(lodestar("relations", "--json").out)
    assert (number["relation"], number["label"]) == ("17", "17")
    refused = lodestar("describe", "19", "who")
    assert refused.code == 2
    assert "the graph has no relation '19'" in refused.err


def test_phrases_of_one_origin_are_taken_back_alone(described: Lodestar) -> None:
    assert described("describe", "--undo", "owned_by", "--origin", "llm").code == 0
    assert {p["text"] for p in words(described)["owned_by"][2]} >= {"who looks after"}
    assert "in whose hands" not in {p["text"] for p in words(described)["owned_by"][2]}
    refused = described("describe", "owned_by", "--origin", "llm")
    assert (refused.code, "--origin goes with --undo" in refused.err) == (2, True)


def test_a_language_model_is_asked_for_as_many_relations_as_the_budget_has(
    described: Lodestar, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    with ScriptedLLM([says({"tail": ["who holds it"], "head": []})] * 9) as llm:
        for name, value in (("BASE_URL", llm.base_url), ("MODEL", "scripted"), ("API_KEY", "k")):
            monkeypatch.setenv(f"LODESTAR_LLM_{name}", value)
        described("describe", "--llm", "--max-calls", "1")
        assert len(llm.requests) == 1
        described("describe", "--llm")
    assert len(llm.requests) == 2, "owned_by has a phrase of a language model already"
