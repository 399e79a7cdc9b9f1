"""What Path Pooling brings up: recall of the right answers among the first triples, before and after.

    python -m benchmarks.accuracy.pooled_recall --questions FILE [--recipe similarity] [--set similarity.beam_width=50]

The evidence of each question is retrieved once, with its gold topics, as triples. `recall@k` is the share of a
question's gold answers that are head or tail of one of its first k triples, `bearing@k` the share of all answer-bearing
triples that were retrieved that are among the first k; both are means over the questions whose topic and an answer the
graph has. `MRR` is of the first answer-bearing triple among the first 100. Reranking keeps the first 100 triples, so
that recall@100 stays. The last lines hold recall@25 of each reselection against recall@100 of the plain order: mean
difference, 95 % interval and p of a paired test.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
from lodestar.engine.api import Engine
from lodestar.engine.evaluation.diagnosis import GoldIdResolver, WholeGraph
from lodestar.engine.evaluation.statistics import compare_pairs
from lodestar.engine.evidence.bridges import convert_item_kind
from lodestar.engine.evidence.evidence import Evidence
from lodestar.engine.gold_questions import look_up_topic_ids
from lodestar.engine.recipes.recipe import read_recipe
from lodestar.engine.reorganising.pooling import PathPoolingReorganiser
from lodestar.engine.settings import resolve
from lodestar.engine.steps import run_steps
from lodestar.loaders.questions.question_sets import read_questions
from lodestar.models.path_pooling import Kernel, PoolingOptions

CUTS = (25, 50, 100)
BATCH = 8
MAX_TRIPLES = 1_000
COARSE = 500
SEED = 0
VARIANTS: dict[str, PoolingOptions] = {kernel: PoolingOptions(kernel) for kernel in get_args(Kernel)}


def bearing(evidence: Evidence[Any], gold: frozenset[str]) -> list[frozenset[str]]:
    """Return the gold answers that each triple bears."""
    return [frozenset({item.value.head.id, item.value.tail.id}) & gold for item in evidence.items]


def figures_of(
    ranked: Sequence[Evidence[Any]], golds: Sequence[frozenset[str]], totals: Sequence[int]
) -> npt.NDArray[np.float64]:
    """Return the figures of each question, a column each. totals: its answer-bearing triples that were retrieved."""
    figures = np.zeros((len(golds), 2 * len(CUTS) + 1))
    for number, (evidence, gold) in enumerate(zip(ranked, golds, strict=True)):
        borne = bearing(evidence, gold)
        for place, cut in enumerate(CUTS):
            found = frozenset().union(*borne[:cut])
            figures[number, place] = len(found) / len(gold)
            figures[number, len(CUTS) + place] = sum(map(bool, borne[:cut])) / max(totals[number], 1)
        first = next((rank for rank, some in enumerate(borne[:100], start=1) if some), None)
        figures[number, -1] = 1 / first if first else 0.0
    return figures


def row(name: str, figures: npt.NDArray[np.float64]) -> str:
    """Return a row of the table."""
    return f"| {name} | " + " | ".join(f"{value:.3f}" for value in figures.mean(axis=0)) + " |"


def smoothed(evidence: Sequence[Evidence[Any]], pooling: PoolingOptions, *, coarse: int) -> list[Evidence[Any]]:
    """Return the evidence with the order of its pooled scores."""
    return run_steps(PathPoolingReorganiser(pooling, keep=None, coarse=coarse).reorganise(evidence), lambda _: [])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path, required=True, help="a question set over the graph that is loaded")
    parser.add_argument("--recipe", default="similarity", help="what retrieves (default: %(default)s)")
    parser.add_argument("--set", action="append", default=[], dest="changes", help="KEY=VALUE of the recipe")
    parser.add_argument("--limit", type=int, default=0, help="a sample of so many questions (default: all)")
    arguments = parser.parse_args()
    recipe = replace(read_recipe(arguments.recipe, arguments.changes), top_k=MAX_TRIPLES)
    given = read_questions(str(arguments.questions))
    found: list[Evidence[Any]] = []
    totals: list[int] = []
    sizes: list[int] = []
    with Engine(resolve(), recipe=recipe) as engine:
        gold_ids = GoldIdResolver(WholeGraph.read(engine.gateway()))
        known = look_up_topic_ids(given.sample(arguments.limit or None, SEED), engine.gateway())
        asked = [each for each in known if each.topic_ids and gold_ids.answers(each)]
        golds = [frozenset(gold_ids.answers(each)) for each in asked]
        for start in range(0, len(asked), BATCH):
            some = [each.as_question(tuple(dict.fromkeys(each.topic_ids))) for each in asked[start : start + BATCH]]
            for gold, evidence in zip(golds[start:], engine.retrieve_batch(some), strict=False):
                triples = convert_item_kind(evidence, "triple")
                sizes.append(len(triples.items))
                totals.append(sum(map(bool, bearing(triples, gold))))
                found.append(triples.cut_to(COARSE))
            print(f"{len(found):,} of {len(asked):,} questions", file=sys.stderr, flush=True)
    p50, p95 = np.percentile(sizes, [50, 95])
    changes = "".join(f", {each}" for each in arguments.changes if "checkpoint" not in each)
    print(
        f"{given.name} ({given.sha256[:12]}), n {len(asked)} of {len(known)}, seed {SEED}, {arguments.recipe}{changes}:"
    )
    print(f"p50 {p50:.0f}, p95 {p95:.0f} triples\n")
    print(f"| | {' | '.join(f'recall@{cut}' for cut in CUTS)} | {' | '.join(f'bearing@{cut}' for cut in CUTS)} | MRR |")
    print("| --- " * (2 * len(CUTS) + 2) + "|")
    plain = figures_of(found, golds, totals)
    print(row("plain", plain))
    for name, pooling in VARIANTS.items():
        print(row(f"rerank, {name}", figures_of(smoothed(found, pooling, coarse=100), golds, totals)), flush=True)
    few_against_many = []
    for name, pooling in VARIANTS.items():
        figures = figures_of(smoothed(found, pooling, coarse=COARSE), golds, totals)
        print(row(f"reselect, {name}", figures), flush=True)
        few_against_many.append((name, compare_pairs(figures[:, 0].tolist(), plain[:, len(CUTS) - 1].tolist())))
    print()
    for name, test in few_against_many:
        low, high = test.interval.low, test.interval.high
        print(
            f"reselect 25 − plain 100, {name}: {test.difference:+.3f} [{low:+.3f}, {high:+.3f}], p {test.p_value:.4f}"
        )


if __name__ == "__main__":
    main()
