"""Latency by stage and round trips of retrieval on FB15k-237, for one question at a time and for batches of 64.

Run ``python -m benchmarks.speed.retrieval --data FOLDER`` with FB15k-237 loaded. The reference of the same run is a
bare lookup of 64 entities by id; ratios to it travel between machines, milliseconds do not.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from lodestar.engine.api import Engine
from lodestar.engine.context import merge_stage_costs
from lodestar.engine.data_model import Question
from lodestar.engine.evidence import Evidence, Item
from lodestar.engine.neo4j.graph_requests import read_signatures
from lodestar.engine.retrieval.similarity import Similarity
from lodestar.engine.retrieval.star import Star
from lodestar.engine.settings import resolve_settings

from ..measuring import gold_questions, percentile_ms, seconds_of

WARM_UP = 20
BATCH = 64
REPEATS = 3


def report(label: str, runs: Sequence[tuple[float, Evidence[Item]]], reference_s: float) -> None:
    rows: dict[str, list[float]] = {}
    for _, evidence in runs:
        for cost in merge_stage_costs(evidence.trace.costs):
            rows.setdefault(cost.stage, []).append(cost.seconds)
    for stage, seconds in [*rows.items(), ("all", [s for s, _ in runs])]:
        p50, p95 = (percentile_ms(seconds, percent) for percent in (50, 95))
        print(f"| {label} | {stage} | {len(seconds)} | {p50:.1f} | {p95:.1f} | {p50 / 1000 / reference_s:.1f} |")
    trips = [evidence.round_trips for _, evidence in runs]
    print(f"| {label} | round trips | {len(trips)} | {np.percentile(trips, 50):g} | {np.percentile(trips, 95):g} | |")


def timed(engine: Engine, batches: Sequence[Sequence[Question]]) -> list[tuple[float, Evidence[Item]]]:
    """Retrieve each batch and return its wall time with the stage times of its first question."""
    runs = []
    for batch in batches:
        started = time.perf_counter()
        found = engine.retrieve_batch(batch)
        runs.append((time.perf_counter() - started, found[0]))
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with questions-dev.jsonl.gz")
    parser.add_argument("--link", action="store_true", help="find the topic entities too, instead of the gold ones")
    parser.add_argument("--checkpoint", default="", help="folder of a trained scorer (default: similarity)")
    arguments = parser.parse_args()
    checkpoint = arguments.checkpoint
    recipe = Star(checkpoint=checkpoint) if checkpoint else Similarity()
    path = arguments.data / "questions-dev.jsonl.gz"
    golds, sha256 = gold_questions(path)
    questions = [Question(each.text) if arguments.link else each for each in golds]
    ids = list(dict.fromkeys(id_ for each in golds for id_ in each.topic_entities))[:BATCH]
    with Engine(resolve_settings(), recipe=recipe) as engine:
        timed(engine, [[question] for question in questions[:WARM_UP]])
        reference_s = float(
            np.median([seconds_of(lambda: engine.gateway().run(read_signatures(ids))) for _ in range(50)])
        )
        singles = timed(engine, [[question] for question in questions])
    batches = []
    for _ in range(REPEATS):  # each with an engine of its own, so that no text was encoded before
        with Engine(resolve_settings(), recipe=recipe) as engine:
            timed(engine, [[question] for question in questions[-WARM_UP:]])
            starts = range(0, len(questions) - WARM_UP - BATCH + 1, BATCH)
            batches += timed(engine, [questions[i : i + BATCH] for i in starts])
    print(f"{path.name} (sha256 {sha256}…), {'linked' if arguments.link else 'gold'} topic entities")
    print(f"reference: lookup of {len(ids)} entities by id, median {reference_s * 1000:.1f} ms\n")
    print("| batch | stage | n | p50 ms | p95 ms | p50 / reference |\n|---|---|---|---|---|---|")
    report("1", singles, reference_s)
    report(str(BATCH), batches, reference_s)


if __name__ == "__main__":
    main()
