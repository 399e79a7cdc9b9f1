"""Path Pooling in the database and in memory: the same scores, and what each takes.

    python -m benchmarks.speed.pooling_in_database [--repeats 5]

Questions are real triples of the graph that is loaded, grown from two entities drawn by chance: every triple has an end
that is there already. Scores are drawn, in 1/1000s. Both ways are the stage that a recipe runs, from evidence to
evidence, over the same questions; milliseconds are of the clock, the database on the same machine. Ends with an error
where a score differs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from lodestar.engine.api import Engine
from lodestar.engine.evaluation.whole_graph import WholeGraph
from lodestar.engine.evidence.evidence import Evidence
from lodestar.engine.reorganising.pooling import PathSmoothing
from lodestar.engine.settings import resolve
from lodestar.engine.values import Question, Scored, Topic, Triple
from lodestar.models.path_pooling import Pooling

SIZES = (25, 50, 100, 200, 500)
BATCH = 16


def grown(graph: WholeGraph, num_triples: int, rng: np.random.Generator) -> Evidence[Triple]:
    """Return evidence of triples around two entities."""
    topics = rng.choice(np.flatnonzero(np.diff(graph.starts) > 0), 2, replace=False).tolist()
    reached, triples = list(topics), dict[Triple, None]()
    while len(triples) < num_triples:
        node = reached[int(rng.integers(len(reached)))]
        at = int(rng.integers(graph.starts[node], graph.starts[node + 1]))
        step, target = int(graph.steps[at]), int(graph.targets[at])
        ends = (target, node) if step < 0 else (node, target)
        triple = Triple(graph.entities[ends[0]], graph.relations[abs(step)], graph.entities[ends[1]])
        if triple not in triples:
            triples[triple] = None
            reached.append(target)
    scores = (rng.integers(0, 1_000, num_triples) / 1_000).tolist()
    items = tuple(Scored(triple, score) for triple, score in zip(triples, scores, strict=True))
    return Evidence(Question("?"), tuple(Topic(graph.entities[topic]) for topic in topics), "triple", items)


def ms_of(work: Callable[[], object], repeats: int) -> float:
    """Return the median milliseconds, after one time that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return 1_000 * median(times)


def shown(evidence: list[Evidence[Any]]) -> list[list[tuple[Triple, float]]]:
    """Return what both ways have to agree in."""
    return [[(item.value, item.score) for item in each.items] for each in evidence]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="times that each is measured (default: 5)")
    repeats = parser.parse_args().repeats
    with Engine(resolve()) as engine:
        gateway = engine.gateway()
        graph = WholeGraph.read(gateway)
        print(f"{len(graph.steps) // 2:,} triples in the graph; batches of {BATCH}; same scores in all rows")
        print("| triples | questions | in memory, ms each | in the database, ms each | ratio |")
        print("| --- | --- | --- | --- | --- |")
        for size in SIZES:
            rng = np.random.default_rng(size)
            asked = [grown(graph, size, rng) for _ in range(BATCH)]
            here = PathSmoothing(Pooling(), keep=None, coarse=None)
            there = PathSmoothing(Pooling(), keep=None, coarse=None, in_database=True)
            if shown(gateway.run(here.reorganise(asked))) != shown(gateway.run(there.reorganise(asked))):
                raise SystemExit(f"{size} triples: scores differ")
            for questions in (asked[:1], asked):
                run = [
                    ms_of(lambda way=way, some=questions: gateway.run(way.reorganise(some)), repeats) / len(questions)  # type: ignore[misc]
                    for way in (here, there)
                ]
                cells = [f"{size:,}", str(len(questions)), *(f"{ms:.2f}" for ms in run), f"{run[1] / run[0]:.0f}"]
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
