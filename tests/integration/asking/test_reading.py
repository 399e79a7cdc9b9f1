"""The reader over a real Neo4j: answers with reasons, a union weighed, one trained on questions about the graph."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from lodestar import Engine
from lodestar.engine.cli.main import main
from lodestar.engine.evidence.chain import Chain
from lodestar.engine.neo4j.connection import Connection
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Settings

from tests.made.graphs import COUNTRIES, COUNTRY_NAMES, TripleSource, load

CAPITAL = "What is the capital of Peru?"
LANGUAGES = "Which official languages does Peru have?"


@pytest.fixture(autouse=True)
def countries(empty_graph: None, gateway: Gateway) -> Iterator[None]:
    load(TripleSource(list(COUNTRIES), dict(COUNTRY_NAMES)), gateway)
    yield


def test_it_answers_from_a_real_graph_and_says_why(settings: Settings, connection: Connection) -> None:
    with Engine(settings, recipe="similarity", options={"answerer.kind": "reader"}, connection=connection) as engine:
        capital, languages = engine.ask_batch([CAPITAL, LANGUAGES])
    assert capital.answerer == "reader" and capital.why
    assert capital.entities[0].name == "Lima"
    assert {"Spanish", "Quechua"} <= {each.name for each in languages.entities}
    rests_on = [capital.evidence.items[place].value for place in capital.entities[0].evidence]
    assert all("Lima" in {end.name for end in chain.ends} for chain in rests_on if isinstance(chain, Chain))


def test_it_reads_as_many_items_as_it_is_told(settings: Settings, connection: Connection) -> None:
    options = {"answerer.kind": "reader", "answerer.reads": 3, "top_k": 1}
    with Engine(settings, recipe="similarity", options=options, connection=connection) as engine:
        assert len(engine.ask_batch([CAPITAL])[0].evidence.items) == 3
        assert len(engine.ask(CAPITAL, top_k=2).evidence.items) == 2


def test_both_sides_of_a_union_are_weighed(settings: Settings, connection: Connection) -> None:
    options = {"answerer.kind": "reader"}
    with Engine(settings, recipe="similarity | (similarity + merge)", options=options, connection=connection) as engine:
        (answer,) = engine.ask_batch([CAPITAL])
    assert [name for name, _ in answer.evidence.sources] == ["similarity", "similarity + merge"]
    assert answer.entities[0].name == "Lima"
    assert any(each.startswith("similarity") for each in answer.why)


def test_one_is_trained_on_questions_about_the_graph_and_answers(
    settings: Settings, connection: Connection, environment: dict[str, str], tmp_path: Path
) -> None:
    asked = {"capital": "m.lima", "currency": "m.sol"}
    for file, places in (("train", ["Peru"]), ("dev", ["Chile"])):
        lines = [
            {"id": f"{file}-{place}-{what}-{n}", "question": f"{how} {what} of {place}?", "topic_entities": [f"m.{place.lower()}"],
             "answers": [answer if place == "Peru" else {"m.lima": "m.santiago", "m.sol": "m.peso"}[answer]]}
            for place in places for what, answer in asked.items() for n, how in enumerate(("What is the", "Name the"))
        ]  # fmt: skip
        (tmp_path / f"{file}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    out = tmp_path / "reader"
    done = CliRunner().invoke(
        main,
        ["train", "reader", "--recipe", "similarity", "--dataset", str(tmp_path / "train.jsonl"), "--dev",
         str(tmp_path / "dev.jsonl"), "--out", str(out)],
        env=environment,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    options = {"answerer.kind": "reader", "answerer.checkpoint": str(out)}
    with Engine(settings, recipe="similarity", options=options, connection=connection) as engine:
        (answer,) = engine.ask_batch(["What is the capital of Chile?"])
    assert answer.entities[0].name == "Santiago de Chile"
