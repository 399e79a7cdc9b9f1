"""The report's arithmetic, and records that are whole or not at all, whatever a kill left behind."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lodestar.engine.context import StageCost
from lodestar.engine.data_model import AnswerEntity, Entity, Scored, Topic
from lodestar.engine.evaluation.report import format_report, format_summary, make_report
from lodestar.engine.evaluation.runs import (
    AnswerRecord,
    MissReason,
    PathRecord,
    QuestionRecord,
    Run,
    judge_answer,
    open_record_writer,
    read_question_records,
    record_failure,
)
from lodestar.engine.evidence import Answer, EvidenceTrace
from lodestar.engine.gold_questions import GoldAnswer, GoldPath, GoldQuestion
from lodestar.engine.llm import TokenUsage
from lodestar.engine.recipes import read_recipe

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


def answered(asked: GoldQuestion, ends: list[str], given: list[str], usage: TokenUsage | None = None) -> QuestionRecord:
    found = [Entity(end, end.upper()) for end in ends]
    items = [Scored(leads("r", *found, topic=TOPIC), 0.9)] if ends else []
    evidence = evidence_of(
        *items, text="which?", topics=(Topic(TOPIC),), trace=EvidenceTrace((StageCost("hop 1", 0.2, 2),))
    )
    entities = tuple(AnswerEntity(each.upper(), each, 0.75, "graph", (0,)) for each in given)
    return judge_answer(asked, Answer(evidence, entities, ", ".join(given), "test", usage))


def run_of(*pairs: tuple[GoldQuestion, QuestionRecord]) -> Run:
    return Run(tuple(asked for asked, _ in pairs), tuple(record for _, record in pairs), STATED)


def four() -> Run:
    right, half, empty = question("a", "x"), question("b", "x", "y"), question("c", "x")
    lost = question("d", "x", topic="m.2")
    return run_of(
        (right, answered(right, ["x"], ["x"], TokenUsage(100, 10))),
        (half, replace(answered(half, ["z", "y"], ["z", "y"]), miss=MissReason("lost by the answerer"))),
        (empty, replace(answered(empty, [], []), miss=MissReason("pruned"))),
        (lost, replace(record_failure(lost, "LLMError: no"), miss=MissReason("failed"))),
    )


def test_failures_and_empty_answers_are_in_every_denominator() -> None:
    report = make_report(four())
    figures = report["figures"]
    assert {figure["n"] for metric, figure in figures.items()} == {4}
    assert figures["strict/hits_at_1"]["mean"] == pytest.approx(1 / 4)
    assert figures["strict/f1"]["mean"] == pytest.approx((1 + 0.5) / 4)
    assert figures["path/hits_at_1_any"]["mean"] == pytest.approx(2 / 4)
    assert figures["path/hits_at_1_expected"]["mean"] == pytest.approx((1 + 0.5) / 4)
    assert report["failures"] == [{"id": "d", "failure": "LLMError: no"}]
    assert report["empty"] == ["c"]
    assert report["calibration"] == {"n": 2, "ece": pytest.approx(abs(0.5 - 0.75))}
    assert report["cost"]["stages"]["hop 1"] == {"p50_s": 0.2, "p95_s": 0.2, "p99_s": 0.2, "round_trips": 2, "n": 3}


def test_it_opens_with_what_is_right_and_why_the_others_are_wrong() -> None:
    report = json.loads(json.dumps(make_report(four())))
    assert format_summary(report).startswith("1 of 4 right (F1 of the answers ≥ 0.8), 3 are wrong: 1 failed; 1 pruned;")
    assert [each["because"] for each in report["wrong"]] == [
        "the first path leads to a right answer, and another was given",
        "the search dropped the right path",
        "it failed: LLMError: no",
    ]
    assert report["wrong"][0]["expected"] == ["X", "Y"]
    assert sum(kind["share"] for kind in report["misses"]["kinds"].values()) == pytest.approx(1)
    page = format_report(report).splitlines()
    assert page[:3] == ["# <set>: similarity", "", f"**{format_summary(report)}**"]
    assert page[4:7] == [
        "1. which? → Z; Y; right: X; Y",
        "   (the first path leads to a right answer, and another was given)",
        "   `lodestar ask --topic m.1 'which?'`",
    ]
    assert "And 1 more: see records.jsonl." in format_report(report, most=2)
    assert make_report(replace(four(), linked=True))["wrong"][0]["ask"] == "lodestar ask 'which?'"


def test_questions_without_an_answer_measure_abstention() -> None:
    one, two, none, nothing = question("a", "x"), question("b", "y"), question("c"), question("d")
    sure = [answered(one, ["x"], ["x"]), answered(two, ["y"], ["z"]), answered(none, ["z"], ["z"])]
    records = [replace(r, confidence=c) for r, c in zip(sure, (0.9, 0.4, 0.6), strict=True)]
    asked = zip((one, two, none, nothing), (*records, answered(nothing, [], [])), strict=True)
    report = json.loads(json.dumps(make_report(run_of(*asked))))
    # .9 right, .6 wrong, .4 wrong: bins of one each.
    assert report["calibration"] == {"ece": pytest.approx((0.1 + 0.6 + 0.4) / 3), "n": 3}
    assert [report["abstention"][name]["mean"] for name in ("precision", "recall")] == [1.0, 0.5]


PATHS = (PathRecord(0.5, "m.1", ("r", "^s"), 30, "One —[r]→ Two"),)
ANSWERS = (AnswerRecord("Zwei \u2028", "m.2", 0.4, "graph"),)
RECORDS = [
    QuestionRecord("q1", "who\n?", ("m.1",), PATHS, ANSWERS, "Zwei", scores={"mrr": 1.0}),
    QuestionRecord("q2", "what?", failure="LLMError: it failed", miss=MissReason("failed")),
    QuestionRecord(
        "q3", "where?", ("m.1",), miss=MissReason("not the first", 2), seconds={"total": 0.1}, round_trips={"link": 1}
    ),
]


def written(folder: Path, records: list[QuestionRecord] = RECORDS) -> None:
    with open_record_writer(folder) as add:
        for record in records:
            add(record)


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    written(tmp_path)
    assert read_question_records(tmp_path) == RECORDS
    assert [record.abstained for record in RECORDS] == [False, False, True]


def test_a_line_cut_anywhere_is_taken_off_before_more_is_written(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    written(tmp_path)
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    for cut in (second + 1, second + 40, whole.index(b"\n", second), len(whole) - 1):
        path.write_bytes(whole[:cut])
        kept = read_question_records(tmp_path)
        assert kept == RECORDS[: len(kept)]
        written(tmp_path, RECORDS[len(kept) :])
        assert path.read_bytes() == whole
