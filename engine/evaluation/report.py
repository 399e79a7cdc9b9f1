"""Compute the figures of a run, write them as JSON and as a Markdown page, and compare runs.

The denominator is the number of questions asked. Metrics of gold paths are over the annotated questions;
each metric gives its n.
"""

from __future__ import annotations

import json
import resource
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import UsageError
from ..file_access import write_text_file
from . import PairedComparison, bootstrap_interval, compare_paired_scores, expected_calibration_error
from .runs import KINDS, PAGE, RECORDS, REPORT, RIGHT_F1, QuestionRecord, Run

FORMAT = 3
MAX_WRONG = 100
"""Wrong questions in a report; all are among the records."""
MAX_NAMES = 3
_TOTAL = "total"

Figure = dict[str, Any]


def make_report(run: Run, command: str = "lodestar ask") -> dict[str, Any]:
    """Return the report. `command` begins what asks a question again."""
    records = run.records
    seed = int(run.provenance["what"]["recipe"]["seed"])
    wrong = [pair for pair in zip(run.questions, records, strict=True) if not pair[1].right]
    return {
        "format": FORMAT,
        **run.provenance,
        "num_questions": len(records),
        "num_right": len(records) - len(wrong),
        "wrong": [
            {
                "id": record.id,
                "question": record.question,
                "answered": [answer.name for answer in record.answers],
                "expected": record.expected,
                "because": explain_miss(record),
                "ask": _command(command, () if run.linked else question.topic_ids, question.text),
            }
            for question, record in wrong[:MAX_WRONG]
        ],
        "misses": _misses([record for _, record in wrong]),
        "figures": _figures(records, seed),
        "calibration": _calibration(run.records),
        "abstention": _abstention(run, seed),
        "failures": [{"id": record.id, "failure": record.failure} for record in run.records if record.failure],
        "empty": [record.id for record in records if record.abstained],
        "cost": _cost(run.records),
    }


def _command(command: str, topics: Sequence[str], question: str) -> str:
    words = [word for topic in topics for word in ("--topic", topic)]
    return f"{command} {shlex.join([*words, *(['--'] if question.startswith('-') else []), question])}"


def explain_miss(record: QuestionRecord) -> str:
    if record.failure:
        return f"it failed: {record.failure}"
    if not record.expected:
        return "the right answer is none"
    if record.scores["strict/hits_at_1"] == 1:
        precision, recall = record.scores["strict/precision"], record.scores["strict/recall"]
        return f"the first answer is right, but of all given {precision:.0%} are, and {1 - recall:.0%} are missing"
    if record.miss is None:
        return "not diagnosed"
    why, place = KINDS[record.miss.kind], record.miss.place
    return why.format(place) if place is not None else why.partition(" at {}")[0]


def _misses(wrong: Sequence[QuestionRecord]) -> dict[str, Any]:
    missed = [record.miss for record in wrong if record.miss]
    kinds = Counter(miss.kind for miss in missed)
    places = {kind: Counter(str(m.place) for m in missed if m.kind == kind and m.place is not None) for kind in kinds}
    found = {
        kind: {"num": kinds[kind], "share": kinds[kind] / len(missed), "places": dict(sorted(places[kind].items()))}
        for kind in KINDS
        if kinds[kind]
    }
    return {"num": len(missed), "kinds": found}


def _mean(values: Iterable[float], seed: int) -> Figure:
    found = list(values)
    if not found:
        return {"mean": 0.0, "n": 0}
    return {"mean": float(np.mean(found)), **asdict(bootstrap_interval(found, seed=seed)), "n": len(found)}


def _figures(records: Sequence[QuestionRecord], seed: int) -> dict[str, Figure]:
    metrics = dict.fromkeys(metric for record in records for metric in record.scores)
    return {metric: _mean((r.scores[metric] for r in records if metric in r.scores), seed) for metric in metrics}


def _calibration(records: Sequence[QuestionRecord]) -> Figure | None:
    answered = [(record, c) for record in records if (c := record.shown_confidence) is not None]
    if not answered:
        return None
    right = [record.scores["strict/hits_at_1"] == 1 for record, _ in answered]
    return {"ece": expected_calibration_error([c for _, c in answered], right), "n": len(answered)}


def _abstention(run: Run, seed: int) -> dict[str, Figure]:
    """Return the precision and the recall of abstentions, over all questions; a failure is no abstention.

    Source: the no-answer scores of SQuAD 2.0 (Rajpurkar et al. 2018), as precision and recall of the class "no answer".
    """
    pairs = [
        (record.abstained, not question.answers) for question, record in zip(run.questions, run.records, strict=True)
    ]
    return {
        "precision": _mean((float(none) for abstained, none in pairs if abstained), seed),
        "recall": _mean((float(abstained) for abstained, none in pairs if none), seed),
    }


def _cost(records: Sequence[QuestionRecord]) -> dict[str, Any]:
    stages = dict.fromkeys(stage for record in records for stage in record.seconds)
    counted = [record for record in records if record.num_prompt_tokens is not None]
    tokens = {
        "prompt": sum(record.num_prompt_tokens or 0 for record in counted),
        "completion": sum(record.num_completion_tokens or 0 for record in counted),
    }
    return {
        "stages": {stage: _stage(records, stage) for stage in sorted(stages, key=lambda name: name == _TOTAL)},
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3),
        "tokens": {kind: number / len(counted) for kind, number in tokens.items()} if counted else None,
    }


def _stage(records: Sequence[QuestionRecord], stage: str) -> Figure:
    reached = [record for record in records if stage in record.seconds]
    trips = [sum(r.round_trips.values()) if stage == _TOTAL else r.round_trips.get(stage, 0) for r in reached]
    p50, p95, p99 = (float(value) for value in np.percentile([r.seconds[stage] for r in reached], [50, 95, 99]))
    return {"p50_s": p50, "p95_s": p95, "p99_s": p99, "round_trips": float(np.mean(trips)), "n": len(reached)}


def format_report(report: Mapping[str, Any], most: int = MAX_WRONG) -> str:
    """Return the report as Markdown: what was right, `most` of the wrong questions, the figures, the cost."""
    what, cost = report["what"], report["cost"]
    lines = [f"# {what['dataset']['name']}: {what['recipe']['name']}", "", f"**{format_summary(report)}**", ""]
    num_wrong = report["num_questions"] - report["num_right"]
    for number, each in enumerate(report["wrong"][:most], start=1):
        answered, expected = ("; ".join(each[names][:MAX_NAMES]) or "nothing" for names in ("answered", "expected"))
        lines += [f"{number}. {each['question']} → {answered}; right: {expected}", f"   ({each['because']})"]
        lines += [f"   `{each['ask']}`"]
    if (more := num_wrong - min(most, len(report["wrong"]))) > 0:
        lines += ["", f"And {more:,} more: see {RECORDS}."]
    lines += ["", _format_about(report), ""]
    lines += _table(("metric", "mean", "95 % interval", "n"), _figure_rows(report))
    lines += ["", *_table(("stage", "p50, ms", "p95, ms", "p99, ms", "round trips", "n"), _stage_rows(cost)), ""]
    tokens = cost["tokens"]
    spent = f"; a question has {tokens['prompt']:,.0f} + {tokens['completion']:,.0f} tokens" if tokens else ""
    return "\n".join([*lines, f"Peak memory {cost['peak_rss_mb']:,.0f} MB{spent}."])


def format_summary(report: Mapping[str, Any]) -> str:
    """Return how many questions are right, and why the others are wrong."""
    right, asked = report["num_right"], report["num_questions"]
    summary = f"{right:,} of {asked:,} right (F1 of the answers ≥ {RIGHT_F1:g})"
    if right == asked:
        return summary
    kinds = "; ".join(f"{found['num']:,} {kind}" for kind, found in report["misses"]["kinds"].items())
    are = "is wrong" if asked - right == 1 else "are wrong"
    return f"{summary}, {asked - right:,} {are}: {kinds or 'not diagnosed'}"


def _format_about(report: Mapping[str, Any]) -> str:
    """Return what was asked, in one line: sample, graph, topics and failures."""
    what = report["what"]
    sample = f", a sample of {what['dataset']['num_questions']:,}" if what["dataset"]["limit"] else ""
    failed = f"; {len(report['failures']):,} failed" if report["failures"] else ""
    return (
        f"{report['num_questions']:,} questions{sample}, over {what['graph']['num_triples']:,} triples; "
        f"topics {what['topics']}; {len(report['empty']):,} without an answer{failed}"
    )


def _figure_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    shown = dict(report["figures"])
    if calibration := report["calibration"]:
        shown["ece"] = {"mean": calibration["ece"], "n": calibration["n"]}
    shown |= {f"abstention/{name}": figure for name, figure in report["abstention"].items() if figure["n"]}
    for metric, figure in shown.items():
        interval = f"{figure['low']:.3f} to {figure['high']:.3f}" if "low" in figure else ""
        yield (metric, f"{figure['mean']:.3f}", interval, f"{figure['n']:,}")


def _stage_rows(cost: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for stage, each in cost["stages"].items():
        times = (f"{1000 * each[percentile]:,.1f}" for percentile in ("p50_s", "p95_s", "p99_s"))
        yield (stage, *times, f"{each['round_trips']:.1f}", f"{each['n']:,}")


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    cells = [header, *rows]
    widths = [max(2, *map(len, column)) for column in zip(*cells, strict=True)]
    lines = [[row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in cells]
    rule = ["-" * widths[0], *(f"{'-' * (width - 1)}:" for width in widths[1:])]
    return [f"| {' | '.join(line)} |" for line in (lines[0], rule, *lines[1:])]


def write_report(folder: Path, report: Mapping[str, Any]) -> None:
    write_text_file(folder / REPORT, json.dumps(report, indent=1, ensure_ascii=False))
    write_text_file(folder / PAGE, format_report(report) + "\n")


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
class RunComparison:
    """Run a against run b. `won` are the questions whose first answer is right only in a, `lost` only in b."""

    tests: dict[str, PairedComparison]
    won: tuple[QuestionRecord, ...]
    lost: tuple[QuestionRecord, ...]

    def as_json(self) -> dict[str, Any]:
        tests = {metric: asdict(test) for metric, test in self.tests.items()}
        return {"tests": tests, "won": [record.id for record in self.won], "lost": [record.id for record in self.lost]}

    def page(self, most: int) -> str:
        """Return the comparison as Markdown, with at most so many questions a side."""
        rows = [
            (
                metric,
                f"{test.difference:+.3f}",
                f"{test.interval.low:+.3f} to {test.interval.high:+.3f}",
                f"{test.p_value:.4f}",
                *(f"{number:,}" for number in (test.num_won, test.num_lost, test.num_tied)),
            )
            for metric, test in self.tests.items()
        ]
        lines = _table(("metric", "difference", "95 % interval", "p", "better", "worse", "same"), rows)
        for title, records in (("right in this run alone", self.won), ("right in the other alone", self.lost)):
            lines += ["", f"{title}: {len(records):,}", *(f"- {record.question}" for record in records[:most])]
        return "\n".join(lines)


def compare_runs(a: Sequence[QuestionRecord], b: Sequence[QuestionRecord], seed: int = 0) -> RunComparison:
    """Compare two runs. Raises `UsageError` unless both asked the same questions."""
    of_b = {record.id: record for record in b}
    if only := len({record.id for record in a} ^ of_b.keys()):
        raise UsageError(f"expected two runs over the same questions, found {only:,} that only one of them asked")
    if not a or any(not set(COMPARED) <= record.scores.keys() for record in (*a, *b)):
        raise UsageError("expected two runs of this version of `lodestar eval`, with questions: run them again")
    pairs = [(record, of_b[record.id]) for record in a]
    tests = {
        metric: compare_paired_scores(
            [mine.scores[metric] for mine, _ in pairs], [theirs.scores[metric] for _, theirs in pairs], seed=seed
        )
        for metric in COMPARED
    }
    hits = [(mine, mine.scores[COMPARED[0]] - theirs.scores[COMPARED[0]]) for mine, theirs in pairs]
    won, lost = (tuple(mine for mine, gain in hits if gain * sign > 0) for sign in (1, -1))
    return RunComparison(tests, won, lost)
