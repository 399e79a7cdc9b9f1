"""Chains of retrieved triples: the time of the database's expansion, against plain Python over the same triples.

    python -m benchmarks.speed.chains --data FOLDER [--limit 120]

FOLDER has questions-dev.jsonl.gz of FB15k-237, which must be loaded. Triples are those of the chains of `similarity`.
Both sides get the same triples and make the same chains; the best of three runs counts, and the ratio is of one run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lodestar.engine.api import Engine
from lodestar.engine.evidence import Evidence
from lodestar.engine.evidence.bridges import to_chains, to_triples
from lodestar.engine.settings import resolve

from tests.fakes.memory_graph import MemoryGraph

from ..question_sets import gold_questions

SIZES, LENGTHS, BATCHES, REPEATS = (100, 500), (2, 4), (1, 8, 64), 3


def seconds(db: Any, evidence: Sequence[Evidence[Any]], length: int, batch: int) -> float:
    """Return the seconds for all of the evidence, in batches."""
    started = time.perf_counter()
    for at in range(0, len(evidence), batch):
        to_chains(db, evidence[at : at + batch], length)
    return time.perf_counter() - started


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with questions-dev.jsonl.gz")
    parser.add_argument("--limit", type=int, default=120, help="questions asked (default: 120)")
    arguments = parser.parse_args()
    golds, _ = gold_questions(arguments.data / "questions-dev.jsonl.gz")
    with Engine(resolve()) as engine:
        found = [to_triples(each) for each in engine.retrieve_batch([g.question for g in golds[: arguments.limit]])]
        print("| triples | longest | at once | Python, ms a question | Cypher | ratio |\n|---|---|---|---|---|---|")
        for size in SIZES:
            cut = [replace(each, items=each.items[:size]) for each in found]
            for length in LENGTHS:
                for batch in BATCHES:
                    runs = [
                        [seconds(db, cut, length, batch) for db in (MemoryGraph([]), engine.gateway())]
                        for _ in range(REPEATS)
                    ]
                    python, cypher = (1000 * min(side) / len(cut) for side in zip(*runs, strict=True))
                    cells = f"{python:.1f} | {cypher:.1f} | {cypher / python:.2f}"
                    print(f"| {size} | {length} | {batch} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
