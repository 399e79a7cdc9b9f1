"""Compute the figures of a run, write them as JSON and as a page, and compare runs.

The denominator is the number of questions asked. Metrics of gold paths and triples are over the annotated questions;
each metric gives its n. Questions with excluded relations only count for calibration, abstention and risk.
"""

from __future__ import annotations

import json
import resource
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from html import escape
from itertools import compress
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from ...models.message_text import one_line
from ..errors import InputError, UsageError
from ..gold_questions import GoldQuestion
from ..whole_file import parse_json, read_text, write_text_file
from .diagnosis import KINDS
from .runs import PAGE, RECORDS, REPORT, RIGHT_F1, Record, RecordWriter, Run
from .statistics import (
    PairedComparison,
    abstention_scores,
    bootstrap_interval,
    compare_pairs,
    expected_calibration_error,
    false_answers,
)

FORMAT = 2
MAX_REPORT_BYTES = 1 << 28
MAX_WRONG = 100
"""Wrong questions in a report; all are among the records."""
_TOTAL = "total"

Figure = dict[str, Any]


def make_report(run: Run) -> dict[str, Any]:
    """Return the report."""
    asked = [pair for pair in zip(run.questions, run.records, strict=True) if not pair[0].excluded_relations]
    questions, records = [question for question, _ in asked], [record for _, record in asked]
    seed = int(run.provenance["what"]["recipe"]["seed"])
    unanswerable = [not question.answers for question in run.questions]
    wrong = [record for record in records if not record.right]
    return {
        "format": FORMAT,
        **run.provenance,
        "num_questions": len(records),
        "num_right": len(records) - len(wrong),
        "num_without_relations": len(run.records) - len(records),
        "wrong": [
            {
                "id": record.id,
                "question": record.question,
                "answered": [answer.name for answer in record.answers],
                "expected": record.expected,
                "because": because(record),
            }
            for record in wrong[:MAX_WRONG]
        ],
        "misses": _misses(wrong),
        "figures": _figures(records, seed),
        "calibration": _calibration(run.records),
        "abstention": _abstention(run.records, unanswerable, seed),
        "false_answers": _false_answers(run.records, unanswerable, seed),
        "by_hops": _by_hops(records, questions, seed),
        "failures": [{"id": record.id, "failure": record.failure} for record in run.records if record.failure],
        "empty": [record.id for record in records if record.abstained],
        "cost": _cost(run.records),
    }


_BECAUSE = {
    "not linked": "no entity of the question was found",
    "not in the graph": "no right answer is in the graph",
    "out of reach": "no path of the allowed hops leads to a right answer",
    "pruned": "the search dropped the right path{place}",
    "not the first": "the right path came back{place}",
    "lost by the answerer": "the first path leads to a right answer, and another was given",
}
_PLACE = {"pruned": " at hop {}", "not the first": " at rank {}"}


def because(record: Record) -> str:
    """Return why a question is answered wrongly, in a few words."""
    if record.failure:
        return f"it failed: {record.failure}"
    if not record.expected:
        return "the right answer is none"
    if record.scores["strict/hits_at_1"] == 1:
        precision, recall = record.scores["strict/precision"], record.scores["strict/recall"]
        return f"the first answer is right, but of all given {precision:.0%} are, and {1 - recall:.0%} are missing"
    if record.miss is None:
        return "not diagnosed"
    place = _PLACE.get(record.miss.kind, "").format(record.miss.place) if record.miss.place is not None else ""
    return _BECAUSE[record.miss.kind].format(place=place)


def _figures(records: Sequence[Record], seed: int) -> dict[str, Figure]:
    metrics = dict.fromkeys(metric for record in records for metric in record.scores)
    return {metric: _mean([r.scores[metric] for r in records if metric in r.scores], seed) for metric in metrics}


def _mean(values: Sequence[float], seed: int) -> Figure:
    return {"mean": float(np.mean(values)), **asdict(bootstrap_interval(values, seed=seed)), "n": len(values)}


def _abstention(records: Sequence[Record], unanswerable: Sequence[bool], seed: int) -> Figure:
    abstained = [record.abstained for record in records]
    found: Figure = asdict(abstention_scores(abstained, unanswerable))
    for name, among, counted in (("precision", abstained, unanswerable), ("recall", unanswerable, abstained)):
        if any(among):
            found[f"{name}_interval"] = _mean(list(map(float, compress(counted, among))), seed)
    return found


def _calibration(records: Sequence[Record]) -> Figure | None:
    """Return the calibration of the answers' confidences; None if no answer has one."""
    answered = [(record, c) for record in records if (c := record.shown_confidence) is not None]
    if not answered:
        return None
    right = [record.scores["strict/hits_at_1"] == 1 for record, _ in answered]
    return {"ece": expected_calibration_error([c for _, c in answered], right), "n": len(answered)}


def _false_answers(records: Sequence[Record], unanswerable: Sequence[bool], seed: int) -> Figure | None:
    """Return the false answers; None without any. Answers without a confidence are left out with their questions."""
    placed = [not record.answers or record.shown_confidence is not None for record in records]
    records, unanswerable = list(compress(records, placed)), list(compress(unanswerable, placed))
    confidences = [record.shown_confidence for record in records]
    right = [record.scores["strict/hits_at_1"] == 1 for record in records]
    kept = false_answers(confidences, right, unanswerable)
    if kept is None:
        return None
    values = [float(c is not None and c >= kept.threshold) for c in compress(confidences, unanswerable)]
    return {**asdict(kept), **_mean(values, seed)}


def _by_hops(records: Sequence[Record], questions: Sequence[GoldQuestion], seed: int) -> dict[str, Figure]:
    hops = sorted({question.num_hops for question in questions if question.num_hops is not None})
    return {
        str(number): {
            metric: _mean(
                [r.scores[metric] for r, q in zip(records, questions, strict=True) if q.num_hops == number], seed
            )
            for metric in ("strict/hits_at_1", "path/hits_at_1_any")
        }
        for number in hops
    }


def _misses(wrong: Sequence[Record]) -> dict[str, Any]:
    """Return the kinds of misses with their shares, which sum to 1, and their places in the search."""
    missed = [record.miss for record in wrong if record.miss]
    kinds = Counter(miss.kind for miss in missed)
    return {
        "num": len(missed),
        "kinds": {
            kind: {
                "num": kinds[kind],
                "share": kinds[kind] / len(missed),
                "places": dict(
                    sorted(Counter(str(m.place) for m in missed if m.kind == kind and m.place is not None).items())
                ),
            }
            for kind in KINDS
            if kinds[kind]
        },
    }


def _cost(records: Sequence[Record]) -> dict[str, Any]:
    stages = dict.fromkeys(stage for record in records for stage in record.seconds)
    counted = [record for record in records if record.num_prompt_tokens is not None]
    tokens = {
        "prompt": sum(record.num_prompt_tokens or 0 for record in counted),
        "completion": sum(record.num_completion_tokens or 0 for record in counted),
    }
    torch = sys.modules.get("torch")  # what was not imported used none
    return {
        "stages": {stage: _stage(records, stage) for stage in sorted(stages, key=lambda name: name == _TOTAL)},
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3),
        "gpu_mb": torch.cuda.max_memory_allocated() / 1e6 if torch and torch.cuda.is_available() else None,
        "tokens": {kind: number / len(counted) for kind, number in tokens.items()} if counted else None,
    }


def _stage(records: Sequence[Record], stage: str) -> Figure:
    """Return percentiles of the seconds of this stage over the questions that reached it, and its mean round trips."""
    reached = [record for record in records if stage in record.seconds]
    trips = [sum(r.round_trips.values()) if stage == _TOTAL else r.round_trips.get(stage, 0) for r in reached]
    p50, p95, p99 = (float(value) for value in np.percentile([r.seconds[stage] for r in reached], [50, 95, 99]))
    return {"p50_s": p50, "p95_s": p95, "p99_s": p99, "round_trips": float(np.mean(trips)), "n": len(reached)}


def write_report(folder: Path, report: Mapping[str, Any]) -> None:
    """Write the report as JSON and as a page, atomically."""
    for name, text in ((REPORT, json.dumps(report, indent=1, ensure_ascii=False)), (PAGE, report_page(report))):
        write_text_file(folder / name, text)


def read_report(path: str) -> dict[str, Any]:
    """Return a report by its file or its folder. Raises `InputError` if it is none."""
    file = _file(path, REPORT)
    if not file.exists():
        raise InputError(f"{file}: there is no report: `lodestar eval` writes one")
    with translate_report_errors(path):
        report: dict[str, Any] = parse_json(read_text(file, "the report", MAX_REPORT_BYTES))
        if report["format"] != FORMAT:
            found = one_line(repr(report["format"]), 40)
            raise InputError(f"{file}: expected a report of format {FORMAT}, found {found}: run it again")
        _ = report["what"]["recipe"], report["what"]["dataset"]["name"], report["figures"].items()
    return report


@contextmanager
def translate_report_errors(path: str) -> Iterator[None]:
    """Raise `InputError` if the block fails because a report is not as `lodestar eval` writes it."""
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
        raise InputError(f"{file}: there are no records: `lodestar eval` writes them")
    return RecordWriter(file).read()


def _file(path: str, name: str) -> Path:
    given = Path(path)
    if not given.exists():
        raise InputError(
            f"{path}: expected the folder or the report of a run, found nothing: `lodestar eval` writes one"
        )
    return given / name if given.is_dir() else given.with_name(name)


def format_summary(report: Mapping[str, Any]) -> str:
    """Return how many questions are right, and why the others are wrong."""
    right, asked = report["num_right"], report["num_questions"]
    summary = f"{right:,} of {asked:,} right (F1 of the answers ≥ {RIGHT_F1:g})"
    if right == asked:
        return summary
    kinds = "; ".join(f"{found['num']:,} {kind}" for kind, found in report["misses"]["kinds"].items())
    are = "is wrong" if asked - right == 1 else "are wrong"
    return f"{summary}, {asked - right:,} {are}: {kinds or 'not diagnosed'}"


def format_about(report: Mapping[str, Any]) -> str:
    """Return what was asked, in one line: sample, graph, topics and failures."""
    what = report["what"]
    sample = f", a sample of {what['dataset']['num_questions']:,}" if what["dataset"]["limit"] else ""
    failed = f"; {len(report['failures']):,} failed" if report["failures"] else ""
    again = report["num_without_relations"]
    failed += f"; {again:,} of them repeated with their relations excluded" if again else ""
    return (
        f"{report['num_questions']:,} questions{sample}, over {what['graph']['num_triples']:,} triples; "
        f"topics {what['topics']}; {len(report['empty']):,} without an answer{failed}"
    )


_FIRST = (
    "strict/hits_at_1",
    "strict/f1",
    "strict/precision",
    "strict/recall",
    "rog/hits_at_1",
    "rog/hit",
    "rog/f1",
    "path/hits_at_1_any",
    "path/hits_at_1_expected",
)
"""The first metrics in a table; all others follow in the order of the report."""


def figure_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield metric, mean, interval and n."""
    figures = report["figures"]
    for metric in [*(m for m in _FIRST if m in figures), *(m for m in figures if m not in _FIRST)]:
        yield _row(metric, figures[metric])
    for hops, by_metric in report["by_hops"].items():
        for metric, figure in by_metric.items():
            yield _row(f"{metric}, hops {hops}", figure)
    if calibration := report["calibration"]:
        yield _row("ece", {**calibration, "mean": calibration["ece"]})
    if kept := report["false_answers"]:
        yield _row(f"false answers@{kept['kept']:.0%} of right ones", kept)
    abstention = report["abstention"]
    for name, of in (("precision", "num_abstained"), ("recall", "num_unanswerable")):
        figure = {"mean": abstention[name], "n": abstention[of], **abstention.get(f"{name}_interval", {})}
        yield _row(f"abstention/{name}", figure)


def _row(metric: str, figure: Mapping[str, Any]) -> tuple[str, str, str, str]:
    interval = f"{figure['low']:.3f} to {figure['high']:.3f}" if "low" in figure else ""
    return (metric, f"{figure['mean']:.3f}", interval, f"{figure['n']:,}")


def stage_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield stage, milliseconds at three percentiles, round trips a question, and n."""
    for stage, cost in report["cost"]["stages"].items():
        times = (f"{1000 * cost[percentile]:,.1f}" for percentile in ("p50_s", "p95_s", "p99_s"))
        yield (stage, *times, f"{cost['round_trips']:.1f}", f"{cost['n']:,}")


def cost_line(report: Mapping[str, Any]) -> str:
    """Return memory and tokens in one line."""
    cost = report["cost"]
    parts = [f"peak memory {cost['peak_rss_mb']:,.0f} MB"]
    if cost["gpu_mb"] is not None:
        parts.append(f"GPU memory {cost['gpu_mb']:,.0f} MB")
    if tokens := cost["tokens"]:
        parts.append(
            f"{tokens['prompt']:,.0f} tokens of prompt and {tokens['completion']:,.0f} of completion a question"
        )
    return "; ".join(parts)


def wrong_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield question, what was answered, what would be right, and why it is wrong."""
    for each in report["wrong"]:
        answered, expected = ("; ".join(each[names][:3]) or "nothing" for names in ("answered", "expected"))
        yield (each["question"], answered, expected, each["because"])


def report_page(report: Mapping[str, Any]) -> str:
    """Return the report as one self-contained HTML page."""
    template = Template(Path(__file__).with_name("report.html").read_text(encoding="utf-8"))
    more = report["num_questions"] - report["num_right"] - len(report["wrong"])
    depends_on = {"what": report["what"], "where": report["where"]}
    return template.substitute(
        title=escape(f"{report['what']['dataset']['name']}: {report['what']['recipe']['name']}"),
        summary=escape(format_summary(report)),
        about=escape(format_about(report)),
        wrong=_html_rows(wrong_rows(report)),
        more=f"And {more:,} more: see records.jsonl." if more > 0 else "",
        figures=_html_rows(figure_rows(report)),
        stages=_html_rows(stage_rows(report)),
        cost=escape(cost_line(report)),
        provenance=escape(json.dumps(depends_on, indent=2, ensure_ascii=False)),
    )


def _html_rows(rows: Iterable[Iterable[str]]) -> str:
    return "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)


RESULTS = (
    ("strict/hits_at_1", "Hits@1"),
    ("strict/f1", "F1"),
    ("rog/f1", "F1 (rog)"),
    ("path/hits_at_1_any", "path any"),
    ("path/hits_at_1_expected", "path expected"),
    ("path/answer_recall@10", "recall@10"),
)
"""The columns of a table of runs."""


def results_table(reports: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a Markdown table with one run per row: means with 95 % intervals.

    A recipe whose topics the engine linked is marked.
    """
    yield "| questions | n | recipe | " + " | ".join(title for _, title in RESULTS) + " |"
    yield "|" + " --- |" * (len(RESULTS) + 3)
    for report in reports:
        what, figures = report["what"], [report["figures"][metric] for metric, _ in RESULTS]
        yield (
            f"| {what['dataset']['name']} | {report['num_questions']:,} "
            f"| {_recipe(what['recipe'])}{', linked' if what['topics'] == 'linked' else ''} | "
            + " | ".join(f"{figure['mean']:.3f} [{figure['low']:.3f}, {figure['high']:.3f}]" for figure in figures)
            + " |"
        )


def _recipe(recipe: Mapping[str, Any]) -> str:
    hops = [options["max_hop"] for options in recipe.values() if isinstance(options, dict) and "max_hop" in options]
    return f"{recipe['name']}, {max(hops)} hops" if hops else str(recipe["name"])


COMPARED = (
    "strict/hits_at_1",
    "strict/f1",
    "rog/f1",
    "path/hits_at_1_any",
    "path/hits_at_1_expected",
    "path/answer_recall@10",
    "mrr",
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Run a against run b. `won` are the questions whose first answer is right only in a, `lost` only in b."""

    tests: dict[str, PairedComparison]
    won: tuple[Record, ...]
    lost: tuple[Record, ...]
    num_questions: int


def compare_runs(a: Sequence[Record], b: Sequence[Record], seed: int = 0) -> Comparison:
    """Compare two runs. Raises `UsageError` unless both asked the same questions.

    Questions with excluded relations are left out.
    """
    a, b = ([record for record in run if not record.excluded_relations] for run in (a, b))
    of_b = {record.id: record for record in b}
    if {record.id for record in a} != set(of_b):
        only = len({record.id for record in a} ^ set(of_b))
        raise UsageError(f"expected two runs over the same questions, found {only:,} that only one of them asked")
    pairs = [(record, of_b[record.id]) for record in a]
    if not pairs:
        raise UsageError("expected two runs with questions, found none")
    if any(not set(COMPARED) <= record.scores.keys() for record in (*a, *b)):
        raise UsageError(f"expected the figures {', '.join(COMPARED)} of every question: run it again")
    tests = {
        metric: compare_pairs(
            [mine.scores[metric] for mine, _ in pairs], [theirs.scores[metric] for _, theirs in pairs], seed=seed
        )
        for metric in COMPARED
    }
    hits = [(mine, theirs, mine.scores[COMPARED[0]] - theirs.scores[COMPARED[0]]) for mine, theirs in pairs]
    return Comparison(
        tests,
        tuple(mine for mine, _, difference in hits if difference > 0),
        tuple(theirs for _, theirs, difference in hits if difference < 0),
        len(pairs),
    )
