"""Made questions reworded by a scripted language model on a real socket: names survive, or the question stays."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from lodestar.engine.errors import LLMError
from lodestar.engine.gold_questions import GoldQuestion
from lodestar.engine.settings import Settings
from lodestar.engine.supervision.paraphrasing import (
    A_PROMPT,
    LOST,
    REWORDED,
    SAME,
    UNREADABLE,
    check_paraphrase,
    paraphrase_questions,
)

from tests.fakes.scripted_llm import Reply, Request, ScriptedLLM, refuses, says, status


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def asking(llm: ScriptedLLM, home: Path, **changes: object) -> Settings:
    settings = Settings(llm_base_url=llm.base_url, llm_model="scripted", llm_api_key="k", home=str(home))
    return replace(settings, **changes)  # type: ignore[arg-type]


def questions(number: int) -> list[GoldQuestion]:
    return [
        GoldQuestion(f"made-{i}", f"what is the capital of Land {i}", (), topic_names=(f"Land {i}",))
        for i in range(number)
    ]


def reworded(asked: Request) -> Reply:
    """Rewords each line of the prompt's data."""
    lines = asked.prompt.rpartition("<evidence>")[2].partition("</evidence>")[0].strip().splitlines()
    names = [json.loads(line[line.rindex("[") :])[0] for line in lines]
    return says({"questions": [f"From which city is {name} governed?" for name in names]})


def test_all_are_reworded_and_paid_for_once(tmp_path: Path) -> None:
    asked = questions(A_PROMPT + 2)
    said: list[str] = []
    with ScriptedLLM([reworded, reworded]) as llm:
        found = paraphrase_questions(asked, asking(llm, tmp_path), say=said.append)
        assert paraphrase_questions(asked, asking(llm, tmp_path), say=said.append) == found
    assert len(llm.requests) == 2
    assert llm.requests[0].body["response_format"] == {"type": "json_object"}
    prompts = " ".join(request.prompt for request in llm.requests)
    assert all(
        f"\n{line} [" in prompts for line in (f"1. {asked[0].text}", f"10. {asked[9].text}", f"2. {asked[11].text}")
    )
    assert [each.text for each in found] == [f"From which city is Land {i} governed?" for i in range(len(asked))]
    assert [replace(each, text="") for each in found] == [replace(each, text="") for each in asked]
    assert said == [
        "12 of 12 questions reworded by scripted (2 calls, 0 from the cache)",
        "12 of 12 questions reworded by scripted (0 calls, 2 from the cache)",
    ]


@pytest.mark.parametrize(
    "reply",
    [
        says("I cannot do that."),
        refuses("No."),
        says({"questions": ["too few"]}),
        says({"questions": "what is it"}),
        says("{" * 5_000 + "}" * 5_000),
    ],
)
def test_a_reply_that_cannot_be_read_leaves_the_questions_as_they_are(reply: Reply, tmp_path: Path) -> None:
    said: list[str] = []
    with ScriptedLLM([reply, reworded]) as llm:
        assert paraphrase_questions(questions(3), asking(llm, tmp_path), say=said.append) == questions(3)
        found = paraphrase_questions(questions(3), asking(llm, tmp_path))
    assert said[0].endswith("; the others stay: 3 in no reply that could be read")
    assert found[2].text == "From which city is Land 2 governed?", "what could not be read is asked again"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Which city governs land 0?", REWORDED),
        (" Which city\n governs Land 0? ", REWORDED),
        ("Which city governs it?", LOST),
        ("What is the capital of Land 0", SAME),
        ("", UNREADABLE),
        (7, UNREADABLE),
        ("Land 0 " * 100, UNREADABLE),
    ],
)
def test_names_have_to_survive(text: object, outcome: str) -> None:
    assert check_paraphrase(questions(1)[0], text)[0] == outcome


def test_what_the_budget_does_not_allow_stays_and_is_said(tmp_path: Path) -> None:
    asked, said = questions(A_PROMPT + 2), list[str]()
    with ScriptedLLM([reworded]) as llm:
        found = paraphrase_questions(asked, asking(llm, tmp_path, llm_max_calls=1), say=said.append)
    assert len(llm.requests) == 1
    assert sum(one.text != two.text for one, two in zip(found, asked, strict=True)) in {A_PROMPT, 2}
    assert "not asked or not answered" in said[0]
    assert "budget of 1 calls is spent" in said[0]


def test_where_nothing_is_answered_it_fails(tmp_path: Path) -> None:
    with ScriptedLLM([status(401)]) as llm, pytest.raises(LLMError):
        paraphrase_questions(questions(3), asking(llm, tmp_path))


def test_without_a_model_it_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(LLMError):
        paraphrase_questions(questions(3), Settings(home=str(tmp_path)))
