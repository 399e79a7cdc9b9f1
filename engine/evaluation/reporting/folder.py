"""The folder of a run: run.json (what it is), records.jsonl, report.json and report.html."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ....models.one_line import one_line
from ...errors import InputError
from ...whole_file import parsed_json, read_text, write_text_file
from ..records.record import Record
from ..records.records_file import RecordsFile
from .page import report_page
from .report import FORMAT

MAX_REPORT_BYTES = 1 << 28

RECORDS, REPORT, PAGE = "records.jsonl", "report.json", "report.html"


def write_report(folder: Path, report: Mapping[str, Any]) -> None:
    """Write the report as JSON and as a page, each whole or not at all."""
    for name, text in ((REPORT, json.dumps(report, indent=1, ensure_ascii=False)), (PAGE, report_page(report))):
        write_text_file(folder / name, text)


def read_report(path: str) -> dict[str, Any]:
    """Return a report by its file or its folder; raise `InputError` for what is none."""
    file = _file(path, REPORT)
    if not file.exists():
        raise InputError(f"{file}: no report: `lodestar eval` makes one")
    with report_understood(path):
        report: dict[str, Any] = parsed_json(read_text(file, "the report", MAX_REPORT_BYTES))
        if report["format"] != FORMAT:
            found = one_line(repr(report["format"]), 40)
            raise InputError(f"{file}: expected a report of format {FORMAT}, found {found}: run it again")
        _ = report["what"]["recipe"], report["what"]["dataset"]["name"], report["figures"].items()
    return report


@contextmanager
def report_understood(path: str) -> Iterator[None]:
    """Raise `InputError` where a report is not as `lodestar eval` writes it and the block does not find its way."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise InputError(
            f"{_file(path, REPORT)}: expected a report of `lodestar eval`, found another file or a damaged one "
            f"({one_line(repr(error), 80)}): run it again"
        ) from error


def read_records(path: str) -> list[Record]:
    """Return the records of a run by its folder or its report."""
    file = _file(path, RECORDS)
    if not file.exists():
        raise InputError(f"{file}: no records: `lodestar eval` makes them")
    return RecordsFile(file).read()


def _file(path: str, name: str) -> Path:
    given = Path(path)
    if not given.exists():
        raise InputError(
            f"{path}: expected the folder or the report of a run, found nothing: `lodestar eval` makes one"
        )
    return given / name if given.is_dir() else given.with_name(name)
