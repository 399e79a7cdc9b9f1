"""Compute the metrics of a run and write its report.

The denominator is the number of questions asked. Metrics of gold paths and triples are over the annotated questions;
each metric gives its n. Questions with excluded relations only count for calibration, abstention and risk.
"""

from __future__ import annotations

import json
import resource
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...models.message_text import one_line
from ..errors import InputError
from ..gold_questions import GoldQuestion
from ..whole_file import parse_json, read_text, write_text_file
from .diagnosis import KINDS
from .metrics.answers import AnswerCounts, micro_f1
from .metrics.confidence import (
    RiskCoverage,
    abstention_scores,
    expected_calibration_error,
    false_answers,
    reliability,
    risk_coverage,
)
from .metrics.uncertainty import (
    bootstrap_interval,
    bootstrap_ratio_interval,
    bootstrap_statistic_interval,
    macro_by,
    means_by,
)
from .page import report_page
from .record import Record, RecordWriter
from .runs import Run

FORMAT = 1
SAMPLES = 500
"""Bootstrap samples for statistics that are slower than a mean."""
COVERAGES = (0.5, 0.8)
CURVE_POINTS = 200
_TOTAL = "total"

Figure = dict[str, Any]


def make_report(run: Run) -> dict[str, Any]:
    """Return the report."""
    asked = [pair for pair in zip(run.questions, run.records, strict=True) if not pair[0].excluded_relations]
    questions, records = [question for question, _ in asked], [record for _, record in asked]
    topics = [topic_cluster(question) for question in questions]
    seed = int(run.provenance["what"]["recipe"]["seed"])
    unanswerable = [not question.answers for question in run.questions]
    return {
        "format": FORMAT,
        **run.provenance,
        "num_questions": len(records),
        "num_without_relations": len(run.records) - len(records),
        "num_topics": len(set(topics)),
        "figures": _figures(records, topics, seed),
        "rog": _rog(records, seed),
        "calibration": _calibration(run.records, seed),
        "abstention": _abstention(run.records, unanswerable, seed),
        "selective": _selective(run.records, unanswerable, seed),
        "by_hops": _by_hops(records, questions, seed),
        "misses": _misses(records),
        "failures": [{"id": record.id, "failure": record.failure} for record in run.records if record.failure],
        "empty": [record.id for record in records if record.abstained],
        "cost": _cost(run.records),
    }


def topic_cluster(question: GoldQuestion) -> tuple[str, ...]:
    """Return the cluster of a question: its topic entities in any order, else the question itself."""
    return tuple(sorted(question.topic_ids or question.topic_names)) or (question.id,)


def _figures(records: Sequence[Record], topics: Sequence[tuple[str, ...]], seed: int) -> dict[str, Figure]:
    metrics = dict.fromkeys(metric for record in records for metric in record.scores)
    found: dict[str, Figure] = {}
    for metric in metrics:
        having = [(r.scores[metric], topic) for r, topic in zip(records, topics, strict=True) if metric in r.scores]
        values, groups = [value for value, _ in having], [topic for _, topic in having]
        by_topic = list(means_by(values, groups).values())
        found[metric] = {
            **_interval(values, seed),
            "by_topic": {**_interval(by_topic, seed), "mean": macro_by(values, groups)},
        }
    counts = [AnswerCounts(*record.counted) for record in records]
    if counts:
        rights = [2.0 * count.num_right for count in counts]
        totals = [float(count.num_predicted + count.num_gold) for count in counts]
        interval = bootstrap_ratio_interval(rights, totals, seed=seed) if any(totals) else None
        found["strict/micro_f1"] = {
            "mean": micro_f1(counts),
            "n": len(counts),
            **({"low": interval.low, "high": interval.high} if interval else {}),
        }
    return found


def _interval(values: Sequence[float], seed: int) -> Figure:
    interval = bootstrap_interval(values, seed=seed)
    return {"mean": float(np.mean(values)), "low": interval.low, "high": interval.high, "n": len(values)}


def _rog(records: Sequence[Record], seed: int) -> Figure:
    """Return how often the substring rule exceeded 1, and its difference from strict scoring."""
    return {
        "num_exceeded": sum(record.rog_exceeded for record in records),
        "minus_strict": {
            name: _interval([r.scores[f"rog/{name}"] - r.scores[f"strict/{name}"] for r in records], seed)
            for name in ("hits_at_1", "hit", "f1")
        },
    }


def _abstention(records: Sequence[Record], unanswerable: Sequence[bool], seed: int) -> Figure:
    abstained = [record.abstained for record in records]
    right = [float(a and u) for a, u in zip(abstained, unanswerable, strict=True)]
    found: Figure = asdict(abstention_scores(abstained, unanswerable))
    for name, totals in (("precision", abstained), ("recall", unanswerable)):
        if any(totals):
            found[f"{name}_interval"] = asdict(bootstrap_ratio_interval(right, list(map(float, totals)), seed=seed))
    return found


def _calibration(records: Sequence[Record], seed: int) -> Figure | None:
    """Return the calibration of the answers' confidences; None if no answer has one."""
    answered = [record for record in records if record.shown_confidence is not None]
    if not answered:
        return None
    confidences = np.array([record.shown_confidence for record in answered], dtype=np.float64)
    right = np.array([record.scores["strict/hits_at_1"] == 1 for record in answered])
    interval = bootstrap_statistic_interval(
        lambda chosen: expected_calibration_error(confidences[chosen], right[chosen]),
        len(answered),
        num_samples=SAMPLES,
        seed=seed,
    )
    return {
        "ece": expected_calibration_error(confidences, right),
        "low": interval.low,
        "high": interval.high,
        "n": len(answered),
        "bins": [asdict(each) for each in reliability(confidences, right)],
    }


def _selective(records: Sequence[Record], unanswerable: Sequence[bool], seed: int) -> Figure | None:
    """Return risk and coverage over all questions; None without any.

    Answers without a confidence cannot be ordered and are left out with their questions.
    """
    placed = [not record.answers or record.shown_confidence is not None for record in records]
    records, unanswerable = list(compress(records, placed)), list(compress(unanswerable, placed))
    if not records or (not all(placed) and not any(record.answers for record in records)):
        return None
    confidences = [record.shown_confidence for record in records]
    right = [record.scores["strict/hits_at_1"] == 1 for record in records]
    curve = risk_coverage(confidences, right)

    def area(chosen: NDArray[np.int64]) -> float:
        return risk_coverage([confidences[i] for i in chosen], [right[i] for i in chosen]).area

    interval = bootstrap_statistic_interval(area, len(records), num_samples=SAMPLES, seed=seed)
    found: Figure = {
        "aurc": curve.area,
        "low": interval.low,
        "high": interval.high,
        "n": len(records),
        "num_unanswerable": sum(unanswerable),
        "risk_at": {str(coverage): curve.risk_at(coverage) for coverage in COVERAGES},
        "curve": _points(curve),
        "false_answers": None,
    }
    if kept := false_answers(confidences, right, unanswerable):
        values = [
            float(c is not None and c >= kept.threshold) for c, u in zip(confidences, unanswerable, strict=True) if u
        ]
        found["false_answers"] = {**asdict(kept), **_interval(values, seed)}
    return found


def _points(curve: RiskCoverage) -> list[dict[str, float]]:
    """Return the curve; of a long one `CURVE_POINTS` points at equal distances, including the last."""
    chosen = np.unique(np.linspace(0, len(curve.coverage) - 1, min(CURVE_POINTS, len(curve.coverage))).round())
    return [
        {
            "confidence": float(curve.confidence[i]),
            "coverage": float(curve.coverage[i]),
            "risk": float(curve.risk[i]),
        }
        for i in chosen.astype(np.int64)
    ]


def _by_hops(records: Sequence[Record], questions: Sequence[GoldQuestion], seed: int) -> dict[str, Figure]:
    hops = sorted({question.num_hops for question in questions if question.num_hops is not None})
    return {
        str(number): {
            metric: _interval(
                [r.scores[metric] for r, q in zip(records, questions, strict=True) if q.num_hops == number], seed
            )
            for metric in ("strict/hits_at_1", "path/hits_at_1_any")
        }
        for number in hops
    }


def _misses(records: Sequence[Record]) -> dict[str, Any]:
    """Return the kinds of misses with their shares, which sum to 1, and their places in the search."""
    missed = [record.miss for record in records if record.miss]
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
    return {
        "stages": {stage: _stage(records, stage) for stage in sorted(stages, key=lambda name: name == _TOTAL)},
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3),
        "gpu_mb": _gpu_mb(),
        "tokens": {kind: number / len(counted) for kind, number in tokens.items()} if counted else None,
    }


def _stage(records: Sequence[Record], stage: str) -> Figure:
    """Return percentiles of the seconds of this stage over the questions that reached it, and its mean round trips."""
    seconds = [record.seconds[stage] for record in records if stage in record.seconds]
    trips = [
        sum(record.round_trips.values()) if stage == _TOTAL else record.round_trips.get(stage, 0)
        for record in records
        if stage in record.seconds
    ]
    p50, p95, p99 = (float(value) for value in np.percentile(seconds, [50, 95, 99]))
    return {"p50_s": p50, "p95_s": p95, "p99_s": p99, "round_trips": float(np.mean(trips)), "n": len(seconds)}


def _gpu_mb() -> float | None:
    torch = sys.modules.get("torch")  # what was not imported used none
    return torch.cuda.max_memory_allocated() / 1e6 if torch and torch.cuda.is_available() else None


MAX_REPORT_BYTES = 1 << 28

RECORDS, REPORT, PAGE = "records.jsonl", "report.json", "report.html"


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
