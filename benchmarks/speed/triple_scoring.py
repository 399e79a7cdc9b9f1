"""Time of scoring triples: as published, by layers split by linearity, and with projections kept; and many at once.

    python -m benchmarks.speed.triple_scoring [--repeats 10]

Random vectors of MiniLM's length, two rounds of distance encoding, 4,252 triples a question over 1,900 nodes and 60
relations. The published loop takes one question at a time and multiplies the concatenated embeddings of every triple.
All ways give the same scores to 1e-5, or the run ends. Milliseconds do not travel; the ratios, of the same run, do.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from statistics import median

import torch
from lodestar.models.reg_triple.network import TripleInputs, TripleScorer
from lodestar.models.subgraphs import encoding_width
from torch import Tensor

DIMENSION, WIDTH, HIDDEN = 384, encoding_width(2), 384
NUM_TRIPLES, NUM_NODES, NUM_RELATIONS = 4_252, 1_900, 60
MANY = 1_000_000


def question(num_triples: int, num_nodes: int) -> TripleInputs:
    """Return the inputs of a random question."""
    return TripleInputs(
        questions=torch.randn(1, DIMENSION),
        relations=torch.randn(NUM_RELATIONS, DIMENSION),
        entities=torch.randn(num_nodes, DIMENSION),
        is_named=torch.ones(num_nodes, dtype=torch.bool),
        distances=torch.rand(num_nodes, WIDTH),
        question_of=torch.zeros(num_triples, dtype=torch.long),
        heads=torch.randint(num_nodes, (num_triples,)),
        relation_of=torch.randint(NUM_RELATIONS, (num_triples,)),
        tails=torch.randint(num_nodes, (num_triples,)),
    )


def published(network: TripleScorer, given: TripleInputs) -> Tensor:
    """Return the scores by one layer over the concatenated embeddings of each triple."""
    layers = [network.of_question, network.of_head, network.of_relation, network.of_tail]
    layers += [network.of_head_distance, network.of_tail_distance]
    weight = torch.cat([layer.weight for layer in layers], dim=1)
    parts = [
        given.questions[given.question_of],
        given.entities[given.heads],
        given.relations[given.relation_of],
        given.entities[given.tails],
        given.distances[given.heads],
        given.distances[given.tails],
    ]
    hidden = torch.relu(torch.nn.functional.linear(torch.cat(parts, dim=1), weight, network.of_question.bias))
    scores: Tensor = network.out(hidden).squeeze(1)
    return scores


def ms_of(work: Callable[[], object], repeats: int) -> float:
    """Return the median milliseconds, after one time that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return 1_000 * median(times)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10, help="times that each is measured (default: 10)")
    repeats = parser.parse_args().repeats
    torch.manual_seed(0)
    network = TripleScorer(DIMENSION, WIDTH, HIDDEN).eval()
    with torch.no_grad():
        given = question(NUM_TRIPLES, NUM_NODES)
        kept = (
            network.of_relation(given.relations),
            network.of_head(given.entities),
            network.of_tail(given.entities),
        )

        def with_kept() -> Tensor:
            return network.score_projected(
                network.of_question(given.questions),
                kept[0],
                kept[1] + network.of_head_distance(given.distances),
                kept[2] + network.of_tail_distance(given.distances),
                given,
            )

        expected = published(network, given)
        for scores in (network(given), with_kept()):
            torch.testing.assert_close(scores, expected, rtol=1e-5, atol=1e-5)
        loop = ms_of(lambda: published(network, given), repeats)
        ways = {"published": loop, "split": ms_of(lambda: network(given), repeats), "kept": ms_of(with_kept, repeats)}
        print(f"{NUM_TRIPLES:,} triples, {torch.get_num_threads()} threads")
        print("| way | ms | published / this |")
        print("| --- | --- | --- |")
        for name, ms in ways.items():
            print(f"| {name} | {ms:.1f} | {loop / ms:.1f} |")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        many = question(MANY, 100_000)
        started = time.perf_counter()
        network(many)
        seconds = time.perf_counter() - started
        peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e6
        print(f"{MANY:,} triples over 100,000 nodes: {seconds:.2f} s, {peak:.2f} GB more at the peak, inputs included")


if __name__ == "__main__":
    main()
