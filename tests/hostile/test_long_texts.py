"""No text that somebody gives becomes a parameter that the database cannot hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Lodestar

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.database]

LONG = "x" * 900_000
QUESTION = "What is the capital of Peru?"


def is_alive(lodestar: Lodestar) -> bool:
    return lodestar("ask", QUESTION).code == 0


def test_a_topic_of_nearly_a_million_characters_is_one_line(lodestar: Lodestar) -> None:
    ran = lodestar("ask", QUESTION, "--topic", LONG)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert "the question has 900,000 characters of its topics' ids: expected at most 20,000" in ran.err
    assert is_alive(lodestar)


def test_many_long_questions_are_asked_in_groups(lodestar: Lodestar, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    line = {
        "question": "What is the capital of Peru and " + "so on " * 1_600,
        "topic_entities": ["m.peru", "y" * 19_000],
    }
    path.write_text(f"{json.dumps(line)}\n" * 60 + f"{QUESTION}\n", encoding="utf-8")
    ran = lodestar("ask", "--file", str(path), "--json")
    assert json.loads(ran.out.splitlines()[-1])["answers"][0]["name"] == "Lima"
    assert len(ran.out.splitlines()) == 61
    assert is_alive(lodestar)


def test_long_literals_are_loaded_in_small_batches(lodestar: Lodestar, tmp_path: Path) -> None:
    path = tmp_path / "long.nt"
    with path.open("w", encoding="utf-8") as file:
        for number in range(300):
            text = f"{number} " + "word " * 20_000
            file.write(f'<http://x.example/a{number}> <http://x.example/says> "{text}" .\n')
    ran = lodestar("load", "rdf", str(path), "--append")
    assert ran.code == 0, ran.err
    assert is_alive(lodestar)
