"""The report as one HTML page that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from importlib import resources
from string import Template
from typing import Any

from .. import reporting
from . import plots
from .table import cost_line, figure_rows, lead, stage_rows


def report_page(report: Mapping[str, Any]) -> str:
    """Return the page's text."""
    kinds = report["misses"]["kinds"]
    calibration = report["calibration"]
    drawn = [
        plots.hits_by_hops(report["by_hops"]) if report["by_hops"] else "",
        plots.recall_by_k(report["figures"]),
        plots.latency_by_stage(report["cost"]["stages"]) if report["cost"]["stages"] else "",
        plots.calibration(calibration["bins"]) if calibration else "",
        plots.risk_coverage(report["selective"]) if report["selective"] and report["selective"]["curve"] else "",
        plots.misses(kinds) if kinds else "",
    ]
    failures = [f"{failure['id']}: {failure['failure']}" for failure in report["failures"]]
    text = resources.files(reporting).joinpath("page.html").read_text(encoding="utf-8")
    return Template(text).substitute(
        title=escape(f"{report['what']['dataset']['name']}: {report['what']['recipe']['name']}"),
        lead=escape(lead(report)),
        figures=_rows(figure_rows(report)),
        plots="\n".join(drawn),
        misses=_rows(
            (kind, f"{found['num']:,}", f"{found['share']:.3f}", _places(found["places"]))
            for kind, found in kinds.items()
        ),
        stages=_rows(stage_rows(report)),
        cost=escape(cost_line(report)),
        failures=f"<pre>{escape(chr(10).join(failures))}</pre>" if failures else "<p>None.</p>",
        provenance=escape(json.dumps({"what": report["what"], "where": report["where"]}, indent=2, ensure_ascii=False)),
    )


def _rows(rows: Iterable[Iterable[str]]) -> str:
    return "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)


def _places(places: Mapping[str, int]) -> str:
    return ", ".join(f"{place}: {num:,}" for place, num in sorted(places.items(), key=lambda item: int(item[0])))
