"""What Path Pooling brings up: recall of the right answers among the first triples, before and after.

    python -m benchmarks.pooled_recall --questions FILE [--recipe similarity] [--set similarity.beam_width=50]

The evidence of each question is retrieved once, with its gold topics, as triples. `recall@k` is the share of a
question's gold answers that are head or tail of one of its first k triples, `bearing@k` the share of all answer-bearing
triples that were retrieved that are among the first k; both are means over the questions. `MRR` is of the first
answer-bearing triple among the first 100: what reranking, which keeps the triples, can change.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from lodestar.engine.api import Engine
from lodestar.engine.evidence.bridges import as_kind
from lodestar.engine.evidence.evidence import Evidence
from lodestar.engine.recipes.recipe import read_recipe
from lodestar.engine.reorganising.pooling import PathSmoothing
from lodestar.engine.settings import resolve
from lodestar.engine.steps import drive
from lodestar.models.path_pooling.pooling import Pooling

from .question_sets import GoldQuestion, gold_questions

CUTS = (25, 50, 100)
BATCH = 8
MAX_TRIPLES = 1_000
VARIANTS = {
    "reselect, dijkstra, mean": Pooling(),
    "reselect, dijkstra, max": Pooling(pool="max"),
    "reselect, bfs, mean": Pooling("bfs"),
    "reselect, bfs, max": Pooling("bfs", "max"),
    "reselect, random-walk, mean": Pooling("random-walk"),
    "reselect, random-walk, max": Pooling("random-walk", "max"),
}


def bearing(evidence: Evidence[Any], gold: frozenset[str]) -> list[frozenset[str]]:
    """Return the gold answers that each triple bears."""
    return [frozenset({item.value.head.id, item.value.tail.id}) & gold for item in evidence.items]


def row(name: str, ranked: Sequence[Evidence[Any]], golds: Sequence[GoldQuestion], totals: Sequence[int]) -> str:
    """Return a row of the table. totals: answer-bearing triples that were retrieved for each question."""
    figures = np.zeros((len(golds), 2 * len(CUTS) + 1))
    for number, (evidence, gold) in enumerate(zip(ranked, golds, strict=True)):
        borne = bearing(evidence, gold.answers)
        for place, cut in enumerate(CUTS):
            found = frozenset().union(*borne[:cut])
            figures[number, place] = len(found) / len(gold.answers)
            figures[number, len(CUTS) + place] = sum(map(bool, borne[:cut])) / max(totals[number], 1)
        first = next((rank for rank, some in enumerate(borne[:100], start=1) if some), None)
        figures[number, -1] = 1 / first if first else 0.0
    return f"| {name} | " + " | ".join(f"{value:.3f}" for value in figures.mean(axis=0)) + " |"


def smoothed(evidence: Sequence[Evidence[Any]], pooling: Pooling, *, coarse: int) -> list[Evidence[Any]]:
    """Return the evidence with the order of its pooled scores."""
    return drive(PathSmoothing(pooling, keep=None, coarse=coarse).reorganise(evidence), lambda _: [])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path, required=True, help="a question set over the graph that is loaded")
    parser.add_argument("--recipe", default="similarity", help="what retrieves (default: %(default)s)")
    parser.add_argument("--set", action="append", default=[], dest="changes", help="KEY=VALUE of the recipe")
    parser.add_argument("--limit", type=int, default=0, help="the first so many questions (default: all)")
    arguments = parser.parse_args()
    golds, digest = gold_questions(arguments.questions)
    golds = [gold for gold in golds if gold.answers][: arguments.limit or None]
    recipe = replace(read_recipe(arguments.recipe, arguments.changes), top_k=MAX_TRIPLES)
    found: list[Evidence[Any]] = []
    with Engine(resolve(), recipe=recipe) as engine:
        for start in range(0, len(golds), BATCH):
            asked = [gold.question for gold in golds[start : start + BATCH]]
            found += [as_kind(each, "triple") for each in engine.retrieve_batch(asked)]
            print(f"{len(found):,} of {len(golds):,} questions", file=sys.stderr, flush=True)
    totals = [sum(map(bool, bearing(each, gold.answers))) for each, gold in zip(found, golds, strict=True)]
    p50, p95 = np.percentile([len(each.items) for each in found], [50, 95])
    print(f"{arguments.questions.name} ({digest}), {len(golds)} questions, {arguments.recipe}", end="")
    print(f"{''.join(f', {each}' for each in arguments.changes)}: p50 {p50:.0f}, p95 {p95:.0f} triples")
    print()
    print(f"| | {' | '.join(f'recall@{cut}' for cut in CUTS)} | {' | '.join(f'bearing@{cut}' for cut in CUTS)} | MRR |")
    print("| --- " * (2 * len(CUTS) + 2) + "|")
    print(row("plain", found, golds, totals))
    print(row("rerank of the first 100, dijkstra, mean", smoothed(found, Pooling(), coarse=100), golds, totals))
    for name, pooling in VARIANTS.items():
        print(row(name, smoothed(found, pooling, coarse=500), golds, totals), flush=True)


if __name__ == "__main__":
    main()
