"""Time, sizes and cuts of question subgraphs: a question set in batches of 64, or one topic by itself.

Run ``python -m benchmarks.speed.subgraphs --data FOLDER`` with FB15k-237 loaded, or with ``--topic ID`` for a
topic of any graph. The reference of the same run is the same one question at a time, and for a topic
a lookup of its signature; ratios travel between machines, milliseconds do not.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from lodestar.engine.neo4j.catalogue import read_catalogue
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j.instance import make_connection
from lodestar.engine.neo4j.neighbours import read_entity_signatures
from lodestar.engine.relations.words import words_of_relation
from lodestar.engine.retrieval.subgraph.batch import Subgraph
from lodestar.engine.retrieval.subgraph.proposing import SimilarityProposer
from lodestar.engine.retrieval.subgraph.walking import SubgraphExtractor, SubgraphQuery
from lodestar.engine.settings import resolve
from lodestar.models.text.encoders import SentenceEncoder
from lodestar.models.text.vectors import TextVectors

from ..question_sets import GoldQuestion, gold_questions

BATCH = 64
REPEATS = 20


class Timed:
    """Extracts batches and notes the seconds and the round trips of each."""

    def __init__(self, gateway: Gateway, extractor: SubgraphExtractor) -> None:
        self.gateway = gateway
        self.extractor = extractor
        self.seconds: list[float] = []
        self.round_trips: list[int] = []
        self.subgraphs: list[Subgraph] = []

    def extract(self, queries: Sequence[SubgraphQuery]) -> None:
        """Extract one batch."""
        before, started = self.gateway.round_trips, time.perf_counter()
        batch = self.gateway.run(self.extractor.extract(queries))
        self.seconds.append((time.perf_counter() - started) / len(queries))
        self.round_trips.append(self.gateway.round_trips - before)
        self.subgraphs += batch


def percentiles(values: Sequence[float] | np.ndarray) -> str:
    """Return p50 and p95 as a cell of a table."""
    p50, p95 = np.percentile(np.asarray(values, dtype=float), [50, 95])
    return f"{p50:,.1f}, {p95:,.1f}" if p95 < 1_000 else f"{p50:,.0f}, {p95:,.0f}"


def print_row(label: str, batch: int, run: Timed, reference_s: float, reached: str) -> None:
    """Print one row of the table."""
    graphs = run.subgraphs
    ms = np.array(run.seconds) * 1000
    print(
        f"| {label} | {batch} | {len(graphs)} | {percentiles(ms)} | {np.median(run.seconds) / reference_s:.2f} "
        f"| {percentiles([g.num_triples for g in graphs])} | {percentiles([g.num_nodes for g in graphs])} "
        f"| {np.mean([g.is_cut for g in graphs]):.2f} | {reached} | {percentiles(run.round_trips)} |"
    )


def share_reached(graphs: Sequence[Subgraph], golds: Sequence[GoldQuestion]) -> str:
    """Return the share of questions with an answer among the nodes of their subgraph."""
    return f"{np.mean([bool(gold.answers & set(graph.ids)) for graph, gold in zip(graphs, golds, strict=True)]):.3f}"


def print_questions(gateway: Gateway, extractors: dict[str, SubgraphExtractor], golds: Sequence[GoldQuestion]) -> None:
    """Time each way of extraction over the questions, in batches and one by one."""
    golds = golds[: len(golds) // BATCH * BATCH]
    queries = [SubgraphQuery(gold.question.text, gold.question.topic_entities) for gold in golds]
    batches = [queries[start : start + BATCH] for start in range(0, len(queries), BATCH)]
    for label, extractor in extractors.items():
        runs = []
        for groups in ([[query] for query in queries], batches):
            for run in (Timed(gateway, extractor), Timed(gateway, extractor)):  # the first warms up
                for group in groups:
                    run.extract(group)
            runs.append(run)
        single, batched = runs
        reference_s = float(np.median(single.seconds))
        for size, run in ((1, single), (BATCH, batched)):
            print_row(label, size, run, reference_s, share_reached(run.subgraphs, golds))


def print_topic(gateway: Gateway, extractors: dict[str, SubgraphExtractor], query: SubgraphQuery) -> None:
    """Time each way of extraction from one topic."""
    found = gateway.fetch(read_entity_signatures(query.topics))
    lookups = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        gateway.fetch(read_entity_signatures(query.topics))
        lookups.append(time.perf_counter() - started)
    counts = found.signatures.counts
    print(f"{found.names[0]}: {counts.sum():,} triples of {len(counts)} relations and directions\n")
    for label, extractor in extractors.items():
        run = Timed(gateway, extractor)
        for _ in range(REPEATS + 3):
            run.extract([query])
        run.seconds, run.round_trips = run.seconds[3:], run.round_trips[3:]
        run.subgraphs = run.subgraphs[3:]
        print_row(label, 1, run, float(np.median(lookups)), "")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--data", type=Path, help="folder with questions-dev.jsonl.gz")
    what.add_argument("--topic", help="id of an entity")
    parser.add_argument("--question", default="What is it known for?", help="what is asked about --topic")
    parser.add_argument("--num-relations", type=int, default=20, help="relations walked in a step, where proposed")
    arguments = parser.parse_args()
    settings = resolve()
    with Gateway(make_connection(settings)) as gateway:
        catalogue = gateway.fetch(read_catalogue())
        names = {relation.number: relation.name for relation in catalogue.relations}
        words = {relation.number: words_of_relation(relation) for relation in catalogue.relations}
        proposer = SimilarityProposer(words, TextVectors(SentenceEncoder(settings.encoder)))
        extractors = {
            "all": SubgraphExtractor(names, stored_as=catalogue.stored_as),
            f"best {arguments.num_relations}": SubgraphExtractor(
                names, stored_as=catalogue.stored_as, proposer=proposer, num_relations=arguments.num_relations
            ),
        }
        golds: Sequence[GoldQuestion] = ()
        if arguments.data:
            path = arguments.data / "questions-dev.jsonl.gz"
            golds, sha256 = gold_questions(path)
            print(f"{path.name} (sha256 {sha256}…), gold topic entities, 2 hops; p50, p95\n")
        columns = ("ms a question", "p50 / reference", "triples", "nodes", "cut", "answer reached", "round trips")
        print(f"| relations | batch | n | {' | '.join(columns)} |\n{'|---' * (3 + len(columns))}|")
        if arguments.data:
            print_questions(gateway, extractors, golds)
        else:
            print_topic(gateway, extractors, SubgraphQuery(arguments.question, (arguments.topic,)))


if __name__ == "__main__":
    main()
