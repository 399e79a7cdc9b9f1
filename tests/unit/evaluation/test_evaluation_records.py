"""Records: whole or not at all, whatever a kill left behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.engine.errors import InputError
from lodestar.engine.evaluation.record import AnswerRecord, Miss, PathRecord, Record, RecordWriter

PATH = PathRecord(0.5, "m.1", ("r", "^s"), 2, ("m.2",), 30, 1, "One —[r]→ Two")
RECORDS = [
    Record(
        "q1",
        "who\n?",
        ("m.1",),
        (PATH,),
        (AnswerRecord("Zwei \u2028", "m.2", 0.4, "graph"),),
        "Zwei",
        scores={"mrr": 1.0},
    ),
    Record("q2", "what?", (), failure="LLMError: it failed", miss=Miss("failed")),
    Record(
        "q3",
        "where?",
        ("m.1",),
        counted=(1, 2, 3),
        miss=Miss("pruned", 2),
        seconds={"total": 0.1},
        round_trips={"link": 1},
    ),
]


def written(path: Path) -> None:
    with RecordWriter(path) as file:
        for record in RECORDS:
            file.add(record)


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    written(tmp_path / "runs" / "records.jsonl")
    assert RecordWriter(tmp_path / "runs" / "records.jsonl").read() == RECORDS
    assert [record.abstained for record in RECORDS] == [False, False, True]


def test_a_line_cut_anywhere_is_taken_off_before_more_is_written(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    written(path)
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    for cut in (second + 1, second + 40, whole.index(b"\n", second), len(whole) - 1):
        path.write_bytes(whole[:cut])
        kept = RecordWriter(path).read()
        assert kept == RECORDS[: len(kept)]
        with RecordWriter(path) as file:
            for record in RECORDS[len(kept) :]:
                file.add(record)
        assert path.read_bytes() == whole


def test_what_is_no_record_is_said(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text('{"id": "q1"}\n')
    with pytest.raises(InputError, match=r"records\.jsonl:1: expected a record of a run"):
        RecordWriter(path).read()
    assert RecordWriter(tmp_path / "none").read() == []


def test_a_record_of_an_earlier_version_is_read_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    records = [
        Record(id=id_, question='why is "without":["x"] here?', topics=(), excluded_relations=("capital",))
        for id_ in "ab"
    ]
    with RecordWriter(tmp_path / "new.jsonl") as file:
        for record in records:
            file.add(record)
    old = tmp_path / "old.jsonl"
    old.write_bytes((tmp_path / "new.jsonl").read_bytes().replace(b'"excluded_relations":', b'"without":'))
    assert b'"without":["capital"]' in old.read_bytes()
    assert RecordWriter(old).read() == records
    assert [entry.getMessage() for entry in caplog.records] == [
        f"{old}: `without` is now `excluded_relations`; new records have the new name"
    ]
