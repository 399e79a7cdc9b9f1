"""The report of noise curves: figures by the amount of noise, and what noise costs, as plain data, rows and a page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from ...whole_file import write_text_file
from .. import reporting
from ..metrics.uncertainty import bootstrap_interval, paired_test
from ..noise_curve import NoiseCurve, NoiseRun
from . import plots

FORMAT = 1
REPORT, PAGE = "noise.json", "noise.html"
METRICS = ("strict/f1", "strict/hits_at_1", "path/answer_recall@10")
LOSS = METRICS[0]

HEADER = ("recipe", "noise", "F1", "95 % interval", "lost", "95 % interval", "Hits@1", "recall@10", "n")


def noise_report(curves: Sequence[NoiseCurve]) -> dict[str, Any]:
    """Return the curves as plain data.

    The loss of a point is the mean F1 without noise − that with it, over the same questions, with its interval. With a
    filtered curve and one without, `loss_shares` has for each amount of noise the first loss as a share of the second,
    null where the second is not above 0.
    """
    first = curves[0].runs[0].run
    drawn = [_curve(curve) for curve in curves]
    report = {
        "format": FORMAT,
        **{part: first.provenance[part] for part in ("what", "where")},
        "num_questions": len(first.records),
        "curves": drawn,
    }
    if len(drawn) > 1:
        with_filter, without = (curve["points"][1:] for curve in drawn)
        report["loss_shares"] = {
            str(one["num"]): one["loss"]["mean"] / other["loss"]["mean"] if other["loss"]["mean"] > 0 else None
            for one, other in zip(with_filter, without, strict=True)
        }
    return report


def write_noise_report(folder: Path, report: Mapping[str, Any]) -> None:
    """Write the report as JSON and as a page, each whole or not at all."""
    write_text_file(folder / REPORT, json.dumps(report, indent=1, ensure_ascii=False))
    write_text_file(folder / PAGE, noise_page(report))


def noise_lead(report: Mapping[str, Any]) -> str:
    """Return one line on what was asked of what."""
    what = report["what"]
    shares = report.get("loss_shares", {})
    told = "; ".join(f"{num}: {share:.2f}" for num, share in shares.items() if share is not None)
    share = f"; with the filter the loss is that without times, by noise, {told}" if told else ""
    return f"{report['num_questions']:,} questions of {what['dataset']['name']}, topics {what['topics']}{share}"


def noise_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each point, as `HEADER` says."""
    for curve in report["curves"]:
        for point in curve["points"]:
            f1, hits, recall = (point["figures"][metric] for metric in METRICS)
            yield (
                curve["stages"],
                str(point["num"]),
                f"{f1['mean']:.3f}",
                _interval(f1),
                f"{point['loss']['mean']:+.3f}" if point["num"] else "",
                _interval(point["loss"]) if point["num"] else "",
                f"{hits['mean']:.3f}",
                f"{recall['mean']:.3f}",
                f"{f1['n']:,}",
            )


def noise_page(report: Mapping[str, Any]) -> str:
    """Return the report as one HTML page that needs nothing else."""
    text = resources.files(reporting).joinpath("noise.html").read_text(encoding="utf-8")
    rows = ("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in noise_rows(report))
    return Template(text).substitute(
        title=escape(f"{report['what']['dataset']['name']}: noise"),
        lead=escape(noise_lead(report)),
        header="".join(f"<th>{escape(cell)}</th>" for cell in HEADER),
        rows="\n".join(rows),
        plot=plots.noise_curves(report["curves"], LOSS),
        provenance=escape(json.dumps({"what": report["what"], "where": report["where"]}, indent=2, ensure_ascii=False)),
    )


def _curve(curve: NoiseCurve) -> dict[str, Any]:
    clean = curve.runs[0]
    return {
        "stages": curve.name,
        "is_filtered": curve.is_filtered,
        "points": [_point(clean, each) for each in curve.runs],
    }


def _point(clean: NoiseRun, noisy: NoiseRun) -> dict[str, Any]:
    seed = int(noisy.run.provenance["what"]["recipe"]["seed"])
    figures = {}
    for metric in METRICS:
        values = [record.scores[metric] for record in noisy.run.records]
        interval = bootstrap_interval(values, seed=seed)
        mean = sum(values) / len(values)
        figures[metric] = {"mean": mean, "low": interval.low, "high": interval.high, "n": len(values)}
    before, after = ([record.scores[LOSS] for record in each.run.records] for each in (clean, noisy))
    lost = paired_test(before, after, seed=seed)
    loss = {"mean": lost.difference, "low": lost.interval.low, "high": lost.interval.high, "p": lost.p_value}
    return {"num": noisy.num, "figures": figures, "loss": loss}


def _interval(figure: Mapping[str, float]) -> str:
    return f"{figure['low']:.3f} to {figure['high']:.3f}"
