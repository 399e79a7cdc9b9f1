"""What each option of `lodestar refine` changes, with a scripted language model; tests/e2e/training has its scorers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from lodestar.engine.cli.main import main
from lodestar.engine.errors import LLMError, UsageError
from lodestar.engine.supervision.refine import pool_of
from lodestar.models.mined import write_pool

from tests.fakes.scripted_llm import ScriptedLLM, says
from tests.made.pool_examples import candidate_pool

Refine = Callable[..., Result]


@pytest.fixture
def refine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refine:
    """Run `lodestar refine` over a pool of three questions, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("LODESTAR_HOME", str(tmp_path / "home"))
    write_pool(Path("pool"), candidate_pool(3))

    def call(out: str, *arguments: str, llm: ScriptedLLM | None = None) -> Result:
        if llm:
            for name, value in (("BASE_URL", llm.base_url), ("MODEL", "scripted"), ("API_KEY", "k")):
                monkeypatch.setenv(f"LODESTAR_LLM_{name}", value)
        return CliRunner().invoke(main, ["refine", "pool", "--out", out, "--json", *arguments])

    return call


def chosen(out: str) -> list[tuple[int, ...]]:
    return [each.chosen for each in pool_of(Path(out)).questions]


def counts(ran: Result) -> dict[str, Any]:
    assert ran.exit_code == 0, ran.output
    found: dict[str, Any] = json.loads(ran.stdout)
    return dict(found["counts"])


@pytest.mark.parametrize(("retries", "calls"), [(0, 3), (1, 6)])
def test_an_unreadable_reply_is_asked_for_again(refine: Refine, retries: int, calls: int) -> None:
    with ScriptedLLM([says("None.")] * 9) as llm:
        assert counts(refine("out", "--retries", str(retries), llm=llm))["calls"] == calls
        assert len(llm.requests) == calls


def test_a_budget_ends_it_and_the_same_command_goes_on(refine: Refine) -> None:
    with ScriptedLLM([says({"chains": [3]})] * 9) as llm:
        ran = refine("out", "--max-calls", "2", llm=llm)
        assert counts(ran)["calls"] == len(llm.requests) == 2
        assert sorted(chosen("out")) == [(0, 1), (2,), (2,)], "what was not asked keeps its shortest paths"
        assert counts(refine("out", "--force", llm=llm))["from the cache"] == 2
        assert chosen("out") == [(2,)] * 3


def test_no_call_is_made_once_the_budget_of_tokens_is_spent(refine: Refine) -> None:
    with ScriptedLLM([says("None.")] * 9) as llm:
        ran = refine("out", "--retries", "1", "--max-tokens", "1", llm=llm)
    assert isinstance(ran.exception, LLMError)
    assert "budget of 1 tokens is spent" in str(ran.exception)
    assert len(llm.requests) <= 3


def test_a_model_is_asked_about_each_chain_and_only_a_language_model_is(refine: Refine) -> None:
    with ScriptedLLM([says("Yes")] * 9) as llm:
        assert counts(refine("out", "--each", "--most", "3", llm=llm))["calls"] == len(llm.requests) == 9
    assert {len(each) for each in chosen("out")} == {3}, "two paths and a neighbour, all as sure"
    with ScriptedLLM([says("Yes"), says("No")] * 3) as llm:
        refine("wide", "--each", "--most", "2", "--log-odds", "2", llm=llm)
    assert chosen("wide") == [(0, 1)] * 3
    ran = refine("other", "--each", "--by", "similarity")
    assert isinstance(ran.exception, UsageError)
    assert "--each: expected --by llm" in str(ran.exception)


@pytest.mark.parametrize("option", [("--workers", "2"), ("--ray", "auto")])
def test_a_language_model_is_asked_by_one_process(refine: Refine, option: tuple[str, str]) -> None:
    ran = refine("out", *option)
    assert isinstance(ran.exception, UsageError)
    assert "expected --by with a scorer" in str(ran.exception)
