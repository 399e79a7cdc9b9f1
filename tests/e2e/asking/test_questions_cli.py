"""Questions through the command line: answers, JSON, batches, and every bad input in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lodestar.engine.settings import Connection

from tests.e2e.conftest import Lodestar

pytestmark = pytest.mark.usefixtures("engine")

CAPITAL = "What is the capital of Peru?"


def lines_of(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_an_answer_with_its_paths(lodestar: Lodestar) -> None:
    ran = lodestar("ask", CAPITAL)
    assert ran.code == 0, ran.err
    assert "Lima" in ran.out.splitlines()[1]
    assert "Peru —[country capital]→ Lima" in ran.out
    assert "round trips" in ran.out


def test_a_batch_from_a_file_keeps_order_and_ids_and_loses_no_question(lodestar: Lodestar, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(
        f'{CAPITAL}\n\n{{"id": "q2", "question": "its currency?", "topic_entities": ["m.chile"]}}\nWho is Napoleon?\n'
        '{"id": "q4", "question": "its capital?", "topic_entities": ["m.atlantis"]}\n'
    )
    ran = lodestar("ask", "--json", "--file", str(path))
    assert ran.code == 5, ran.err
    assert ran.err.strip().splitlines()[-1].startswith("lodestar: no known entity in the question: 'Who is Napoleon?'")
    records = lines_of(ran.out)
    assert [r["id"] for r in records] == ["", "q2", "", "q4"]
    assert [r["kind"] for r in records] == ["entities", "entities", "none", "none"]
    assert records[1]["answers"][0]["name"] == "Chilean peso"
    assert records[2]["note"] == "no known entity in the question"
    assert "m.atlantis" in records[3]["note"]


def test_entities_and_relations(lodestar: Lodestar) -> None:
    (found,) = lines_of(lodestar("search", "--json", "Where is Quechau spoken?").out)
    assert found[0]["id"] == "m.quechua"
    (nearest,) = lines_of(lodestar("search", "--relations", "--json", "--top-k", "2", "which money is used").out)
    assert nearest[0]["relation"] == "location.country.currency_used"
    assert len(nearest) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["ask", ""], 2, "the question is empty"),
        (["ask"], 2, "no question"),
        (["ask", "Who is Napoleon?"], 5, "no known entity in the question"),
        (["ask", "--topic", "m.atlantis", "its capital?"], 5, "no entity has the id or name 'm.atlantis'"),
        (["ask", "--set", "top_k=0", CAPITAL], 2, "top_k: expected 1 to"),
        (["ask", "--file", "no-such-file"], 3, "no-such-file"),
        (["ask", "--uri", "bolt://127.0.0.1:9", CAPITAL], 4, "no Neo4j answers at bolt://127.0.0.1:9"),
        (["ask", "--name", "never-started", CAPITAL], 4, "lodestar db start"),
        (["ask", "--name", "../evil", CAPITAL], 2, "name"),
        (["ask", "--llm", CAPITAL], 9, "set LODESTAR_LLM_API_KEY or OPENAI_API_KEY"),
    ],
)
def test_bad_input_is_one_line_and_an_exit_code(
    lodestar: Lodestar, arguments: list[str], code: int, message: str
) -> None:
    ran = lodestar(*arguments)
    assert (ran.code, ran.out) == (code, ""), ran.err
    assert message in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_a_bad_line_of_a_file_is_named(lodestar: Lodestar) -> None:
    ran = lodestar("ask", "--file", "-", stdin=f'{CAPITAL}\n{{"question": 7}}\n')
    assert (ran.code, ran.out) == (3, "")
    assert "standard input:2: expected" in ran.err
    binary = lodestar("ask", "--file", "-", stdin=b"\xff\xfe\x00")
    assert binary.code == 3
    assert "UTF-8" in binary.err


def test_a_wrong_password_is_said_and_not_shown(
    lodestar: Lodestar, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LODESTAR_PASSWORD", "not-this-one")
    ran = lodestar("ask", "--uri", connection.uri, CAPITAL)
    assert ran.code == 4
    assert "refused user 'neo4j'" in ran.err
    assert "not-this-one" not in ran.err


def test_without_a_model_fi_filters_by_what_is_there_and_says_so(lodestar: Lodestar) -> None:
    ran = lodestar("ask", "--paths-only", "--recipe", "similarity + path-pooling + fi", "--json", CAPITAL)
    assert ran.code == 0, ran.err
    (found,) = lines_of(ran.out)
    assert found["items"]
    said = "fi: no language model is configured: filtered by similarity alone, and nothing is added"
    assert said in found["left_out"]


def test_an_unreachable_llm_is_one_line_after_the_paths(lodestar: Lodestar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LODESTAR_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("LODESTAR_LLM_MODEL", "any")
    ran = lodestar("ask", "--llm", CAPITAL)
    assert ran.code == 9
    assert "127.0.0.1:9 could not be reached" in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert "Peru —[country capital]→ Lima" in ran.out
