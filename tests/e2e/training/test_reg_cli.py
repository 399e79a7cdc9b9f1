"""ReG's verbs over a real graph: pools mined, what learns from them, and their checkpoints asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Lodestar, question_file
from tests.made.tiny_causal_lm import write_tiny_causal_lm

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.long]

CHILE = "What is the capital of Chile?"


@pytest.fixture
def sets(tmp_path: Path) -> dict[str, str]:
    """Questions to learn from and to choose by."""
    peru = ("What is the capital of Peru?", "m.peru", "m.lima")
    return {
        "train": question_file(tmp_path / "train.jsonl", peru, ("Which currency is used in Peru?", "m.peru", "m.sol")),
        "dev": question_file(tmp_path / "dev.jsonl", (CHILE, "m.chile", "m.santiago")),
    }


def done(lodestar: Lodestar, *arguments: str) -> Any:
    """Run a verb that has to succeed, and return what it printed."""
    ran = lodestar(*arguments, "--json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def asked(lodestar: Lodestar, recipe: str, *changes: str) -> set[str]:
    """Return the relations of what a recipe finds."""
    options = [part for change in ("top_k=50", *changes) for part in ("--set", change)]
    found = done(lodestar, "ask", "--paths-only", "--recipe", recipe, *options, CHILE)
    return {triple["relation"] for item in found["items"] for triple in item["triples"]}


def test_pools_are_mined_and_paths_learned_from_them(lodestar: Lodestar, sets: dict[str, str], tmp_path: Path) -> None:
    pool = str(tmp_path / "pool.jsonl.gz")
    assert done(lodestar, "mine", sets["train"], "--pool", "--out", pool)["counts"]["questions"] == 2
    refused = lodestar("refine", sets["train"], "--out", str(tmp_path / "refined.jsonl.gz"))
    assert refused.code == 3, refused.err

    model, out = str(write_tiny_causal_lm(tmp_path / "lm", num_layers=2)), str(tmp_path / "reg-path")
    options = ("--dataset", sets["train"], "--dev", sets["dev"], "--supervision", pool, "--set", f"model={model}")
    assert done(lodestar, "train", "reg-path", *options, "--out", out, "--epochs", "1")["supervision"] == "weak"


@pytest.mark.long
def test_a_language_model_learns_to_write_paths(lodestar: Lodestar, sets: dict[str, str], tmp_path: Path) -> None:
    model = str(write_tiny_causal_lm(tmp_path / "lm", num_layers=2))
    out = str(tmp_path / "reg-path")
    command = ("train", "reg-path", "--dataset", sets["train"], "--dev", sets["dev"], "--out", out)
    trained = done(lodestar, *command, "--set", f"model={model}", "--set", "lora.rank=2", "--epochs", "1")
    assert set(trained["figures"]) == {"path writer"}
    assert sorted(path.name for path in Path(out, "adapter").iterdir()) == ["model.safetensors"]
    wide, narrow = (
        asked(lodestar, "reg-path", f"reg-path.checkpoint={out}", f"reg-path.beam_width={width}") for width in (20, 1)
    )
    assert "location.country.capital" in wide
    assert 1 <= len(narrow) < len(wide)
    ran = lodestar(*command, "--set", f"model={tmp_path / 'nothing'}")
    assert ran.code == 2
    assert "is the checkpoint of another training" in ran.err
    assert lodestar(*command).code == 2


def test_entities_are_scored(lodestar: Lodestar, sets: dict[str, str], tmp_path: Path) -> None:
    out = str(tmp_path / "reg-entity")
    options = ("--dataset", sets["train"], "--dev", sets["dev"], "--out", out)
    trained = done(lodestar, "train", "reg-entity", *options, "--epochs", "1", "--set", "hidden=8")
    assert trained["figures"]["entity scorer"]["recall_at_500"] == 1
    assert "location.country.capital" in asked(lodestar, "reg-entity + reorganise", f"reg-entity.checkpoint={out}")


def test_a_reader_learns_from_halves_that_the_others_checkpoint_read(
    lodestar: Lodestar, sets: dict[str, str], tmp_path: Path
) -> None:
    currency = question_file(tmp_path / "currency.jsonl", ("Which currency is used in Peru?", "m.peru", "m.sol"))
    capital = question_file(tmp_path / "capital.jsonl", ("What is the capital of Peru?", "m.peru", "m.lima"))
    for half in (currency, capital):
        options = ("--dataset", half, "--dev", sets["dev"], "--out", f"{half}.reg", "--epochs", "1")
        done(lodestar, "train", "reg-triple", *options, "--set", "hidden=8")
    command = ["train", "reader", "--recipe", "reg-triple", "--dataset", currency, "--dataset", capital]
    command += ["--dev", sets["dev"], "--checkpoint", f"{currency}.reg", "--checkpoint", f"{capital}.reg"]
    refused = lodestar(*command, "--out", str(tmp_path / "two"))  # the third set has none
    assert refused.code == 2
    assert "--checkpoint: expected one for all sets, or 3" in refused.err
    own = lodestar(*command, "--checkpoint", f"{capital}.reg", "--out", str(tmp_path / "own"))
    assert own.code == 0, own.err
    assert own.err.count("learned from these questions") == 2
    command[-1], command[-3] = command[-3], command[-1]
    crossed = lodestar(*command, "--checkpoint", f"{capital}.reg", "--out", str(tmp_path / "crossed"))
    assert crossed.code == 0, crossed.err
    assert "learned from these questions" not in crossed.err
