"""Draw the figures of a run as an HTML page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from .table import cost_line, figure_rows, format_heading, stage_rows

_BLUE, _ORANGE, _GREY = "#3b6ea5", "#d98032", "#9aa3ab"
_TOP, _BOTTOM, _RIGHT = 26, 188, 362
_FRAME = Template(
    '<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 374 230" font-family="sans-serif" font-size="9">\n'
    '<title>$title</title>\n<text x="12" y="14" font-size="11">$title</text>\n$ticks\n'
    '<path d="M$left 26V188H362" fill="none" stroke="#333"/>\n$marks\n'
    '<text x="$middle" y="222" text-anchor="middle">$x_label</text>\n'
    '<text transform="translate(11 107) rotate(-90)" text-anchor="middle">$y_label</text>\n</svg>\n'
)
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)

Point = tuple[float, float]
Places = Sequence[tuple[float, str]]


class _Plot:
    """A frame with two axes, from 0 to x_most and to y_most; what is drawn is in their units."""

    def __init__(self, title: str, x_label: str, y_label: str, x_most: float, y_most: float, left: int = 44) -> None:
        self._labels = {"title": escape(title), "x_label": escape(x_label), "y_label": escape(y_label)}
        self._x_most, self._y_most, self._left = x_most or 1.0, y_most, left
        self._ticks: list[str] = []
        self._marks: list[str] = []
        self._num_named = 0

    def x(self, value: float) -> float:
        return round(self._left + value / self._x_most * (_RIGHT - self._left), 1)

    def y(self, value: float) -> float:
        return round(_BOTTOM - value / self._y_most * (_BOTTOM - _TOP), 1)

    def x_ticks(self, places: Places) -> None:
        for value, name in places:
            self._ticks.append(f'<text x="{self.x(value)}" y="201" text-anchor="middle">{escape(name)}</text>')

    def y_ticks(self, places: Places, *, ruled: bool = True) -> None:
        for value, name in places:
            y = self.y(value)
            if ruled:
                self._ticks.append(f'<path d="M{self._left} {y}H{_RIGHT}" stroke="#e3e7ea"/>')
            self._ticks.append(f'<text x="{self._left - 5}" y="{y + 3:.1f}" text-anchor="end">{escape(name)}</text>')

    def box(self, start: Point, end: Point, colour: str) -> None:
        (x0, y0), (x1, y1) = start, end
        left, top = self.x(min(x0, x1)), self.y(max(y0, y1))
        width, height = self.x(max(x0, x1)) - left, self.y(min(y0, y1)) - top
        self._marks.append(f'<rect x="{left}" y="{top}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>')

    def line(self, points: Iterable[Point], colour: str, *, dashed: bool = False) -> None:
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        path = " ".join(f"{self.x(x)},{self.y(y)}" for x, y in points)
        self._marks.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"{dash}/>')

    def band(self, low: Sequence[Point], high: Sequence[Point], colour: str) -> None:
        path = " ".join(f"{self.x(x)},{self.y(y)}" for x, y in [*low, *reversed(high)])
        self._marks.append(f'<polygon points="{path}" fill="{colour}" fill-opacity=".15"/>')

    def dot(self, x: float, y: float, colour: str, radius: float = 3.0) -> None:
        self._marks.append(f'<circle cx="{self.x(x)}" cy="{self.y(y)}" r="{radius:.1f}" fill="{colour}"/>')

    def text(self, x: float, y: float, text: str) -> None:
        self._marks.append(f'<text x="{self.x(x) + 4:.1f}" y="{self.y(y) + 3:.1f}">{escape(text)}</text>')

    def name(self, text: str, colour: str) -> None:
        """Add a line to the legend."""
        y = _TOP + 12 + 12 * self._num_named
        self._num_named += 1
        self._marks.append(
            f'<rect x="{_RIGHT - 8}" y="{y - 7}" width="8" height="8" fill="{colour}"/>'
            f'<text x="{_RIGHT - 12}" y="{y}" text-anchor="end">{escape(text)}</text>'
        )

    def curve(self, points: Sequence[tuple[float, Mapping[str, float]]], colour: str, name: str) -> None:
        """Draw means as a line with points, and their intervals as a band."""
        self.band([(x, f["low"]) for x, f in points], [(x, f["high"]) for x, f in points], colour)
        self.line([(x, f["mean"]) for x, f in points], colour)
        for x, figure in points:
            self.dot(x, figure["mean"], colour)
        self.name(name, colour)

    def svg(self) -> str:
        middle = (self._left + _RIGHT) // 2
        parts = {"ticks": "\n".join(self._ticks), "marks": "\n".join(self._marks)}
        return _FRAME.substitute(self._labels, left=self._left, middle=middle, **parts)


def draw_hits_by_hops(by_hops: Mapping[str, Any]) -> str:
    """Draw Hits@1 of answers and of paths by the number of hops, with 95 % intervals."""
    hops = list(by_hops)
    plot = _Plot("Hits@1 by hops", "hops (n questions)", "Hits@1", len(hops), 1.25)
    plot.y_ticks(_shares())
    plot.x_ticks([(i + 0.5, f"{n} ({by_hops[n]['strict/hits_at_1']['n']:,})") for i, n in enumerate(hops)])
    for offset, (metric, label, colour) in enumerate(
        (("strict/hits_at_1", "answer", _BLUE), ("path/hits_at_1_any", "path, any end", _ORANGE))
    ):
        for index, number in enumerate(hops):
            figure, left = by_hops[number][metric], index + 0.12 + 0.38 * offset
            plot.box((left, 0), (left + 0.36, figure["mean"]), colour)
            for end in (figure["low"], figure["high"]):
                plot.line([(left + 0.14, end), (left + 0.22, end)], "#1d2429")
            plot.line([(left + 0.18, figure["low"]), (left + 0.18, figure["high"])], "#1d2429")
        plot.name(label, colour)
    return plot.svg()


def draw_recall_by_k(figures: Mapping[str, Any]) -> str:
    """Draw recall at k of answers and, where a set has them, of gold paths and triples."""
    curves = []
    for kind, label, colour in (
        ("answer_recall", "answers", _BLUE),
        ("path_recall", "gold paths", _ORANGE),
        ("triple_recall", "gold triples", _GREY),
    ):
        start = f"path/{kind}@"
        found = [(float(metric.removeprefix(start)), f) for metric, f in figures.items() if metric.startswith(start)]
        if found:
            curves.append((sorted(found, key=lambda point: point[0]), colour, label))
    cuts = sorted({k for points, *_ in curves for k, _ in points})
    plot = _Plot("Recall at k of the retrieved paths", "k", "recall", max(cuts, default=1.0), 1.0)
    plot.y_ticks(_shares())
    plot.x_ticks([(k, f"{k:g}") for k in cuts])
    for points, colour, label in curves:
        plot.curve(points, colour, label)
    return plot.svg()


def draw_latency_by_stage(stages: Mapping[str, Any]) -> str:
    """Draw median and 95th percentile of the seconds of each stage."""
    title = "Seconds by stage: median, line to the 95th percentile"
    plot = _by_row(title, "seconds", list(stages), max(each["p95_s"] for each in stages.values()))
    for row, each in enumerate(reversed(list(stages.values()))):
        plot.box((0, row + 0.15), (each["p50_s"], row + 0.85), _BLUE)
        plot.line([(each["p50_s"], row + 0.5), (each["p95_s"], row + 0.5)], _GREY)
    return plot.svg()


def draw_calibration(bins: Sequence[Mapping[str, float]]) -> str:
    """Draw confidence against the share that is right; the area of a point is the number of answers."""
    plot = _Plot("Calibration of answers", "mean confidence", "share right", 1.0, 1.0)
    plot.x_ticks(_shares())
    plot.y_ticks(_shares())
    most = max((each["num"] for each in bins), default=1)
    plot.line([(0, 0), (1, 1)], _GREY, dashed=True)
    for each in bins:
        plot.dot(each["mean_confidence"], each["share_right"], _BLUE, (5 + 60 * each["num"] / most) ** 0.5)
    return plot.svg()


def draw_risk_coverage(selective: Mapping[str, Any]) -> str:
    """Draw the share of wrong answers by the share of questions that is answered, the surest first."""
    asked = f"{selective['n']:,} questions, {selective['num_unanswerable']:,} without an answer"
    plot = _Plot("Risk by coverage", f"share answered ({asked})", "share of answers that are wrong", 1.0, 1.0)
    plot.x_ticks(_shares())
    plot.y_ticks(_shares())
    curve = selective["curve"]
    plot.line([(point["coverage"], point["risk"]) for point in curve], _BLUE)
    if kept := selective["false_answers"]:
        for point in [point for point in curve if point["confidence"] >= kept["threshold"]][-1:]:
            plot.dot(point["coverage"], point["risk"], _ORANGE)
            plot.text(point["coverage"], point["risk"], f"{kept['kept']:.0%} of the right answers")
    return plot.svg()


def draw_misses(kinds: Mapping[str, Any]) -> str:
    """Draw where wrong first answers were lost, as shares of all of them."""
    most = max(each["share"] for each in kinds.values())
    plot = _by_row("Where wrong answers were lost", "share of wrong first answers", list(kinds), most)
    for row, each in enumerate(reversed(list(kinds.values()))):
        plot.box((0, row + 0.15), (each["share"], row + 0.85), _ORANGE)
        plot.text(each["share"], row + 0.5, f"{each['num']:,}")
    return plot.svg()


def _shares() -> Places:
    return [(value, f"{value:g}") for value in _TICKS]


def _by_row(title: str, x_label: str, names: Sequence[str], most: float) -> _Plot:
    """Return a plot with a row for each name, the first on top; row i is from i to i + 1."""
    most = most or 1.0
    plot = _Plot(title, x_label, "", 1.12 * most, len(names), left=110)
    plot.x_ticks([(share * most, f"{share * most:.3g}") for share in (0, 0.25, 0.5, 0.75, 1)])
    plot.y_ticks([(row + 0.5, name) for row, name in enumerate(reversed(names))], ruled=False)
    return plot


def report_page(report: Mapping[str, Any]) -> str:
    """Return the page's text."""
    kinds = report["misses"]["kinds"]
    calibrated = report["calibration"]
    drawn = [
        draw_hits_by_hops(report["by_hops"]) if report["by_hops"] else "",
        draw_recall_by_k(report["figures"]),
        draw_latency_by_stage(report["cost"]["stages"]) if report["cost"]["stages"] else "",
        draw_calibration(calibrated["bins"]) if calibrated else "",
        draw_risk_coverage(report["selective"]) if report["selective"] and report["selective"]["curve"] else "",
        draw_misses(kinds) if kinds else "",
    ]
    failures = [f"{failure['id']}: {failure['failure']}" for failure in report["failures"]]
    return fill_page(
        "report",
        report,
        title=f"{report['what']['dataset']['name']}: {report['what']['recipe']['name']}",
        lead=format_heading(report),
        figures=_rows(figure_rows(report)),
        plots="\n".join(drawn),
        misses=_rows(
            (kind, f"{found['num']:,}", f"{found['share']:.3f}", _places(found["places"]))
            for kind, found in kinds.items()
        ),
        stages=_rows(stage_rows(report)),
        cost=escape(cost_line(report)),
        failures=f"<pre>{escape(chr(10).join(failures))}</pre>" if failures else "<p>None.</p>",
    )


def fill_page(name: str, report: Mapping[str, Any], *, title: str, lead: str, **values: str) -> str:
    """Return a self-contained page with the body ``NAME.html``. values: HTML; title, lead: text."""
    frame, body = (
        Template(Path(__file__).with_name(f"{each}.html").read_text(encoding="utf-8")) for each in ("page", name)
    )
    depends_on = {"what": report["what"], "where": report["where"]}
    return frame.substitute(
        title=escape(title),
        lead=escape(lead),
        body=body.substitute(values).rstrip("\n"),
        provenance=escape(json.dumps(depends_on, indent=2, ensure_ascii=False)),
    )


def _rows(rows: Iterable[Iterable[str]]) -> str:
    return "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)


def _places(places: Mapping[str, int]) -> str:
    return ", ".join(f"{place}: {num:,}" for place, num in sorted(places.items(), key=lambda item: int(item[0])))
