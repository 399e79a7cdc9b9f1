"""torch.compile in training: seconds a step of the cross-attentive scorer with and without, in the same run.

    python -m benchmarks.speed.compiling --mined MINED --shortlist CHECKPOINT [--steps 20]

Both train on the same questions in the same order, in one process. The first steps of the compiled one have the
compiling in them, which is a column of its own: batches come in a few shapes, and each is compiled until PyTorch gives
up on shapes and compiles for any.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median

import torch
from lodestar.models.star.backbone import open_pretrained
from lodestar.models.star.config import PoolTrainingOptions, StarConfig
from lodestar.models.star.cross_training import CrossCandidateScorer, PoolObjective
from lodestar.models.star.examples import ExampleSet, Floats, examples_of
from lodestar.models.star.mined import read_mined_file
from lodestar.models.star.networks import CrossAttentiveScorer
from lodestar.models.star.scoring import read_checkpoint
from lodestar.models.star.texts import CachedTokenizer
from lodestar.models.training.loop import train
from lodestar.models.training.objective import TrainingOptions

from .shortlisting import stop_scores

FIRST_STEPS = 5


def seconds_of_steps(data: ExampleSet, stop: Sequence[Floats], folder: Path, *, compiled: bool) -> list[float]:
    """Train for an epoch; return the seconds of each step."""
    torch.manual_seed(0)
    backbone = open_pretrained(StarConfig().encoder)
    training = TrainingOptions(epochs=1, compile=compiled)
    objective = PoolObjective(
        CrossAttentiveScorer(backbone),
        CrossCandidateScorer(),
        CachedTokenizer(backbone.tokenizer),
        [data],
        [replace(data, examples=data.examples[:1])],
        [list(stop)],
        [list(stop[:1])],
        PoolTrainingOptions(num_negatives=5, pool_size=15, rescore=False),
        training,
        mix=1.0,
    )
    ended_s = [time.perf_counter()]
    train(
        objective,
        training,
        folder / f"{compiled}.safetensors",
        {"compiled": compiled},
        lambda *_: ended_s.append(time.perf_counter()),
    )
    return [after - before for before, after in pairwise(ended_s)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mined", type=Path, required=True, help="what `lodestar mine` wrote")
    parser.add_argument("--shortlist", type=Path, required=True, help="folder of the checkpoint that shortlists")
    parser.add_argument(
        "--steps", type=int, default=20, help=f"of each training (default: 20, at least {FIRST_STEPS + 1})"
    )
    arguments = parser.parse_args()
    if arguments.steps <= FIRST_STEPS:
        parser.error(f"--steps: expected more than {FIRST_STEPS}, found {arguments.steps}")
    data = examples_of(read_mined_file(arguments.mined))
    drawn = random.Random(0).sample(
        data.examples, min(len(data.examples), arguments.steps * PoolTrainingOptions().batch_size)
    )
    data = replace(data, examples=tuple(drawn))
    stop = stop_scores(read_checkpoint(arguments.shortlist), data)
    print(f"| training | first {FIRST_STEPS} steps, s | median of the other steps, s | steps |")
    print("| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="lodestar-") as folder:
        for compiled in (False, True):
            seconds = seconds_of_steps(data, stop, Path(folder), compiled=compiled)
            first, later = sum(seconds[:FIRST_STEPS]), median(seconds[FIRST_STEPS:])
            name = "torch.compile" if compiled else "as it is"
            print(f"| {name} | {first:.1f} | {later:.2f} | {len(seconds)} |", flush=True)


if __name__ == "__main__":
    main()
