"""The folder of a run: run.json (what it is), records.jsonl, report.json and report.html."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...whole_file import write_whole
from ..records.record import Record
from ..records.records_file import RecordsFile
from .page import report_page
from .report import FORMAT

RECORDS, REPORT, PAGE = "records.jsonl", "report.json", "report.html"


def write_report(folder: Path, report: Mapping[str, Any]) -> None:
    """Write the report as JSON and as a page, each whole or not at all."""
    for name, text in ((REPORT, json.dumps(report, indent=1, ensure_ascii=False)), (PAGE, report_page(report))):
        write_whole(folder / name, text)


def read_report(path: str) -> dict[str, Any]:
    """Return a report by its file or its folder; raise `InputError` for what is none."""
    file = _file(path, REPORT)
    try:
        report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if report["format"] != FORMAT:
            raise InputError(f"{file}: expected a report of format {FORMAT}, found {report['format']}: run it again")
    except OSError as error:
        raise InputError(f"{file}: no report: {error.strerror}; `lodestar eval` makes one") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file}: expected a report of `lodestar eval`") from error
    return report


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
