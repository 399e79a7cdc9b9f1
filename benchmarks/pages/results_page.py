"""The page of results: tables over the reports of many runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lodestar.engine.evaluation.report import compare_runs
from lodestar.engine.evaluation.runs import read_records

Report = dict[str, Any]

SHOWN_KINDS = ("out of reach", "pruned", "not the first", "lost by the answerer", "in part")
RUN_COLUMNS = ("questions", "n", "recipe", "Hits@1", "F1", "path any", "recall@10")
PAIRED_COLUMNS = ("questions", "difference in F1", "better", "worse")


@dataclass(frozen=True)
class Runs:
    """Folders of runs: over dev and test questions; `paper` are runs of STAR in the paper's own setting."""

    dev: Sequence[Path]
    test: Sequence[Path] = ()
    paper: Sequence[Path] = ()


def page(runs: Runs, command: str, sample: int, added: Iterable[str] = ()) -> Iterator[str]:
    """Yield the lines of the page; `command` is what writes it, `sample` the most questions of a set, `added` the lines
    of sections that other benchmarks wrote.
    """
    dev, test = read_reports(runs.dev), read_reports(runs.test)
    yield from introduction(command, sample, next(iter(dev.values()))["where"]["machine"])
    yield from section("Dev questions", RUN_COLUMNS, map(run_row, dev.values()))
    yield from section("Test questions", RUN_COLUMNS, map(run_row, test.values()))
    rows = (row for reports in (dev, test) for row in paired_rows(reports, "star", "similarity"))
    yield from section("`star` over `similarity`, question by question", PAIRED_COLUMNS, rows)
    rows = (row for report in dev.values() for row in misses_rows(report))
    about = "Share of the wrong answers; [Evaluation](evaluation.md#why-answers-are-wrong) says what the kinds mean."
    yield from section("Why answers are wrong", ("questions", "recipe", "wrong", *SHOWN_KINDS), rows, about)
    about = (
        "A checkpoint of `lodestar train star --set mix=1`: the cross-attentive scorer alone orders paths. "
        "*star-cross*: it scores every candidate of each hop, too (`star.guide=cross`). *star-dual*: the dual encoder "
        "does."
    )
    yield from section(
        "STAR in the paper's own setting", RUN_COLUMNS, map(run_row, read_reports(runs.paper).values()), about
    )
    yield from added
    datasets = (report for report in (*dev.values(), *test.values()) if recipe_of(report) == "similarity")
    yield from section("Data", ("questions", "sha256", "in the file", "triples"), map(data_row, datasets))


def introduction(command: str, sample: int, machine: Mapping[str, Any]) -> Iterator[str]:
    """Yield the title, and what holds for all tables."""
    yield "# Results\n"
    yield f"Written by `{command}`."
    yield (
        f"Topics are given unless a table has others, seed 0, at most {sample:,} questions a set. Figures are means "
        "over all questions, with 95 % bootstrap intervals; [Evaluation](evaluation.md) defines them. *path any*: an "
        "end of the first path is an answer. PathQuestion (pq, pql) is asked with `return_to_topic`. `star` is a "
        "checkpoint for each graph ([Train your own scorer](training.md)): on PathQuestion the dual encoder alone, "
        "elsewhere with the cross-attentive scorer."
    )
    yield f"Machine: {machine['num_cores']} cores ({machine['processor']}), GPU: {machine['gpu'] or 'none'}."


def read_reports(folders: Sequence[Path]) -> dict[Path, Report]:
    """Return the reports of runs, by folder."""
    return {folder: read_report(folder) for folder in folders}


def read_report(folder: Path) -> Report:
    """Return the report of a run."""
    report: Report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return report


def section(title: str, columns: Sequence[str], rows: Iterable[str], about: str = "") -> Iterator[str]:
    """Yield a heading with its table; nothing where there are no rows."""
    found = list(rows)
    if found:
        yield f"\n## {title}\n"
        if about:
            yield f"{about}\n"
        yield f"| {' | '.join(columns)} |"
        yield "|" + " --- |" * len(columns)
        yield from found


def recipe_of(report: Report) -> str:
    """Return the name of a run's recipe."""
    return str(report["what"]["recipe"]["name"])


def run_row(report: Report) -> str:
    """Return the row of a run."""
    figures = report["figures"]
    f1 = figures["strict/f1"]
    cells = (
        report["what"]["dataset"]["name"],
        f"{report['num_questions']:,}",
        recipe_of(report),
        f"{figures['strict/hits_at_1']['mean']:.3f}",
        f"{f1['mean']:.3f} [{f1['low']:.3f},{f1['high']:.3f}]",
        f"{figures['path/hits_at_1_any']['mean']:.3f}",
        f"{figures['path/answer_recall@10']['mean']:.3f}",
    )
    return f"| {' | '.join(cells)} |"


def paired_rows(reports: Mapping[Path, Report], better: str, worse: str) -> Iterator[str]:
    """Yield a row for each question set that both recipes were asked."""
    for folder, report in reports.items():
        other = folder.with_name(folder.name.removesuffix(better) + worse)
        if recipe_of(report) != better or other not in reports:
            continue
        test = compare_runs(read_records(str(folder)), read_records(str(other))).tests["strict/f1"]
        yield (
            f"| {report['what']['dataset']['name']} | {test.difference:+.3f} [{test.interval.low:+.3f},"
            f"{test.interval.high:+.3f}] | {test.num_won:,} | {test.num_lost:,} |"
        )


def misses_rows(report: Report) -> Iterator[str]:
    """Yield the row of a run with wrong answers."""
    misses = report["misses"]
    if misses["num"]:
        cells = [f"{misses['kinds'].get(kind, {'share': 0})['share']:.3f}" for kind in SHOWN_KINDS]
        name = report["what"]["dataset"]["name"]
        yield f"| {name} | {recipe_of(report)} | {misses['num']:,} | {' | '.join(cells)} |"


def data_row(report: Report) -> str:
    """Return the row of a question set."""
    dataset, graph = report["what"]["dataset"], report["what"]["graph"]
    return (
        f"| {dataset['name']} | `{dataset['sha256'][:12]}` | {dataset['num_questions']:,} | {graph['num_triples']:,} |"
    )
