"""What is said is heard, or refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lodestar.engine.api import Engine
from lodestar.engine.errors import UsageError
from lodestar.engine.settings import Settings

from tests.e2e.conftest import Lodestar

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.database]


def test_topic_names_of_a_file_are_taken(lodestar: Lodestar, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(
        json.dumps({"question": "What is the capital there?", "topic_names": ["Peru"]}) + "\n", encoding="utf-8"
    )
    ran = lodestar("ask", "--file", str(path), "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["topics"][0]["id"] == "m.peru"


def test_topic_names_count_where_no_ids_are_given(lodestar: Lodestar, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    line = {"question": "What is the capital there?", "topic_entities": [], "topic_names": ["Peru"]}
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert json.loads(lodestar("ask", "--file", str(path), "--json").out)["topics"][0]["id"] == "m.peru"


def test_an_engine_takes_settings_by_name(settings: Settings) -> None:
    with Engine(name=settings.name, home=settings.home, cache=settings.cache, uri=settings.uri) as engine:
        assert engine.settings.name == settings.name
    with pytest.raises(UsageError, match="there is no setting 'nome'"):
        Engine(nome="x")
    with pytest.raises(UsageError, match="expected either settings or name"):
        Engine(settings, name="x")


@pytest.mark.parametrize(
    ("question", "answer", "form", "total"),
    [
        ("How many languages are spoken in Peru?", "2", "how many", 2),
        ("Is Lima the capital of Peru?", "yes", "yes or no", 1),
    ],
)
def test_a_count_and_a_yes_are_the_answers(
    lodestar: Lodestar, question: str, answer: str, form: str, total: int
) -> None:
    ran = lodestar("ask", "--forms", question, "--json")
    assert ran.code == 0, ran.err
    data = json.loads(ran.out)
    assert (data["form"]["forms"], data["form"]["total"]) == ([form], total)
    assert [each["name"] for each in data["answers"]] == [answer]
    assert data["answer"].startswith(f"{'unsure: perhaps ' if data['unsure'] else ''}{answer} ({form}: ")
    assert 0 < data["confidence"] <= 1
    assert data["answers"][0]["confidence"] == data["confidence"]


def test_fi_without_a_language_model_filters_by_what_is_there(lodestar: Lodestar) -> None:
    ran = lodestar("ask", "What is the capital of Peru?", "--recipe", "similarity + path-pooling + fi", "--json")
    assert ran.code == 0, ran.err
    data = json.loads(ran.out)
    assert any("no language model is configured" in cut for cut in data["cuts"])
    plain = json.loads(
        lodestar("ask", "What is the capital of Peru?", "--recipe", "similarity + path-pooling", "--json").out
    )
    assert 0 < len(data["items"]) < len(plain["items"])
    assert (plain["confidence"], plain["unsure"], plain["answers"][0]["confidence"]) == (None, False, None)
    text = lodestar("ask", "What is the capital of Peru?", "--recipe", "similarity + path-pooling").out
    assert "no confidence (these scores have no calibration" in text


def test_reorganising_keeps_what_the_retriever_found_first(lodestar: Lodestar) -> None:
    for question in (
        "What is the capital of Peru?",
        "Which currency is used in Chile?",
        "What is the capital of the country that borders Peru?",
    ):
        plain = json.loads(lodestar("ask", question, "--recipe", "similarity", "--json").out)
        after = json.loads(lodestar("ask", question, "--recipe", "similarity + reorganise", "--json").out)
        assert [each["name"] for each in after["answers"]][:1] == [each["name"] for each in plain["answers"]][:1], (
            question
        )
