"""Paths a second through STAR's cross-attentive scorer, against the naive loop over one padded path at a time.

Run ``python -m benchmarks.speed.scoring --mined FILE --checkpoint FOLDER``: the best paths of mined questions by the
dual encoder. The reference of the same run tokenises every pair anew, pads it to a fixed length, and scores it alone.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from lodestar.models.star.batches import path_words
from lodestar.models.star.examples import ExampleSet, QuestionExample, examples_of
from lodestar.models.star.mined import read_mined_file
from lodestar.models.star.scoring import Checkpoint, StarModel, read_checkpoint
from lodestar.models.star.texts import CachedTokenizer, PairBatch
from lodestar.models.text.verbalise import Hop
from torch.ao.quantization import quantize_dynamic

PADDED_TO = 64
REPEATS = 3

Pair = tuple[str, str, tuple[Hop, ...]]


def naive(checkpoint: Checkpoint, pairs: Sequence[Pair]) -> np.ndarray:
    """Score one path at a time, padded to a fixed length."""
    assert checkpoint.cross and checkpoint.cross_texts
    logits = []
    for question, mention, path in pairs:
        texts = CachedTokenizer(checkpoint.cross_texts.tokenizer)  # it keeps no text from the pair before
        batch = texts.pairs([texts.pair(question, path_words(mention, path))])
        with torch.inference_mode():
            logits.append(float(checkpoint.cross.read(padded(batch))[0][0]))
    return np.array(logits, dtype=np.float32)


def padded(batch: PairBatch) -> PairBatch:
    """Return the batch padded to `PADDED_TO` tokens."""
    missing = (0, max(0, PADDED_TO - batch.text.ids.shape[1]))
    fill = torch.nn.functional.pad
    text = type(batch.text)(fill(batch.text.ids, missing), fill(batch.text.mask, missing))
    return PairBatch(
        text, fill(batch.is_question, missing), fill(batch.is_path, missing), batch.question_at, batch.path_at
    )


def best_pairs(model: StarModel, examples: ExampleSet, example: QuestionExample, num_paths: int) -> list[Pair]:
    """Return the best paths of a question by the dual encoder."""
    paths = [examples.table.path_hops(number) for number in example.reachable.paths.tolist()]
    stop, _ = model.dual(example.masked[0], paths)
    topics = example.reachable.topics
    return [(example.text, example.mentions[topics[row]], paths[row]) for row in np.argsort(-stop)[:num_paths]]


def in_int8(checkpoint: Checkpoint) -> Checkpoint:
    """Return the checkpoint with the encoder's linear layers quantised as they are used (PyTorch's dynamic int8)."""
    assert checkpoint.cross
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch moves quantisation to a package of its own
        checkpoint.cross.encoder = quantize_dynamic(checkpoint.cross.encoder, {torch.nn.Linear}, dtype=torch.qint8)  # type: ignore[no-untyped-call]
    return checkpoint


def pairs_per_s(score: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    """Return the best rate of several runs, and the logits."""
    best, logits = float("inf"), np.zeros(0, dtype=np.float32)
    for _ in range(REPEATS):
        started = time.perf_counter()
        logits = score()
        best = min(best, time.perf_counter() - started)
    return len(logits) / best, logits


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mined", type=Path, required=True, help="what `lodestar mine` wrote")
    parser.add_argument("--checkpoint", type=Path, required=True, help="folder of a trained scorer")
    parser.add_argument("--questions", type=int, default=20, help="questions that are scored")
    parser.add_argument("--paths", type=int, default=32, help="paths of each")
    arguments = parser.parse_args()
    checkpoint = read_checkpoint(arguments.checkpoint)
    model = StarModel(checkpoint)
    halved = StarModel(read_checkpoint(arguments.checkpoint, precision=torch.bfloat16))
    quantised = StarModel(in_int8(read_checkpoint(arguments.checkpoint)))
    examples = examples_of(read_mined_file(arguments.mined))
    groups = [
        best_pairs(model, examples, example, arguments.paths) for example in examples.examples[: arguments.questions]
    ]
    every = [pair for group in groups for pair in group]
    reference, logits = pairs_per_s(lambda: naive(checkpoint, every))
    rows = {
        "question by question": lambda: np.concatenate([model.cross(group) for group in groups]),
        "all questions together": lambda: model.cross(every),
        "all together, encoder in bfloat16": lambda: halved.cross(every),
        "all together, encoder's linear layers in int8": lambda: quantised.cross(every),
    }
    print(f"{len(every):,} paths of {len(groups)} questions; reference: {reference:,.0f} paths a second\n")
    print("| scored | paths a second | ratio to the naive loop | largest difference of a logit |\n|---|---|---|---|")
    for name, score in rows.items():
        rate, found = pairs_per_s(score)
        print(f"| {name} | {rate:,.0f} | {rate / reference:.1f} | {np.abs(found - logits).max():.1e} |")


if __name__ == "__main__":
    main()
