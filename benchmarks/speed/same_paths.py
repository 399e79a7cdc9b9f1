"""Holds two runs of `lodestar eval` against each other, path by path: what a change of the code changed.

    git worktree add ../before REVISION                                    # with an environment of its own
    lodestar eval questions-dev.jsonl.gz --no-diagnosis --out before       # there
    lodestar eval questions-dev.jsonl.gz --no-diagnosis --out after        # here
    python -m benchmarks.speed.same_paths before after

Prints how many questions have the same first paths in the same order, how far their scores are apart, the same of
answers, and time and round trips of both. Ends with 1 where paths differ.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

TOLERANCE = 2e-5
"""Of scores: records have six digits, and what an encoder says of a text depends in the last ones on its batch."""

Record = Mapping[str, Any]


def records(run: Path) -> dict[str, Record]:
    lines = (run / "records.jsonl").read_text(encoding="utf-8").splitlines()
    return {record["id"]: record for record in map(json.loads, lines)}


def paths(record: Record) -> list[tuple[str, str, int]]:
    return [(path["topic"], " → ".join(path["relations"]), path["num_ends"]) for path in record["paths"]]


def scores_apart(before: Record, after: Record) -> float:
    pairs = zip(before["paths"], after["paths"], strict=True)
    return max((abs(left["score"] - right["score"]) for left, right in pairs), default=0.0)


def swapped_ties(before: Record, after: Record) -> bool:
    """Whether two records have the same paths, and only such change places whose scores are the same."""
    scores = {path: scored["score"] for path, scored in zip(paths(before), before["paths"], strict=True)}
    if sorted(paths(before)) != sorted(paths(after)):
        return False
    there = [scores[path] for path in paths(after)]
    return all(left >= right - TOLERANCE for left, right in pairwise(there))


def cost(run: Mapping[str, Record]) -> str:
    """Return median seconds and round trips of a question."""
    seconds = [sum(s for stage, s in record["seconds"].items() if stage != "total") for record in run.values()]
    trips = [sum(record["round_trips"].values()) for record in run.values()]
    return f"p50 {1000 * float(np.median(seconds)):.0f} ms, {np.mean(trips):.2f} round trips"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    arguments = parser.parse_args()
    before, after = records(arguments.before), records(arguments.after)
    shared = [id_ for id_ in before if id_ in after]
    same = [id_ for id_ in shared if paths(before[id_]) == paths(after[id_])]
    tied = [id_ for id_ in shared if id_ not in set(same) and swapped_ties(before[id_], after[id_])]
    apart = max((scores_apart(before[id_], after[id_]) for id_ in same), default=0.0)
    answers = sum(
        [(a["id"], a["name"]) for a in before[id_]["answers"]] == [(a["id"], a["name"]) for a in after[id_]["answers"]]
        for id_ in shared
    )
    print(f"{len(shared):,} questions; the same paths in {len(same):,}, but for ties in {len(tied):,} more")
    print(f"scores at most {apart:.1e} apart; the same answers in {answers:,}")
    print(f"before: {cost(before)}; after: {cost(after)}")
    different = [id_ for id_ in shared if id_ not in {*same, *tied}]
    for id_ in different[:5]:
        ranks = enumerate(zip(paths(before[id_]), paths(after[id_]), strict=False), start=1)
        rank = next((rank for rank, (left, right) in ranks if left != right), 0)
        print(f"  {id_}: from rank {rank or min(len(paths(before[id_])), len(paths(after[id_]))) + 1}")
    sys.exit(bool(different) or apart > TOLERANCE)


if __name__ == "__main__":
    main()
