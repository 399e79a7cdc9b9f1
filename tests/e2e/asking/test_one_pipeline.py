"""The system that is evaluated is the one that users run: every face gives the same paths and scores for a recipe."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from lodestar import Engine, LodestarRetriever
from lodestar.engine.settings import Settings

from tests.e2e.conftest import Lodestar

pytestmark = pytest.mark.usefixtures("engine")

QUESTIONS = (
    "What is the capital of Peru?",
    "Which language is spoken in Peru and in Chile?",
    "Which currency is used in the country whose capital is Lima?",
)
TOP_K = 4
OWN = """
stages = "similarity + reversed"
top_k = 4

[parts]
reversed = "tests.fakes.own_part:Reversed"

[similarity]
max_hop = 1

[reversed]
keep = 3
"""

Ranked = list[tuple[str, str, float]]
"""Topic, relation path and score of each path, best first."""


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """The questions as a set, without topics: every face links."""
    path = tmp_path / "asked.jsonl"
    lines = [{"id": str(n), "question": text, "answers": ["m.lima"]} for n, text in enumerate(QUESTIONS)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def ranked(items: Sequence[dict[str, Any]]) -> Ranked:
    return [(item["topic"]["id"], item["relation_path"], item["score"]) for item in items]


def of_verb(lodestar: Lodestar, verb: str, asked: Path, options: Sequence[str]) -> list[Ranked]:
    ran = lodestar(*verb.split(), "--json", "--file", str(asked), *options)
    assert ran.code == 0, ran.err
    return [ranked(json.loads(line)["items"]) for line in ran.out.splitlines()]


def of_eval(lodestar: Lodestar, asked: Path, folder: Path, options: Sequence[str]) -> list[Ranked]:
    ran = lodestar("eval", str(asked), "--link", "--out", str(folder), *options)
    assert ran.code == 0, ran.err
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    return [
        [(path["topic"], " → ".join(path["relations"]), path["score"]) for path in record["paths"]]
        for record in sorted(records, key=lambda record: str(record["id"]))
    ]


def of_langchain(settings: Settings, recipe: str, options: dict[str, Any]) -> list[Ranked]:
    flags: dict[str, Any] = {
        "home": settings.home,
        "cache": settings.cache,
        "uri": settings.uri,
        "password": settings.password,
    }
    retriever = LodestarRetriever(engine=Engine(recipe=recipe, options=options, allow_parts=True, **flags), k=TOP_K)
    with retriever.engine:
        return [ranked([document.metadata for document in retriever.invoke(text)]) for text in QUESTIONS]


def equal(left: Sequence[Ranked], right: Sequence[Ranked]) -> bool:
    """Whether the paths are the same in the same order; texts that are encoded together differ in the last digits."""
    return [[path[:2] for path in each] for each in left] == [[path[:2] for path in each] for each in right] and [
        path[2] for each in left for path in each
    ] == pytest.approx([path[2] for each in right for path in each], abs=1e-4)


def test_every_face_gives_the_same_by_a_trained_scorer(
    lodestar: Lodestar, settings: Settings, questions: Path, checkpoint: str, tmp_path: Path
) -> None:
    options = ("--checkpoint", checkpoint, "--set", f"top_k={TOP_K}", "--set", "plans=false")
    found = of_verb(lodestar, "ask --paths-only", questions, options)
    assert [len(each) for each in found] == [TOP_K] * len(QUESTIONS)
    assert equal(of_verb(lodestar, "ask", questions, options), found)
    named = ("--recipe", "star", "--set", f"star.checkpoint={json.dumps(checkpoint)}", *options[2:])
    assert equal(of_verb(lodestar, "ask", questions, named), found)
    assert equal(of_eval(lodestar, questions, tmp_path / "run", named), found)
    assert equal(of_langchain(settings, "star", {"star.checkpoint": checkpoint, "plans": False}), found)
    stated = json.loads((tmp_path / "run" / "run.json").read_text())["what"]
    assert list(stated["checkpoints"]) == ["star"]
    assert stated["recipe"]["star"]["checkpoint"] == checkpoint


def test_a_part_of_one_s_own_is_joined_without_a_change_to_the_engine(
    lodestar: Lodestar, settings: Settings, questions: Path, tmp_path: Path
) -> None:
    recipe = tmp_path / "own.toml"
    recipe.write_text(OWN)
    options = ("--recipe", str(recipe), "--allow-parts")
    usual = of_verb(
        lodestar,
        "ask --paths-only",
        questions,
        ("--recipe", "similarity", "--set", "plans=false", "--set", "max_hop=1", "--set", "top_k=3"),
    )
    found = of_verb(lodestar, "ask --paths-only", questions, options)
    assert equal(found, [each[::-1] for each in usual])
    assert equal(of_langchain(settings, str(recipe), {}), found)
    two = of_verb(lodestar, "ask --paths-only", questions, (*options, "--set", "reversed.keep=2"))
    assert equal(two, [each[:2][::-1] for each in usual])
