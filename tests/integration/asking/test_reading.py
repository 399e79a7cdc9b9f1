"""The reader over a real Neo4j: answers, a union weighed, one trained on questions about the graph."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import repeat
from pathlib import Path

import pytest
from click.testing import CliRunner
from lodestar import Engine
from lodestar.engine.cli.main import main
from lodestar.engine.data_model import Chain, Question
from lodestar.engine.settings import Settings

from tests.fakes.scripted_llm import Reply, Request, ScriptedLLM, says, status

CAPITAL = "What is the capital of Peru?"
LANGUAGES = "Which official languages does Peru have?"


pytestmark = pytest.mark.usefixtures("engine")


def test_it_answers_from_a_real_graph(settings: Settings) -> None:
    with Engine(settings, recipe="similarity", options={"answerer.kind": "reader"}) as engine:
        capital, languages = engine.ask_batch([CAPITAL, LANGUAGES])
    assert capital.answerer == "reader"
    assert capital.entities[0].name == "Lima"
    assert {"Spanish", "Quechua"} <= {each.name for each in languages.entities}
    rests_on = [capital.evidence.items[place].value for place in capital.entities[0].evidence]
    assert all("Lima" in {end.name for end in chain.ends} for chain in rests_on if isinstance(chain, Chain))


NAMES = {"Peru": ("Lima", "Peruvian sol"), "Chile": ("Santiago de Chile", "Chilean peso")}
IDS = {"Peru": ("m.lima", "m.sol"), "Chile": ("m.santiago", "m.peso")}


def reply_by_parity(request: Request) -> Reply:
    """Answer with the capital where the number of the question is even, else with the currency."""
    number, place = re.findall(r"Number (\d) of (\w+)", request.prompt)[-1]
    return says({"answers": [NAMES[place][int(number) % 2]]})


@pytest.mark.long
def test_a_reader_learns_what_a_language_model_is_worth(
    settings: Settings, environment: dict[str, str], tmp_path: Path
) -> None:
    """Nothing but the model tells which of two paths a question asks for."""
    for place in ("Peru", "Chile"):
        lines = [
            {"id": f"{place}-{n}", "question": f"Number {n} of {place}?", "topic_entities": [f"m.{place.lower()}"],
             "answers": [IDS[place][n % 2]]}
            for n in range(8)
        ]  # fmt: skip
        (tmp_path / f"{place}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    recipe, out = "similarity + model-answers", tmp_path / "reader"
    options = {"answerer.kind": "reader", "answerer.checkpoint": str(out)}
    asked = [Question(f"Number {number} of Chile?", ("m.chile",)) for number in (2, 5)]
    with ScriptedLLM(repeat(reply_by_parity)) as llm:
        there = replace(settings, llm_base_url=llm.base_url, llm_model="scripted")
        done = CliRunner().invoke(
            main,
            ["train", "reader", "--recipe", recipe, "--dataset", str(tmp_path / "Peru.jsonl"), "--dev",
             str(tmp_path / "Chile.jsonl"), "--out", str(out)],
            env={**environment, "LODESTAR_LLM_BASE_URL": llm.base_url, "LODESTAR_LLM_MODEL": "scripted"},
        )  # fmt: skip
        assert done.exit_code == 0, done.output
        with Engine(there, recipe=recipe, options=options) as engine:
            answers = engine.ask_batch(asked)
    assert [[each.name for each in answer.entities] for answer in answers] == [["Santiago de Chile"], ["Chilean peso"]]
    assert [name for name, _ in answers[0].evidence.trace.sources] == ["chain", "llm", "closed-book"]
    with ScriptedLLM(repeat(status(400))) as llm:
        there = replace(settings, llm_base_url=llm.base_url, llm_model="scripted")
        with Engine(there, recipe=recipe, options=options) as engine:
            (answer,) = engine.ask_batch(asked[:1])
    assert answer.failure is None
    assert [cut.partition(":")[0] for cut in answer.evidence.cuts] == ["llm", "closed-book"]
