"""What confidences of a run mean, fitted on the run."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
from click.testing import CliRunner
from lodestar.engine.cli.main import main
from lodestar.engine.errors import UsageError
from lodestar.engine.evaluation.calibrating import fit_confidence
from lodestar.engine.evaluation.record import AnswerRecord, Record, RecordWriter


def record(number: int, confidence: float | None, *, right: bool) -> Record:
    answers = (AnswerRecord("Sol", "m.sol", confidence, "graph"), AnswerRecord("Inti", None, 0.99, "model"))
    return Record(f"q{number}", "q?", ("t",), answers=answers, scores={"strict/hits_at_1": float(right)})


def too_sure(num: int) -> list[Record]:
    """Return answers that are right with σ(.5 · log-odds of their confidence − 1)."""
    chance = random.Random(3)
    found = []
    for number in range(num):
        log_odds = chance.uniform(-2, 6)
        right = chance.random() < 1 / (1 + math.exp(1 - 0.5 * log_odds))
        found.append(record(number, 1 / (1 + math.exp(-log_odds)), right=right))
    return found


def test_the_fit_finds_how_sure_answers_are_and_errs_less() -> None:
    found = fit_confidence(too_sure(4_000))
    assert found.slope == pytest.approx(0.5, abs=0.06)
    assert found.intercept == pytest.approx(-1, abs=0.15)
    assert found.num == 4_000
    assert found.ece_after < 0.04 < 0.2 < found.ece_before


def test_answers_without_a_confidence_and_questions_without_an_answer_do_not_count() -> None:
    some = too_sure(100)
    more = [record(200, None, right=False), Record("q201", "q?", ("t",), scores={"strict/hits_at_1": 0.0})]
    assert fit_confidence([*some, *more]) == fit_confidence(some)


@pytest.mark.parametrize("right", [(True,) * 20, (False,) * 20, (True, False) * 4])
def test_too_few_answers_or_of_one_kind_alone_are_refused(right: tuple[bool, ...]) -> None:
    with pytest.raises(UsageError, match=f"expected at least 10 answers with a confidence.*found {len(right)}"):
        fit_confidence([record(number, 0.5, right=each) for number, each in enumerate(right)])


def test_the_command_prints_options_as_set_takes_them(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("{}")
    with RecordWriter(tmp_path / "records.jsonl") as file:
        for each in too_sure(200):
            file.add(each)
    said = CliRunner().invoke(main, ["eval", "calibrate", str(tmp_path)])
    assert said.exit_code == 0, said.output
    assert said.stdout.startswith("--set answerer.slope=0.")
    assert "200 first answers with a confidence" in said.stderr
    found = json.loads(CliRunner().invoke(main, ["eval", "calibrate", str(tmp_path), "--json"]).stdout)
    assert found["num"] == 200
    assert found["slope"] > 0
