"""The report's arithmetic: every question counts, and shares add up."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from lodestar.engine.errors import UsageError
from lodestar.engine.evaluation.judging import failed, judged
from lodestar.engine.evaluation.records.record import Miss, Record
from lodestar.engine.evaluation.reporting.comparing import compared
from lodestar.engine.evaluation.reporting.page import report_page
from lodestar.engine.evaluation.reporting.report import report_of
from lodestar.engine.evaluation.reporting.table import results_table
from lodestar.engine.evaluation.running import Run
from lodestar.engine.evidence.answer import Answer
from lodestar.engine.evidence.evidence import Cost
from lodestar.engine.questions.gold import GoldAnswer, GoldPath, GoldQuestion
from lodestar.engine.recipes.recipe import read_recipe
from lodestar.engine.values import AnswerEntity, Entity, Scored, TokenUsage, Topic

from tests.evidence import evidence_of, leads

TOPIC = Entity("m.1", "One")
STATED: dict[str, Any] = {
    "what": {
        "dataset": {"name": "<set>", "format": "lodestar", "sha256": "0", "num_questions": 4, "limit": None},
        "graph": {"loads": [], "num_triples": 3, "num_entities": 3},
        "recipe": read_recipe("similarity").as_json(),
        "topics": "given",
    },
    "where": {},
}


def question(id_: str, *answers: str, topic: str = "m.1", paths: tuple[GoldPath, ...] = ()) -> GoldQuestion:
    gold = tuple(GoldAnswer(answer, (answer.upper(),)) for answer in answers)
    return GoldQuestion(id_, "which?", gold, topic_ids=(topic,), num_hops=1, paths=paths)


def answered(asked: GoldQuestion, ends: list[str], given: list[str], usage: TokenUsage | None = None) -> Record:
    found = [Entity(end, end.upper()) for end in ends]
    items = [Scored(leads("r", *found, topic=TOPIC), 0.9)] if ends else []
    evidence = evidence_of(*items, text="which?", topics=(Topic(TOPIC),), trace=(Cost("hop 1", 0.2, 2),))
    entities = tuple(AnswerEntity(each.upper(), each, 0.75, "graph", (0,)) for each in given)
    return judged(asked, Answer(evidence, entities, ", ".join(given), "test", usage))


def run_of(*pairs: tuple[GoldQuestion, Record]) -> Run:
    return Run(tuple(asked for asked, _ in pairs), tuple(record for _, record in pairs), STATED)


def four() -> Run:
    right, half, empty, lost = (
        question("a", "x"),
        question("b", "x", "y"),
        question("c", "x"),
        question("d", "x", topic="m.2"),
    )
    return run_of(
        (right, answered(right, ["x"], ["x"], TokenUsage(100, 10))),
        (half, dataclasses.replace(answered(half, ["z", "y"], ["z", "y"]), miss=Miss("lost by the answerer"))),
        (empty, dataclasses.replace(answered(empty, [], []), miss=Miss("pruned", 1))),
        (lost, dataclasses.replace(failed(lost, "LLMError: no"), miss=Miss("failed"))),
    )


def test_failures_and_empty_answers_are_in_every_denominator() -> None:
    report = report_of(four(), prices=(10.0, 20.0))
    figures = report["figures"]
    assert {figure["n"] for metric, figure in figures.items()} == {4}
    assert figures["strict/hits_at_1"]["mean"] == pytest.approx(1 / 4)
    assert figures["strict/f1"]["mean"] == pytest.approx((1 + 0.5) / 4)
    assert figures["strict/micro_f1"]["mean"] == pytest.approx(2 * 2 / (3 + 5))
    assert figures["strict/hits_at_1"]["by_topic"]["mean"] == pytest.approx((1 / 3 + 0) / 2)
    assert figures["path/hits_at_1_any"]["mean"] == pytest.approx(2 / 4)
    assert figures["path/hits_at_1_expected"]["mean"] == pytest.approx((1 + 0.5) / 4)
    assert report["failures"] == [{"id": "d", "failure": "LLMError: no"}]
    assert report["empty"] == ["c"]
    assert report["abstention"]["precision"] == 0
    assert report["calibration"]["n"] == 2
    assert report["calibration"]["ece"] == pytest.approx(abs(0.5 - 0.75))
    assert report["cost"]["stages"]["hop 1"] == {"p50_s": 0.2, "p95_s": 0.2, "p99_s": 0.2, "round_trips": 2, "n": 3}
    assert report["cost"]["price"] == pytest.approx((100 * 10 + 10 * 20) / 1e6)


def test_shares_of_misses_add_up_to_one() -> None:
    misses = report_of(four())["misses"]
    assert misses["num"] == 3
    assert sum(kind["share"] for kind in misses["kinds"].values()) == pytest.approx(1)
    assert misses["kinds"]["pruned"]["places"] == {"1": 1}


def test_gold_paths_are_over_those_that_have_some() -> None:
    with_path, without = question("a", "x", paths=(GoldPath(("r",)), GoldPath(("s",)))), question("b", "x")
    report = report_of(
        run_of((with_path, answered(with_path, ["x"], ["x"])), (without, answered(without, ["x"], ["x"])))
    )
    assert report["figures"]["path/path_recall@1"]["mean"] == 0.5
    assert report["figures"]["path/path_recall@1"]["n"] == 1
    assert report["figures"]["path/answer_recall@1"]["n"] == 2


def test_what_the_substring_rule_gives_beyond_one_is_counted_and_clipped() -> None:
    asked = GoldQuestion("a", "?", (GoldAnswer(None, ("York",)), GoldAnswer(None, ("New York",))), topic_ids=("m.1",))
    report = report_of(run_of((asked, answered(asked, ["new york"], ["new york"]))))
    assert report["rog"]["num_exceeded"] == 1
    assert report["figures"]["rog/f1"]["mean"] == 1
    assert report["figures"]["strict/f1"]["mean"] == pytest.approx(2 / 3)


def test_the_page_escapes_and_the_table_has_a_row_a_run() -> None:
    report = json.loads(json.dumps(report_of(four())))
    text = report_page(report)
    assert "&lt;set&gt;: similarity" in text
    assert "<set>" not in text
    assert text.count("<svg") == 5
    assert len(list(results_table([report, report]))) == 4


def test_two_runs_must_have_asked_the_same() -> None:
    records = four().records
    same = compared(records, records)
    assert (same.won, same.lost) == ((), ())
    assert same.tests["strict/f1"].p_value == 1
    with pytest.raises(UsageError, match="found 1 that only one of them asked"):
        compared(records, records[:3])
