"""What the command line has for linking: what a text mentions, the indexes, a linker of one's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lodestar.engine.indexes.relation_index import index_folder
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Settings

from tests.e2e.conftest import Lodestar
from tests.e2e.training.test_train_reg_triple import question_file
from tests.made.graphs import COUNTRY_NAMES

pytestmark = pytest.mark.usefixtures("engine")


def test_a_linker_is_trained_and_asked(lodestar: Lodestar, tmp_path: Path) -> None:
    peru = ("What is the capital of Peru?", "m.peru", "m.lima")
    train = question_file(tmp_path / "train.jsonl", peru, ("Who speaks Quechua?", "m.quechua", "m.peru"))
    dev = question_file(tmp_path / "dev.jsonl", ("What is the capital of Chile?", "m.chile", "m.santiago"))
    out = str(tmp_path / "linker")
    command = ["train", "linker", "--dataset", train, "--dev", dev, "--out", out, "--epochs", "2", "--set", "hidden=4"]
    ran = lodestar(*command, "--json")
    assert ran.code == 0, ran.err
    assert 0 <= json.loads(ran.out)["figures"]["linker"]["recall_at_1"] <= 1
    assert json.loads(lodestar(*command, "--json").out) == json.loads(ran.out), "nothing is left to learn"
    use = ("--set", "linker.kind=trained", "--set", f"linker.checkpoint={out}")
    asked = lodestar("ask", "--json", *use, "What is the capital of Chile?")
    assert asked.code == 0, asked.err
    (topic, *_) = json.loads(asked.out)["topics"]
    assert topic["id"] == "m.chile"
    assert 0 < topic["probability"] < 1
    ran = lodestar("train", "linker", "--dataset", train, "--dev", train, "--out", out)
    assert (ran.code, ran.err.count("of its questions are in --dataset as well")) == (2, 1)
    ran = lodestar("ask", *use[:2], "--set", f"linker.checkpoint={tmp_path}", "Who?")
    assert (ran.code, ran.err.count("\n"), str(tmp_path) in ran.err) == (8, 1, True)


def test_the_indexes_are_made_by_one_command_each(lodestar: Lodestar, gateway: Gateway, settings: Settings) -> None:
    ran = lodestar("index", "names", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out) == {"num_named": len(COUNTRY_NAMES), "num_written": 0}
    try:
        first, again = (lodestar("index", "entities", "--json") for _ in range(2))
        assert first.code == again.code == 0, first.err
        assert json.loads(first.out)["num_encoded"] == len(COUNTRY_NAMES)
        assert json.loads(again.out)["num_encoded"] == 0
        refused = lodestar("index", "entities", "--max-entities", "3")
        assert (refused.code, "raise it with --max-entities" in refused.err) == (2, True)
    finally:
        for path in index_folder(settings, gateway.connection).glob("entities*"):
            path.unlink()


def test_what_a_text_mentions_is_shown(lodestar: Lodestar) -> None:
    ran = lodestar("entities", "--json", "Is PERU next to chile?")
    assert ran.code == 0, ran.err
    assert {(each["id"], each["mention"]) for each in json.loads(ran.out)} >= {("m.peru", "PERU"), ("m.chile", "chile")}
