"""Time of Path Pooling a question, by the number of triples: alone, in a batch, in plain loops and with networkx.

    python -m benchmarks.speed.pooling [--repeats 20]

Questions are random multigraphs grown from two topics: every triple has an end that is there already, drawn by its
degree, so that there are hubs; of four in five the other end is new. All ways pool the same questions. The plain loops
are what the tests hold pooling to; the networkx port is what one writes with its `single_source_dijkstra_path`.
Milliseconds do not travel; the ratios, of the same run, do. The last column is the paper's (table 2), where it has one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import pairwise
from statistics import median

import networkx as nx  # type: ignore[import-untyped]
import numpy as np
from lodestar.models.path_pooling import Kernel, PoolingOptions, ScoredTriples, pool_triple_scores

from tests.references.pooling import PlainTriple, reference_scores

BATCH = 64
TOPICS = [0, 1]
PAPER_MS: dict[Kernel, dict[int, float]] = {
    "dijkstra": {25: 1.6, 50: 2.1, 100: 3.2, 200: 6.3, 500: 18.1},
    "bfs": {25: 1.9, 50: 3.1, 100: 7.4, 200: 29.4, 500: 232.2},
    "random-walk": {25: 3.1, 50: 3.6, 100: 4.5, 200: 5.7, 500: 9.1},
}
LARGE = (2_000, 10_000, 100_000)
PLAIN_TRIPLES = 500
"""More than these are not pooled in plain loops."""


def grown(num_triples: int, rng: np.random.Generator) -> list[PlainTriple]:
    """Return the triples of a question; their nodes are counted from 0, the topics first."""
    ends, num_nodes, triples = list(TOPICS), len(TOPICS), []
    for is_new, is_inverse, first, second, score in rng.random((num_triples, 5)):
        here = ends[int(first * len(ends))]
        there = num_nodes if is_new < 0.8 else ends[int(second * len(ends))]
        num_nodes = max(num_nodes, there + 1)
        ends += [here, there]
        triples.append((there, here, score) if is_inverse < 0.5 else (here, there, score))
    return triples


def batch_of(questions: list[list[PlainTriple]]) -> ScoredTriples:
    """Return the questions as columns."""
    sizes = [1 + max(max(h, t) for h, t, _ in triples) for triples in questions]
    starts = np.cumsum([0, *sizes])
    rows = np.array([triple for triples in questions for triple in triples])
    shift = np.repeat(starts[:-1], [len(triples) for triples in questions])
    topics = (starts[:-1, None] + np.array(TOPICS)).ravel()
    heads, tails = rows[:, 0].astype(np.int64) + shift, rows[:, 1].astype(np.int64) + shift
    return ScoredTriples(heads, tails, rows[:, 2], topics, starts, np.cumsum([0, *map(len, questions)]))


def networkx_scores(triples: list[PlainTriple]) -> dict[tuple[int, int], float]:
    """Return s' of each pair of nodes: a port as the field writes it, parallel relations collapsed."""
    graph = nx.DiGraph()
    for head, tail, score in triples:
        graph.add_edge(head, tail, score=score)
    bonus = min(score for _, _, score in triples)
    best = {(head, tail): score + bonus for head, tail, score in triples}
    for topic in TOPICS:
        if topic in graph:
            ways = list(nx.single_source_dijkstra_path(graph, topic).values())
            ways += [way[::-1] for way in nx.single_source_dijkstra_path(graph.reverse(copy=False), topic).values()]
            for way in ways:
                edges = list(pairwise(way))
                if edges:
                    pooled = sum(graph.edges[edge]["score"] for edge in edges) / len(edges)
                    for place, edge in enumerate(edges, start=1):
                        best[edge] = max(best[edge], pooled + bonus / place)
    return best


def ms_of(work: Callable[[], object], repeats: int) -> float:
    """Return the median milliseconds of the processor, after one time that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return 1_000 * median(times)


def row(kernel: Kernel, num_triples: int, repeats: int) -> str:
    """Return one row of the table."""
    rng, pooling = np.random.default_rng(num_triples), PoolingOptions(kernel=kernel)
    is_large = num_triples > PLAIN_TRIPLES
    questions = [grown(num_triples, rng) for _ in range(1 if is_large else BATCH)]
    singles = [batch_of([question]) for question in questions]
    one = ms_of(lambda: [pool_triple_scores(single, pooling) for single in singles], repeats) / len(singles)
    cells = [kernel, f"{num_triples:,}", f"{one:.3f}"]
    if is_large:
        return f"| {' | '.join([*cells, '', '', '', ''])} |"
    batch = batch_of(questions)
    together = ms_of(lambda: pool_triple_scores(batch, pooling), repeats) / BATCH
    plain = ms_of(lambda: [reference_scores(question, TOPICS, pooling) for question in questions], 1) / BATCH
    cells += [f"{together:.3f}", f"{plain / one:.0f}, {plain / together:.0f}"]
    if kernel == "dijkstra":
        port = ms_of(lambda: [networkx_scores(question) for question in questions], 5) / BATCH
        cells.append(f"{port / one:.0f}, {port / together:.0f}")
    else:
        cells.append("")
    return f"| {' | '.join([*cells, str(PAPER_MS[kernel][num_triples])])} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20, help="times that each is measured (default: 20)")
    repeats = parser.parse_args().repeats
    print(f"| kernel | triples | one, ms | of {BATCH}, ms each | plain loops / these | networkx / these | paper, ms |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kernel, paper in PAPER_MS.items():
        for num_triples in (*paper, *(LARGE if kernel == "dijkstra" else ())):
            print(row(kernel, num_triples, repeats), flush=True)


if __name__ == "__main__":
    main()
