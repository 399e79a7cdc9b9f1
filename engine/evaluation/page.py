"""Draw the metrics of a run as a self-contained HTML page."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .table import cost_line, figure_rows, lead, stage_rows

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "lodestar",
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.alpha": 0.3,
}
_BLUE, _ORANGE, _GREY = "#3b6ea5", "#d98032", "#9aa3ab"
_SIZE = (5.2, 3.2)


def hits_by_hops(by_hops: Mapping[str, Any]) -> str:
    """Plot Hits@1 of answers and of paths by number of hops, with 95 % intervals."""
    figure, axes = _new("Hits@1 by hops", "hops (n questions)", "Hits@1")
    hops = list(by_hops)
    for offset, (metric, label, colour) in enumerate(
        (("strict/hits_at_1", "answer", _BLUE), ("path/hits_at_1_any", "path, any end", _ORANGE))
    ):
        each = [by_hops[number][metric] for number in hops]
        places = [index + 0.4 * offset - 0.2 for index in range(len(hops))]
        means = [figure["mean"] for figure in each]
        spread = [
            [figure["mean"] - figure["low"] for figure in each],
            [figure["high"] - figure["mean"] for figure in each],
        ]
        axes.bar(places, means, 0.38, color=colour, label=label, yerr=spread, capsize=3)
    axes.set_ylim(0, 1.25)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axes.set_xticks(range(len(hops)), [f"{number} ({by_hops[number]['strict/hits_at_1']['n']:,})" for number in hops])
    axes.legend(frameon=False, ncols=2, loc="upper left")
    return _svg(figure)


def recall_by_k(figures: Mapping[str, Any]) -> str:
    """Plot recall at k of answers and, if the set has them, of gold paths and triples."""
    figure, axes = _new("Recall at k of the retrieved paths", "k", "recall")
    for kind, label, colour in (
        ("answer_recall", "answers", _BLUE),
        ("path_recall", "gold paths", _ORANGE),
        ("triple_recall", "gold triples", _GREY),
    ):
        found = sorted(
            (int(metric.partition("@")[2]), values)
            for metric, values in figures.items()
            if metric.startswith(f"path/{kind}@")
        )
        if found:
            cuts = [k for k, _ in found]
            axes.plot(cuts, [values["mean"] for _, values in found], marker="o", color=colour, label=label)
            axes.fill_between(
                cuts, [v["low"] for _, v in found], [v["high"] for _, v in found], color=colour, alpha=0.15, lw=0
            )
    axes.set_ylim(0, 1)
    axes.legend(frameon=False)
    return _svg(figure)


def latency_by_stage(stages: Mapping[str, Any]) -> str:
    """Plot median and 95th percentile of the seconds of each stage."""
    figure, axes = _new("Seconds by stage: median, line to the 95th percentile", "seconds", "")
    names = list(stages)[::-1]
    axes.barh(names, [stages[name]["p50_s"] for name in names], color=_BLUE)
    for place, name in enumerate(names):
        axes.plot([stages[name]["p50_s"], stages[name]["p95_s"]], [place, place], color=_GREY, lw=2)
    return _svg(figure)


def calibration(bins: Sequence[Mapping[str, float]]) -> str:
    """Plot confidence against the share of right answers; the area of a point is the number of answers."""
    figure, axes = _new("Calibration of answers", "mean confidence", "share right")
    most = max((each["num"] for each in bins), default=1)
    axes.plot([0, 1], [0, 1], color=_GREY, lw=1, ls="--")
    axes.scatter(
        [each["mean_confidence"] for each in bins],
        [each["share_right"] for each in bins],
        s=[20 + 200 * each["num"] / most for each in bins],
        color=_BLUE,
        clip_on=False,
        zorder=3,
    )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    return _svg(figure)


def risk_coverage(selective: Mapping[str, Any]) -> str:
    """Plot the share of wrong answers by the share of answered questions, most confident first."""
    population = f"{selective['n']:,} questions, {selective['num_unanswerable']:,} without an answer"
    figure, axes = _new("Risk by coverage", f"share answered ({population})", "share of answers that are wrong")
    curve = selective["curve"]
    axes.plot([point["coverage"] for point in curve], [point["risk"] for point in curve], color=_BLUE)
    if kept := selective["false_answers"]:
        at = [point for point in curve if point["confidence"] >= kept["threshold"]][-1:]
        axes.scatter([point["coverage"] for point in at], [point["risk"] for point in at], color=_ORANGE, zorder=3)
        for point in at:
            label = f"{kept['kept']:.0%} of the right answers"
            axes.annotate(label, (point["coverage"], point["risk"]), (4, -12), textcoords="offset points", fontsize=8)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    return _svg(figure)


def misses(kinds: Mapping[str, Any]) -> str:
    """Plot where wrong first answers were lost, as shares of all of them."""
    figure, axes = _new("Where wrong answers were lost", "share of wrong first answers", "")
    names = list(kinds)[::-1]
    bars = axes.barh(names, [kinds[name]["share"] for name in names], color=_ORANGE)
    axes.bar_label(bars, [f" {kinds[name]['num']:,}" for name in names])
    return _svg(figure)


def noise_curves(curves: Sequence[Mapping[str, Any]], metric: str) -> str:
    """Plot a metric by the amount of noise, one line for each recipe, with 95 % intervals."""
    figure, axes = _new("F1 by number of noise items in the evidence", "noise items", "F1")
    for curve, colour in zip(curves, (_BLUE, _ORANGE, _GREY), strict=False):
        nums = [point["num"] for point in curve["points"]]
        each = [point["figures"][metric] for point in curve["points"]]
        axes.plot(nums, [f["mean"] for f in each], marker="o", color=colour, label=curve["stages"])
        axes.fill_between(nums, [f["low"] for f in each], [f["high"] for f in each], color=colour, alpha=0.15, lw=0)
    axes.set_ylim(0, 1)
    axes.legend(frameon=False)
    return _svg(figure)


def _new(title: str, x_label: str, y_label: str) -> tuple[Figure, Axes]:
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=_SIZE, layout="constrained")
        axes = figure.subplots()
    axes.set_title(title, fontsize=11, loc="left")
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    return figure, axes


def _svg(figure: Figure) -> str:
    written = io.StringIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    return written.getvalue().partition("<svg")[2].join(("<svg", ""))


def report_page(report: Mapping[str, Any]) -> str:
    """Return the HTML of the page."""
    kinds = report["misses"]["kinds"]
    confidences = report["calibration"]
    plots = [
        hits_by_hops(report["by_hops"]) if report["by_hops"] else "",
        recall_by_k(report["figures"]),
        latency_by_stage(report["cost"]["stages"]) if report["cost"]["stages"] else "",
        calibration(confidences["bins"]) if confidences else "",
        risk_coverage(report["selective"]) if report["selective"] and report["selective"]["curve"] else "",
        misses(kinds) if kinds else "",
    ]
    failures = [f"{failure['id']}: {failure['failure']}" for failure in report["failures"]]
    text = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    return Template(text).substitute(
        title=escape(f"{report['what']['dataset']['name']}: {report['what']['recipe']['name']}"),
        lead=escape(lead(report)),
        figures=_rows(figure_rows(report)),
        plots="\n".join(plots),
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
