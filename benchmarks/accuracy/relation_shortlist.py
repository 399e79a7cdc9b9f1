"""What a shortlist of relations costs and saves: the same questions with and without it.

Run ``python -m benchmarks.accuracy.relation_shortlist --data FOLDER`` (questions-dev.jsonl.gz, gold topic entities)
with a graph loaded; once with FB15k-237 and once with the same graph grown shows what stays flat. Questions are asked
one at a time, both ways in turns; the reference is the search without a shortlist. Choose the options on dev
questions.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from lodestar.engine.api import Engine
from lodestar.engine.evidence.chain import Chain
from lodestar.engine.evidence.evidence import Evidence, Item
from lodestar.engine.settings import resolve

from ..question_sets import gold_questions

WARM_UP = 20


def first_path(evidence: Evidence[Item]) -> tuple[str, str] | None:
    """Return topic and relations of the first path, None where there is none."""
    chains = [item.value for item in evidence.items if isinstance(item.value, Chain)]
    return (chains[0].topic.id, str(chains[0].relation_path)) if chains else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with questions-dev.jsonl.gz")
    parser.add_argument("--limit", type=int, default=200, help="so many questions of the file")
    parser.add_argument("--least", type=int, default=300, help="steps offered beyond which relations are shortlisted")
    parser.add_argument("--relations", type=int, nargs="+", default=[50, 100, 150], help="relations kept")
    arguments = parser.parse_args()
    path = arguments.data / "questions-dev.jsonl.gz"
    golds, sha256 = gold_questions(path)
    questions = [gold.question for gold in golds[: arguments.limit]]
    ways: dict[str, dict[str, int]] = {"all relations": {}} | {
        f"the best {kept}": {"similarity.shortlist_from": arguments.least, "similarity.shortlist_relations": kept}
        for kept in arguments.relations
    }
    engines = {name: Engine(resolve(), recipe="similarity", options=options) for name, options in ways.items()}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    found: dict[str, list[tuple[str, str] | None]] = {name: [] for name in ways}
    try:
        for engine in engines.values():
            engine.prepare()
            engine.retrieve_batch(questions[:WARM_UP])
        for question in questions:
            for name, engine in engines.items():
                started_s = time.perf_counter()
                (evidence,) = engine.retrieve_batch([question])
                seconds[name].append(time.perf_counter() - started_s)
                found[name].append(first_path(evidence))
    finally:
        for engine in engines.values():
            engine.close()
    print(f"{path.name} (sha256 {sha256}…), the first {len(questions)}, more than {arguments.least} steps offered\n")
    print("| relations | n | p50, ms | p95, ms | p50 / all | first path the same |\n|---|---|---|---|---|---|")
    reference = float(np.median(seconds["all relations"]))
    for name in ways:
        p50, p95 = np.percentile(seconds[name], [50, 95])
        same = np.mean([one == other for one, other in zip(found[name], found["all relations"], strict=True)])
        print(
            f"| {name} | {len(questions)} | {1000 * p50:.0f} | {1000 * p95:.0f} | {p50 / reference:.2f} | {same:.3f} |"
        )


if __name__ == "__main__":
    main()
