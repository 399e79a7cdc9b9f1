"""Measure how much accuracy noise in the evidence costs, with and without a filter."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from ..gold_questions import QuestionSet
from ..neo4j.instance import make_connection
from ..recipes.part import JoinExpression, NamedPart, Node
from ..recipes.recipe import Recipe
from ..recipes.reorganising import FI
from ..resources import Resources
from ..settings import Settings
from ..whole_file import write_text_file
from . import page as plots
from .baselines import Noise
from .metrics.uncertainty import bootstrap_interval, compare_pairs
from .runs import Run, RunOptions, ask_remaining_questions

NOISE = "noise"

Progress = Callable[[str, int, int], None]
"""Called with the name of a run, the number of finished questions and the total."""


@dataclass(frozen=True, slots=True)
class NoiseRun:
    """A run with `num` noise items in each question's evidence."""

    num: int
    run: Run


@dataclass(frozen=True, slots=True)
class NoiseCurve:
    """The runs of one recipe by amount of noise, the first without noise."""

    name: str
    is_filtered: bool
    runs: tuple[NoiseRun, ...]


def run_noise_curves(
    questions: QuestionSet,
    recipe: Recipe,
    nums: Sequence[int],
    settings: Settings,
    options: RunOptions,
    progress: Progress = lambda _name, _done, _total: None,
) -> list[NoiseCurve]:
    """Run every question without noise and with each amount of `nums`; if the recipe has a filter, also without it.

    Each run has its own folder inside that of the options, and continues after an interruption.
    """
    resources = Resources(settings, make_connection(settings))

    def run_variant(variant: Recipe, folder: str, num: int) -> Run:
        name = f"{folder}-{num}"
        own = replace(options, folder=options.folder / name)
        shown = partial(progress, name)
        return ask_remaining_questions(questions, add_noise(variant, num), settings, own, shown, resources)

    return [
        NoiseCurve(
            str(variant.stages),
            is_filtered,
            tuple(NoiseRun(num, run_variant(variant, folder, num)) for num in (0, *nums)),
        )
        for variant, folder, is_filtered in _variants(recipe)
    ]


def add_noise(recipe: Recipe, num: int) -> Recipe:
    """Return the recipe with noise before its first filter, or at its end if it has none.

    An existing part `noise` stays at its place, with its seed.
    """
    there = next((name for name, part in recipe.parts.items() if isinstance(part, Noise)), None)
    data = recipe.as_json()
    if there is None:
        filters = _filters(recipe)
        names = list(_after(recipe.stages))
        first = next((place for place, name in enumerate(names) if name in filters), len(names))
        data["stages"] = str(_line(recipe.stages, [*names[:first], NOISE, *names[first:]]))
        data[NOISE] = {"num": num}
    else:
        data[there]["num"] = num
    return Recipe.of(data, allow_parts=True)  # the recipe is already loaded


def remove_filters(recipe: Recipe) -> Recipe:
    """Return the recipe without its filters."""
    filters = _filters(recipe)
    data = recipe.as_json()
    data["stages"] = str(_line(recipe.stages, [name for name in _after(recipe.stages) if name not in filters]))
    return Recipe.of({key: value for key, value in data.items() if key not in filters}, allow_parts=True)


def _variants(recipe: Recipe) -> Iterator[tuple[Recipe, str, bool]]:
    is_filtered = bool(_filters(recipe))
    yield recipe, "filtered" if is_filtered else "plain", is_filtered
    if is_filtered:
        yield remove_filters(recipe), "plain", False


def _filters(recipe: Recipe) -> list[str]:
    """Return the names of the filters that all evidence of a recipe passes."""
    return [name for name in _after(recipe.stages) if isinstance(recipe.parts[name], FI)]


def _after(node: Node) -> Iterator[str]:
    """Yield the names of the parts that all evidence passes, in order."""
    if isinstance(node, JoinExpression) and node.sign == "+":
        yield from _after(node.left)
        yield from _leaves(node.right)


def _leaves(node: Node) -> Iterator[str]:
    if isinstance(node, NamedPart):
        yield node.name
    else:
        yield from _leaves(node.left)
        yield from _leaves(node.right)


def _line(node: Node, names: Sequence[str]) -> Node:
    """Return the retriever of an expression, followed by these parts."""
    while isinstance(node, JoinExpression) and node.sign == "+":
        node = node.left
    for name in names:
        node = JoinExpression("+", node, NamedPart(name))
    return node


FORMAT = 1
REPORT, PAGE = "noise.json", "noise.html"
METRICS = ("strict/f1", "strict/hits_at_1", "path/answer_recall@10")
LOSS = METRICS[0]

HEADER = ("recipe", "noise", "F1", "95 % interval", "lost", "95 % interval", "Hits@1", "recall@10", "n")


def noise_report(curves: Sequence[NoiseCurve]) -> dict[str, Any]:
    """Return the curves as plain data.

    The loss of a point is the mean F1 without noise − that with noise, over the same questions, with its interval. With
    a filtered and an unfiltered curve, `loss_shares` has for each amount of noise the first loss as a share of the
    second, null if the second is not above 0.
    """
    first = curves[0].runs[0].run
    curve_data = [_curve(curve) for curve in curves]
    report = {
        "format": FORMAT,
        **{part: first.provenance[part] for part in ("what", "where")},
        "num_questions": len(first.records),
        "curves": curve_data,
    }
    if len(curve_data) > 1:
        with_filter, without = (curve["points"][1:] for curve in curve_data)
        report["loss_shares"] = {
            str(one["num"]): one["loss"]["mean"] / other["loss"]["mean"] if other["loss"]["mean"] > 0 else None
            for one, other in zip(with_filter, without, strict=True)
        }
    return report


def write_noise_report(folder: Path, report: Mapping[str, Any]) -> None:
    """Write the report as JSON and as a page, each whole or not at all."""
    write_text_file(folder / REPORT, json.dumps(report, indent=1, ensure_ascii=False))
    write_text_file(folder / PAGE, noise_page(report))


def format_noise_heading(report: Mapping[str, Any]) -> str:
    """Return the first line of the report: questions, topics and loss shares."""
    what = report["what"]
    shares = report.get("loss_shares", {})
    parts = "; ".join(f"{num}: {share:.2f}" for num, share in shares.items() if share is not None)
    share = f"; share of the unfiltered loss that remains with the filter, by noise: {parts}" if parts else ""
    return f"{report['num_questions']:,} questions of {what['dataset']['name']}, topics {what['topics']}{share}"


def noise_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each point, with the columns of `HEADER`."""
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
    """Return the report as one self-contained HTML page."""
    rows = ("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in noise_rows(report))
    return plots.fill_page(
        "noise",
        report,
        title=f"{report['what']['dataset']['name']}: noise",
        lead=format_noise_heading(report),
        header="".join(f"<th>{escape(cell)}</th>" for cell in HEADER),
        rows="\n".join(rows),
        plot=plots.draw_noise_curves(report["curves"], LOSS),
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
    lost = compare_pairs(before, after, seed=seed)
    loss = {"mean": lost.difference, "low": lost.interval.low, "high": lost.interval.high, "p": lost.p_value}
    return {"num": noisy.num, "figures": figures, "loss": loss}


def _interval(figure: Mapping[str, float]) -> str:
    return f"{figure['low']:.3f} to {figure['high']:.3f}"
