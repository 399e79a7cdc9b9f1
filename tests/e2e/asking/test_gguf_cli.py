"""A language model inside Lodestar, from the command line: SmolLM2's real weights, whose words do not matter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Lodestar, show_on_terminal
from tests.made.smollm import one_thread, smollm

pytestmark = pytest.mark.usefixtures("engine")

CAPITAL = "What is the capital of Peru?"


@pytest.fixture(autouse=True)
def weights(lodestar: Lodestar, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Set SmolLM2 as the language model."""
    path = smollm()
    monkeypatch.setenv("LODESTAR_LLM_BASE_URL", "gguf")
    monkeypatch.setenv("LODESTAR_LLM_MODEL", str(path))
    monkeypatch.setenv("LODESTAR_LLM_TIMEOUT_S", "240")
    with one_thread():
        yield path


def ask(lodestar: Lodestar, *arguments: str) -> dict[str, Any]:
    ran = lodestar("ask", "--json", *arguments)
    assert ran.code == 0, ran.err
    (record,) = map(json.loads, ran.out.splitlines())
    return dict(record)


def test_a_recipe_shows_it_no_evidence(lodestar: Lodestar) -> None:
    record = ask(lodestar, "--recipe", "closed-book", CAPITAL)
    assert not any(answer["evidence"] for answer in record["answers"])
    (cost,) = (cost["llm"] for cost in record["trace"] if "llm" in cost)
    assert 0 < cost["prompt_tokens"] < 200


def test_an_evaluation_counts_what_it_reads_and_writes(lodestar: Lodestar, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    lines = [{"id": str(n), "question": CAPITAL, "topic_entities": ["m.peru"], "answers": ["m.lima"]} for n in range(2)]
    questions.write_text("\n".join(map(json.dumps, lines)))
    ran = lodestar("eval", str(questions), "--recipe", "similarity-llm", "--json", "--out", str(tmp_path / "run"))
    assert ran.code == 0, ran.err
    report = json.loads(ran.out)
    assert report["failures"] == []
    assert report["cost"]["tokens"]["prompt"] > 200
    assert report["what"]["llm"] == str(smollm())


def test_a_terminal_shows_that_it_is_loaded_and_what_it_writes(
    lodestar: Lodestar, monkeypatch: pytest.MonkeyPatch
) -> None:
    with show_on_terminal(monkeypatch) as shown:
        ran = lodestar("ask", "--llm", CAPITAL)
    assert ran.code == 0, shown
    assert f"loading {smollm().name}" in shown.decode()
    assert '"answers"' in shown.decode()
    assert '"answers"' not in ran.out
