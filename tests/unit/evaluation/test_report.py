"""The report's arithmetic: every question counts, and shares add up."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from lodestar.engine.errors import InputError, UsageError
from lodestar.engine.evaluation.judging import judge_answer, record_failure
from lodestar.engine.evaluation.page import report_page
from lodestar.engine.evaluation.record import Miss, Record
from lodestar.engine.evaluation.report import make_report, read_records, read_report
from lodestar.engine.evaluation.runs import Run
from lodestar.engine.evaluation.table import compare_runs, results_table
from lodestar.engine.evidence.evidence import Answer
from lodestar.engine.gold_questions import GoldAnswer, GoldPath, GoldQuestion
from lodestar.engine.recipes.recipe import read_recipe
from lodestar.engine.steps import StageCost
from lodestar.engine.values import AnswerEntity, Entity, Scored, TokenUsage, Topic

from tests.made.evidence import evidence_of, leads

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
    evidence = evidence_of(*items, text="which?", topics=(Topic(TOPIC),), trace=(StageCost("hop 1", 0.2, 2),))
    entities = tuple(AnswerEntity(each.upper(), each, 0.75, "graph", (0,)) for each in given)
    return judge_answer(asked, Answer(evidence, entities, ", ".join(given), "test", usage))


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
        (lost, dataclasses.replace(record_failure(lost, "LLMError: no"), miss=Miss("failed"))),
    )


def test_failures_and_empty_answers_are_in_every_denominator() -> None:
    report = make_report(four())
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


def test_shares_of_misses_add_up_to_one() -> None:
    misses = make_report(four())["misses"]
    assert misses["num"] == 3
    assert sum(kind["share"] for kind in misses["kinds"].values()) == pytest.approx(1)
    assert misses["kinds"]["pruned"]["places"] == {"1": 1}


def test_gold_paths_are_over_those_that_have_some() -> None:
    with_path, without = question("a", "x", paths=(GoldPath(("r",)), GoldPath(("s",)))), question("b", "x")
    report = make_report(
        run_of((with_path, answered(with_path, ["x"], ["x"])), (without, answered(without, ["x"], ["x"])))
    )
    assert report["figures"]["path/path_recall@1"]["mean"] == 0.5
    assert report["figures"]["path/path_recall@1"]["n"] == 1
    assert report["figures"]["path/answer_recall@1"]["n"] == 2


def test_what_the_substring_rule_gives_beyond_one_is_counted_and_clipped() -> None:
    asked = GoldQuestion("a", "?", (GoldAnswer(None, ("York",)), GoldAnswer(None, ("New York",))), topic_ids=("m.1",))
    report = make_report(run_of((asked, answered(asked, ["new york"], ["new york"]))))
    assert report["rog"]["num_exceeded"] == 1
    assert report["figures"]["rog/f1"]["mean"] == 1
    assert report["figures"]["strict/f1"]["mean"] == pytest.approx(2 / 3)


def test_the_page_escapes_and_the_table_has_a_row_a_run() -> None:
    report = json.loads(json.dumps(make_report(four())))
    text = report_page(report)
    assert "&lt;set&gt;: similarity" in text
    assert "<set>" not in text
    assert text.count("<svg") == 6
    linked = {**report, "what": {**report["what"], "topics": "linked"}}
    rows = list(results_table([report, linked]))
    assert [", linked |" in row for row in rows] == [False, False, False, True]


def with_twins() -> Run:
    """Two questions, each again without its relations: of these one is abstained from, one is answered."""
    one, two = question("a", "x"), question("b", "y")
    bare = [
        dataclasses.replace(each, id=f"{each.id}-", answers=(), excluded_relations=frozenset({"r"}))
        for each in (one, two)
    ]
    sure = [answered(one, ["x"], ["x"]), answered(two, ["y"], ["z"]), answered(bare[0], ["z"], ["z"])]
    records = [dataclasses.replace(r, confidence=c) for r, c in zip(sure, (0.9, 0.4, 0.6), strict=True)]
    return run_of(*zip((one, two, *bare), (*records, answered(bare[1], [], [])), strict=True))


def test_questions_without_their_relations_count_for_confidence_alone() -> None:
    report = json.loads(json.dumps(make_report(with_twins())))
    assert (report["num_questions"], report["num_without_relations"]) == (2, 2)
    assert {figure["n"] for figure in report["figures"].values()} == {2}
    assert report["figures"]["strict/hits_at_1"]["mean"] == 0.5
    assert report["calibration"]["n"] == 3
    # .9 right, .6 wrong, .4 wrong: bins of one each.
    assert report["calibration"]["ece"] == pytest.approx((0.1 + 0.6 + 0.4) / 3)
    assert (report["abstention"]["precision"], report["abstention"]["recall"]) == (1.0, 0.5)
    selective = report["selective"]
    assert (selective["n"], selective["num_unanswerable"]) == (4, 2)
    assert selective["curve"] == [
        {"confidence": 0.9, "coverage": 0.25, "risk": 0.0},
        {"confidence": 0.6, "coverage": 0.5, "risk": 0.5},
        {"confidence": 0.4, "coverage": 0.75, "risk": pytest.approx(2 / 3)},
    ]
    assert selective["risk_at"] == {"0.5": 0.5, "0.8": None}
    assert selective["aurc"] == pytest.approx((0 + 1 / 2 + 2 / 3) / 3)
    assert (selective["false_answers"]["threshold"], selective["false_answers"]["mean"]) == (0.9, 0.0)
    assert "80 % of the right" not in (text := report_page(report))
    assert "2 of them repeated with their relations excluded" in text
    assert "false answers@80% of right ones" in text


def test_answers_without_a_confidence_are_left_out_of_what_goes_by_it() -> None:
    run = with_twins()
    unknown = [
        dataclasses.replace(
            record,
            confidence=None,
            answers=tuple(dataclasses.replace(each, confidence=None) for each in record.answers),
        )
        for record in run.records
    ]
    report = json.loads(json.dumps(make_report(dataclasses.replace(run, records=(*run.records[:2], *unknown[2:])))))
    assert (report["calibration"]["n"], report["selective"]["n"]) == (2, 3)
    assert [point["coverage"] for point in report["selective"]["curve"]] == pytest.approx([1 / 3, 2 / 3])
    report = json.loads(json.dumps(make_report(dataclasses.replace(run, records=tuple(unknown)))))
    assert (report["calibration"], report["selective"]) == (None, None)
    assert report["figures"]["strict/hits_at_1"]["mean"] == 0.5
    assert report["abstention"]["precision"] == 1.0
    assert "ece" not in report_page(report)


def test_two_runs_are_compared_without_them() -> None:
    records = with_twins().records
    assert compare_runs(records, records).num_questions == 2


def test_a_run_that_is_not_there_is_named_as_it_was_given(tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nope")
    for read in (read_records, read_report):
        with pytest.raises(InputError, match=r"/nope: expected the folder or the report of a run, found nothing"):
            read(nowhere)


def test_two_runs_must_have_asked_the_same() -> None:
    records = four().records
    same = compare_runs(records, records)
    assert (same.won, same.lost) == ((), ())
    assert same.tests["strict/f1"].p_value == 1
    with pytest.raises(UsageError, match="found 1 that only one of them asked"):
        compare_runs(records, records[:3])
