"""What Path Pooling, integration and filters do to answers: F1 of each, and by the noise among the evidence.

    python -m benchmarks.accuracy.evidence_into_answers --dev FILE [--train FILE] \\
        [--recipe similarity] [--against cosine]

Evidence is retrieved once, in batches, with gold topics; what follows are the stages that recipes join. Answers are
extractive. *path-pooling* reselects 25 triples; *fi* integrates its answers and those of `--against`, with thresholds
fitted on the training questions, which a scorer that has learned from them is surer of than of others, and on each half
of the dev questions for the other half. Noise comes before the filters, among the 10 chains of each question, which
answer without it; a filter keeps as many. `lost` is F1 without noise − F1 with 30 pieces, the share that of what is
lost without a filter. Means, with 95 % bootstrap intervals; p of paired tests.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lodestar.engine.answering.extractive import ExtractiveAnswerer
from lodestar.engine.answering.integrating import AnswerIntegrator
from lodestar.engine.api import Engine
from lodestar.engine.evaluation.judging import GoldIdResolver, judge_answer
from lodestar.engine.evaluation.metrics.uncertainty import bootstrap_interval, compare_pairs
from lodestar.engine.evaluation.noise import NoiseInjector
from lodestar.engine.evaluation.whole_graph import WholeGraph
from lodestar.engine.evidence.bridges import convert_item_kind
from lodestar.engine.evidence.evidence import Answer, Evidence
from lodestar.engine.gold_questions import GoldQuestion, look_up_answers, look_up_topic_ids
from lodestar.engine.neo4j.catalogue import read_catalogue
from lodestar.engine.neo4j.instance import make_connection
from lodestar.engine.recipes.recipe import Recipe, read_recipe
from lodestar.engine.recipes.reorganising import Filter
from lodestar.engine.reorganising.pooling import PathPoolingReorganiser
from lodestar.engine.resources import GraphResources, Resources
from lodestar.engine.settings import resolve
from lodestar.engine.stages import Reorganiser
from lodestar.engine.steps import run_steps
from lodestar.engine.training.fi_thresholds import judge_claims
from lodestar.loaders.questions.question_sets import read_questions
from lodestar.models.graphrag_fi import Thresholds, best_thresholds
from lodestar.models.path_pooling import PoolingOptions

BATCH = 8
SEED = 0
KEPT_TRIPLES = 25
KEPT_CHAINS = 10
NOISE = (0, 10, 20, 30)
Found = list[Evidence[Any]]


def retrieved(questions: Sequence[GoldQuestion], recipe: Recipe, resources: Resources) -> Found:
    """Return evidence for each question."""
    found: Found = []
    with Engine(resources.settings, recipe=recipe, resources=resources) as engine:
        for start in range(0, len(questions), BATCH):
            some = [each.as_question(tuple(dict.fromkeys(each.topic_ids))) for each in questions[start : start + BATCH]]
            found += engine.retrieve_batch(some, top_k=KEPT_TRIPLES)
            print(f"{recipe.name}: {len(found):,} of {len(questions):,}", file=sys.stderr, flush=True)
    return found


def answers(evidence: Found) -> list[Answer]:
    """Return the extractive answers."""
    return [ExtractiveAnswerer().answer_of(each) for each in evidence]


def staged(stage: Reorganiser, evidence: Found) -> Found:
    """Return what a stage without requests makes of evidence."""
    return run_steps(stage.reorganise(evidence), lambda _: [])


def pooled(evidence: Found) -> Found:
    """Return the reselected triples."""
    triples = [convert_item_kind(each, "triple") for each in evidence]
    return staged(PathPoolingReorganiser(PoolingOptions(), keep=KEPT_TRIPLES, coarse=500), triples)


def f1_of(questions: Sequence[GoldQuestion], given: Sequence[Answer]) -> list[float]:
    """Return F1 of each question."""
    return [judge_answer(*pair).scores["strict/f1"] for pair in zip(questions, given, strict=True)]


def shown(values: Sequence[float]) -> str:
    """Return the mean with its interval."""
    interval = bootstrap_interval(values, seed=SEED)
    return f"{sum(values) / len(values):.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", default="", help="questions that the thresholds are fitted on, too")
    parser.add_argument("--dev", required=True, help="questions that the figures are of")
    parser.add_argument("--recipe", default="similarity", help="a retriever of chains (default: %(default)s)")
    parser.add_argument("--against", default="cosine", help="whose answers are integrated (default: %(default)s)")
    parser.add_argument("--set", action="append", default=[], dest="changes", help="KEY=VALUE of the recipe")
    parser.add_argument("--checkpoint", default="", help="a path scorer that filters, too")
    parser.add_argument("--limit", type=int, default=150, help="a sample of so many of each (default: %(default)s)")
    given = parser.parse_args()
    settings = resolve()
    resources = Resources(settings, make_connection(settings))
    recipe, other = read_recipe(given.recipe, given.changes), read_recipe(given.against)
    with Engine(settings, recipe=recipe, resources=resources) as engine:
        graph = GoldIdResolver(WholeGraph.read(engine.gateway()))
        sets = [
            look_up_topic_ids(
                look_up_answers(read_questions(file).sample(given.limit, SEED), engine.gateway()).questions,
                engine.gateway(),
            )
            for file in (given.train, given.dev)
            if file
        ]
        opened = resources.of_graph(engine.gateway().fetch(read_catalogue()))
    dev = sets[-1]
    own, others = ([retrieved(each, way, resources) for each in sets] for way in (recipe, other))
    num_train = len(sets[0]) if given.train else 0
    print(f"{Path(given.dev).name}, n {len(dev)}, of train {num_train}, seed {SEED}, ", end="")
    print(f"{recipe.name} against {other.name}\n")
    table_of_answers(sets, own, others)
    print()
    table_of_noise(dev, [each.cut_to(KEPT_CHAINS) for each in own[-1]], graph, filters(opened, given.checkpoint))


def table_of_answers(sets: Sequence[Sequence[GoldQuestion]], own: Sequence[Found], others: Sequence[Found]) -> None:
    """Print F1 of the retriever, of what is pooled, and of what is integrated."""
    dev = sets[-1]
    base, against = (f1_of(dev, answers([each.cut_to(KEPT_CHAINS) for each in some[-1]])) for some in (own, others))
    print("| | F1 | difference to the first | p |\n| --- | --- | --- | --- |")
    print(f"| recipe | {shown(base)} | | |")
    print(f"| against | {shown(against)} | | |")
    for name, change in (("recipe", list), ("recipe + path-pooling", pooled)):
        sides = [
            (answers(change([e.cut_to(KEPT_CHAINS) for e in one] if change is list else one)), answers(other))
            for one, other in zip(own, [[e.cut_to(KEPT_CHAINS) for e in some] for some in others], strict=True)
        ]
        claimed = [
            [judge_claims(*each) for each in zip(questions, *both, strict=True)]
            for questions, both in zip(sets, sides, strict=True)
        ]
        on_dev = list(zip(*sides[-1], strict=True))
        if change is pooled:
            print(row(name, f1_of(dev, sides[-1][0]), base))
        if len(sets) > 1:
            best = best_thresholds(claimed[0]).thresholds
            taus = f"τ {best.graph:.3g}, {best.model:.3g}"
            print(row(f"{name} + fi, fitted on train ({taus})", f1_of(dev, integrated(on_dev, [best])), base))
        halves = [best_thresholds(claimed[-1][1 - half :: 2]).thresholds for half in (0, 1)]
        print(row(f"{name} + fi, fitted on the other half", f1_of(dev, integrated(on_dev, halves)), base))
        print(row(f"{name} + fi, naive merge", f1_of(dev, integrated(on_dev, [Thresholds(0, 0)])), base))


def integrated(pairs: Sequence[tuple[Answer, Answer]], thresholds: Sequence[Thresholds]) -> list[Answer]:
    """Return the answers integrated, the thresholds taken in turn."""
    return [AnswerIntegrator(thresholds[n % len(thresholds)]).integrate_pair(*pair) for n, pair in enumerate(pairs)]


def table_of_noise(
    dev: Sequence[GoldQuestion], evidence: Found, graph: GoldIdResolver, ways: Sequence[tuple[str, Reorganiser | None]]
) -> None:
    """Print F1 by noise for each filter, the first of which is none."""
    gold = {question.id: graph.answers(question) for question in dev}
    print(f"| filter | {' | '.join(f'noise {num}' for num in NOISE)} | lost at {NOISE[-1]} | share |")
    print("| --- " * (len(NOISE) + 3) + "|")
    lost_without = 0.0
    for name, way in ways:
        by_noise = []
        for num in NOISE:
            noisy = staged(NoiseInjector(graph.graph, gold, num, SEED), evidence)
            kept = staged(way, noisy) if way else noisy
            by_noise.append(f1_of(dev, answers([each.cut_to(KEPT_CHAINS) for each in kept])))
        test = compare_pairs(by_noise[0], by_noise[-1], seed=SEED)
        lost_without = lost_without or test.difference
        lost = f"{test.difference:+.3f} [{test.interval.low:+.3f}, {test.interval.high:+.3f}]"
        means = " | ".join(shown(values) for values in by_noise)
        print(f"| {name} | {means} | {lost} | {test.difference / lost_without:.2f} |", flush=True)


def filters(graph: GraphResources, checkpoint: str) -> list[tuple[str, Reorganiser | None]]:
    """Return the filters by name."""
    parts = [Filter("similarity", KEPT_CHAINS), Filter("pagerank", KEPT_CHAINS)]
    parts += [replace(parts[0], by="star", checkpoint=checkpoint)] if checkpoint else []
    return [("none", None), *((f"{part.by}, keep {part.keep}", part.reorganiser(graph)) for part in parts)]


def row(name: str, values: Sequence[float], base: Sequence[float]) -> str:
    """Return a row of the table of answers."""
    test = compare_pairs(values, base, seed=SEED)
    low, high = test.interval.low, test.interval.high
    return f"| {name} | {shown(values)} | {test.difference:+.3f} [{low:+.3f}, {high:+.3f}] | {test.p_value:.4f} |"


if __name__ == "__main__":
    main()
