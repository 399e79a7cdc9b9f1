"""Holds two runs of `lodestar eval` against each other, path by path: what a change of the code changed.

    git worktree add ../before REVISION                                    # with an environment of its own
    lodestar eval questions-dev.jsonl.gz --no-diagnosis --out before       # there
    lodestar eval questions-dev.jsonl.gz --no-diagnosis --out after        # here
    python -m benchmarks.speed.same_paths before after

Prints how many questions have the same first paths, and the same answers, and time and round trips of both. Paths whose
scores are the same may change places. Ends with 1 where paths or scores differ.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

TOLERANCE = 2e-5
"""Of scores: records have six digits, and what an encoder says of a text depends in the last ones on its batch."""

Record = Mapping[str, Any]


def read_records(run: Path) -> dict[str, Record]:
    lines = (run / "records.jsonl").read_text(encoding="utf-8").splitlines()
    return {record["id"]: record for record in map(json.loads, lines)}


def have_same_paths(before: Record, after: Record) -> bool:
    """Whether the same paths have the same scores, and so come in the same order but for ties."""
    one, other = (
        {(path["topic"], *path["relations"], path["num_ends"]): path["score"] for path in record["paths"]}
        for record in (before, after)
    )
    return one.keys() == other.keys() and all(abs(one[path] - other[path]) <= TOLERANCE for path in one)


def answers_of(record: Record) -> list[tuple[str | None, str]]:
    return [(answer["id"], answer["name"]) for answer in record["answers"]]


def cost(run: Mapping[str, Record]) -> str:
    """Return median seconds and round trips of a question."""
    seconds = [sum(s for stage, s in record["seconds"].items() if stage != "total") for record in run.values()]
    trips = [sum(record["round_trips"].values()) for record in run.values()]
    return f"p50 {1000 * float(np.median(seconds)):.0f} ms, {np.mean(trips):.2f} round trips"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs=2, metavar="RUN")
    before, after = map(read_records, parser.parse_args().runs)
    pairs = {id_: (before[id_], after[id_]) for id_ in before if id_ in after}
    different = [id_ for id_, pair in pairs.items() if not have_same_paths(*pair)]
    answers = sum(answers_of(one) == answers_of(other) for one, other in pairs.values())
    print(
        f"{len(pairs):,} questions; the same paths in {len(pairs) - len(different):,}, the same answers in {answers:,}"
    )
    print(f"before: {cost(before)}; after: {cost(after)}")
    print("\n".join(different[:5]))
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
