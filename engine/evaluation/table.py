"""Print the metrics of one run, or of several runs side by side, and compare two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from .metrics.uncertainty import PairedComparison, compare_pairs
from .record import Record

_FIRST = (
    "strict/hits_at_1",
    "strict/hit",
    "strict/f1",
    "strict/micro_f1",
    "strict/precision",
    "strict/recall",
    "strict/exact_match",
    "rog/hits_at_1",
    "rog/hit",
    "rog/f1",
    "path/hits_at_1_any",
    "path/hits_at_1_expected",
)
"""The first metrics in a table; all others follow in the order of the report."""

RESULTS = (
    ("strict/hits_at_1", "Hits@1"),
    ("strict/f1", "F1"),
    ("rog/f1", "F1 (rog)"),
    ("path/hits_at_1_any", "path any"),
    ("path/hits_at_1_expected", "path expected"),
    ("path/answer_recall@10", "recall@10"),
)
"""The columns of a table of runs."""


def format_heading(report: Mapping[str, Any]) -> str:
    """Return the first line of the report: questions, topics, graph and failures."""
    what = report["what"]
    sample = f", a sample of {what['dataset']['num_questions']:,}" if what["dataset"]["limit"] else ""
    failed = f"; {len(report['failures']):,} failed" if report["failures"] else ""
    again = report["num_without_relations"]
    failed += f"; {again:,} of them repeated with their relations excluded" if again else ""
    return (
        f"{report['num_questions']:,} questions of {report['num_topics']:,} topics{sample}, "
        f"over {what['graph']['num_triples']:,} triples; topics {what['topics']}; "
        f"{len(report['empty']):,} without an answer{failed}; "
        f"rog above 1 before clipping: {report['rog']['num_exceeded']:,}"
    )


def figure_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield metric, mean, interval and n by question, then mean, interval and n by topic."""
    figures = report["figures"]
    for metric in [*(m for m in _FIRST if m in figures), *(m for m in figures if m not in _FIRST)]:
        yield (metric, *_cells(figures[metric]), *_cells(figures[metric].get("by_topic")))
    if calibration := report["calibration"]:
        yield ("ece", *_cells({**calibration, "mean": calibration["ece"]}), *_cells(None))
    if selective := report["selective"]:
        yield ("aurc", *_cells({**selective, "mean": selective["aurc"]}), *_cells(None))
        for coverage, risk in selective["risk_at"].items():
            if risk is not None:
                yield (
                    f"risk@{float(coverage):.0%} answered",
                    *_cells({"mean": risk, "n": selective["n"]}),
                    *_cells(None),
                )
        if kept := selective["false_answers"]:
            yield (f"false answers@{kept['kept']:.0%} of right ones", *_cells(kept), *_cells(None))
    for name, difference in report["rog"]["minus_strict"].items():
        yield (f"rog − strict, {name}", *_cells(difference), *_cells(None))
    abstention = report["abstention"]
    for name, of in (("precision", "num_abstained"), ("recall", "num_unanswerable")):
        interval = abstention.get(f"{name}_interval", {})
        figure = {"mean": abstention[name], "n": abstention[of], **interval}
        yield (f"abstention/{name}", *_cells(figure), *_cells(None))


def stage_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield stage, milliseconds at three percentiles, round trips a question, and n."""
    for stage, cost in report["cost"]["stages"].items():
        times = (f"{1000 * cost[percentile]:,.1f}" for percentile in ("p50_s", "p95_s", "p99_s"))
        yield (stage, *times, f"{cost['round_trips']:.1f}", f"{cost['n']:,}")


def miss_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield kind, number and share of the misses."""
    for kind, found in report["misses"]["kinds"].items():
        yield (kind, f"{found['num']:,}", f"{found['share']:.3f}")


def cost_line(report: Mapping[str, Any]) -> str:
    """Return memory, tokens and price in one line."""
    cost = report["cost"]
    parts = [f"peak memory {cost['peak_rss_mb']:,.0f} MB"]
    if cost["gpu_mb"] is not None:
        parts.append(f"GPU memory {cost['gpu_mb']:,.0f} MB")
    if tokens := cost["tokens"]:
        parts.append(
            f"{tokens['prompt']:,.0f} tokens of prompt and {tokens['completion']:,.0f} of completion a question"
        )
    return "; ".join(parts)


def results_table(reports: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a Markdown table with one run per row: means by question, 95 % intervals, and by topic.

    A recipe whose topics the engine linked is marked.
    """
    yield ("| questions | n (topics) | recipe | " + " | ".join(title for _, title in RESULTS) + " | Hits@1 by topic |")
    yield "|" + " --- |" * (len(RESULTS) + 4)
    for report in reports:
        what, figures = report["what"], report["figures"]
        yield (
            f"| {what['dataset']['name']} | {report['num_questions']:,} ({report['num_topics']:,}) "
            f"| {_recipe(what['recipe'])}{', linked' if what['topics'] == 'linked' else ''} | "
            + " | ".join(_with_interval(figures[metric]) for metric, _ in RESULTS)
            + f" | {figures['strict/hits_at_1']['by_topic']['mean']:.3f} |"
        )


def _recipe(recipe: Mapping[str, Any]) -> str:
    hops = [options["max_hop"] for options in recipe.values() if isinstance(options, dict) and "max_hop" in options]
    return f"{recipe['name']}, {max(hops)} hops" if hops else str(recipe["name"])


def _with_interval(figure: Mapping[str, Any]) -> str:
    return f"{figure['mean']:.3f} [{figure['low']:.3f}, {figure['high']:.3f}]"


def _cells(figure: Mapping[str, Any] | None) -> tuple[str, str, str]:
    if figure is None:
        return ("", "", "")
    interval = f"{figure['low']:.3f} to {figure['high']:.3f}" if "low" in figure else ""
    return (f"{figure['mean']:.3f}", interval, f"{figure['n']:,}")


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
