"""STAR's ablation (its Tables 3 and 4): the error of the first path by what a network learns from, over several seeds.

    python -m benchmarks.accuracy.ablation --train MINED --dev MINED --shortlist CHECKPOINT \\
        --work FOLDER [--questions 1774]

Every variant has the same encoder, questions, epochs and rate, and orders the same paths on dev: those that the dual
encoder of the checkpoint shortlists, the same for all. An error is a first path that leads to no right answer. Run
again, it trains only what was not trained yet.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch
from lodestar.models.kinds import TrainingOptions
from lodestar.models.mined import Hops, read_mined_file
from lodestar.models.star import SPECIAL_TOKENS, DualOptions, PoolTrainingOptions
from lodestar.models.star.network import (
    CachedTokenizer,
    CrossAttentiveScorer,
    DualEncoder,
    Floats,
    mix_shortlist_scores,
    read_checkpoint,
)
from lodestar.models.star.training import (
    DualObjective,
    ExampleCandidates,
    ExampleSet,
    PoolObjective,
    QuestionExample,
    dual_batch,
    examples_of,
)
from lodestar.models.text import verbalise_path
from lodestar.models.text.bert import open_pretrained
from lodestar.models.text.encoders import SentenceEncoder
from lodestar.models.text.vectors import TextVectors
from lodestar.models.training import train
from lodestar.models.whole_file import file_sha256
from torch import Tensor

ENCODER = "all-MiniLM-L6-v2"
TAIL = 0.2
"""The least frequent 20 % of training paths, and those that tie with the last of them, are the long tail. If most paths
occur once, most are in it.
"""


@dataclass(frozen=True, slots=True)
class ErrorShares:
    """error: the first path leads to no right answer. shortcut: in addition its words are at least as similar to the
    question as those of the best right path. long_tail: in addition the best right path is in the long tail. union:
    either.
    """

    error: float
    shortcut: float
    long_tail: float
    union: float


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How often each path is a positive in training, and the highest count in the long tail."""

    counts: Mapping[Hops, int]
    tail_count: int

    def is_tail(self, path: Hops) -> bool:
        """Whether a path is in the long tail; unseen paths are."""
        return self.counts.get(path, 0) <= self.tail_count


def frequencies(examples: ExampleSet) -> Frequencies:
    table = examples.table
    counts = Counter(
        table.written[path] for example in examples.examples for path in example.reachable.paths[example.positive]
    )
    ordered = sorted(counts.values())
    return Frequencies(counts, ordered[max(0, round(TAIL * len(ordered)) - 1)] if ordered else 0)


def error_shares(
    ranked: Iterable[tuple[QuestionExample, Floats]], examples: ExampleSet, vectors: TextVectors, known: Frequencies
) -> ErrorShares:
    """Return the error shares, given the scores of each example's reachable paths.

    Our reading, as the paper does not give its threshold of high similarity: at least that of the best right path, by
    F1. Similarity is the cosine of the question without its topic and the verbalised path.
    """
    rows: list[tuple[bool, bool, bool]] = []
    for example, scores in ranked:
        first, right = int(np.argmax(scores)), int(np.argmax(example.f1))
        wrong = not example.is_right[first]
        answered = bool(example.is_right[right])
        shortcut = (
            wrong
            and answered
            and _cosine(example, first, examples, vectors) >= _cosine(example, right, examples, vectors)
        )
        tail = wrong and answered and known.is_tail(examples.table.written[int(example.reachable.paths[right])])
        rows.append((wrong, shortcut, tail))
    found = np.array(rows, dtype=np.bool_)
    shares = [*found.mean(axis=0), found[:, 1:].any(axis=1).mean()]
    return ErrorShares(*(float(share) for share in shares))


def _cosine(example: QuestionExample, row: int, examples: ExampleSet, vectors: TextVectors) -> float:
    path = verbalise_path(examples.table.path_hops(int(example.reachable.paths[row])))
    question = example.masked[int(example.reachable.topics[row])]
    vectors.encode([question, path])
    return float(vectors.sentence(question) @ vectors.sentence(path))


class DualPoolObjective(PoolObjective):
    """Encodes question and path separately; s is the stop score times τ, as the network has its own scale."""

    def logits(self, examples: ExampleSet, selected: ExampleCandidates) -> Tensor:
        some, candidates = zip(*selected, strict=True)
        stop: Tensor = self.network(dual_batch(self.texts, examples.table, some, candidates))[0]
        return stop

    def path_scores(self, logits: Tensor) -> Tensor:
        return logits * self.options.temperature


@dataclass(frozen=True)
class Variant:
    name: str
    is_cross: bool
    options: PoolTrainingOptions


PLAIN = PoolTrainingOptions(positives="single", negatives="walks", num_positives=1, path_weights=False, shortlist=16)
MINED = replace(PLAIN, positives="hard", negatives="hard", num_positives=2)

VARIANTS = (
    Variant("similarity", False, PLAIN),
    Variant("cross-attentive", True, PLAIN),
    Variant("cross-attentive, HPM", True, MINED),
    Variant("cross-attentive, path weights", True, replace(PLAIN, path_weights=True)),
    Variant("cross-attentive, HPM, path weights", True, replace(MINED, path_weights=True)),
)

SHORTLISTING = "the dual encoder that shortlists, from all paths in reach"


@dataclass(frozen=True)
class Examples:
    train: ExampleSet
    dev: ExampleSet
    dev_stop: list[Floats]
    known: Frequencies
    vectors: TextVectors


def read_examples(arguments: argparse.Namespace) -> Examples:
    learned, chosen = (examples_of(read_mined_file(file)) for file in (arguments.train, arguments.dev))
    if arguments.questions < len(learned.examples):
        drawn = random.Random(0).sample(learned.examples, arguments.questions)
        learned = replace(learned, examples=tuple(drawn))
    checkpoint = read_checkpoint(arguments.shortlist)
    training = TrainingOptions(precision="bfloat16")
    dual = DualObjective(checkpoint.network, checkpoint.tokenizer, [], [], DualOptions(), training)
    stop = [scores for _, scores in dual.iterate_stop_scores(chosen)]
    return Examples(learned, chosen, stop, frequencies(learned), TextVectors(SentenceEncoder(ENCODER)))


def options_of(variant: Variant, arguments: argparse.Namespace) -> PoolTrainingOptions:
    return replace(variant.options, num_negatives=arguments.negatives, pool_size=3 * arguments.negatives)


def errors_of(
    variant: Variant, data: Examples, seed: int, arguments: argparse.Namespace, about: Mapping[str, Any]
) -> ErrorShares:
    options = options_of(variant, arguments)
    torch.manual_seed(seed)
    backbone = open_pretrained(ENCODER, SPECIAL_TOKENS)
    network = CrossAttentiveScorer(backbone) if variant.is_cross else DualEncoder(backbone)
    training = TrainingOptions(
        epochs=arguments.epochs,
        learning_rate=arguments.learning_rate,
        patience=arguments.epochs,
        precision="bfloat16",
        seed=seed,
    )
    objective = (PoolObjective if variant.is_cross else DualPoolObjective)(
        network,
        CachedTokenizer(backbone.tokenizer),
        [data.train],
        [data.dev],
        [data.dev_stop],
        options,
        training,
        mix=1.0,
    )
    state = arguments.work / f"{variant.name}-{seed}.safetensors"
    train(objective, state, {"variant": variant.name, "seed": seed, **about})
    state.unlink(missing_ok=True)
    ranked = (
        (e, mix_shortlist_scores(stop, own, rows, 1.0)) for e, stop, own, rows in objective.iterate_shortlist_scores()
    )
    return error_shares(ranked, data.dev, data.vectors, data.known)


def table(folder: Path) -> Iterator[str]:
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    about = sorted({(each["dev"], each["train"], each["epochs"], each["negatives"]) for each in found})
    for num_dev, num_train, epochs, negatives in about:
        yield f"n {num_dev:,} dev questions, {num_train:,} learned from, {negatives} negatives each, epochs: {epochs}."
    yield ""
    yield "| learns | error by seed | error | shortcut | long-tail | union |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name in (*(variant.name for variant in VARIANTS), SHORTLISTING):
        shares = [ErrorShares(**each["shares"]) for each in found if each["variant"] == name]
        if shares:
            by_seed = ", ".join(f"{each.error:.3f}" for each in shares)
            means = (mean(getattr(each, part.name) for each in shares) for part in fields(ErrorShares))
            yield f"| {name} | {by_seed} | {' | '.join(f'{value:.3f}' for value in means)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=Path, required=True, help="what `lodestar mine` wrote of training questions")
    parser.add_argument("--dev", type=Path, required=True, help="the same of dev questions")
    parser.add_argument("--shortlist", type=Path, required=True, help="folder of the checkpoint that shortlists")
    parser.add_argument("--work", type=Path, required=True, help="folder of the figures and of trainings under way")
    parser.add_argument("--questions", type=int, default=1_000_000, help="to learn from (default: all)")
    parser.add_argument("--negatives", type=int, default=5, help="for each question (default: 5)")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--seeds", type=int, nargs="+", default=(0, 1, 2))
    names = [variant.name for variant in VARIANTS]
    parser.add_argument("--variants", nargs="+", choices=names, default=names, help="to train (default: all)")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    data = read_examples(arguments)
    about = {
        "dev": len(data.dev.examples),
        "train": len(data.train.examples),
        "epochs": arguments.epochs,
        "negatives": arguments.negatives,
        "learning_rate": arguments.learning_rate,
        "mined": [data.train.mined.sha256, data.dev.mined.sha256],
        "shortlisted_by": file_sha256(arguments.shortlist / "star.json"),
    }

    def keep(name: str, seed: int, settings: Mapping[str, Any], shares: Callable[[], ErrorShares]) -> None:
        kept = arguments.work / f"{name}-{seed}.json"
        if not kept.exists():
            kept.write_text(json.dumps({"variant": name, "seed": seed, **settings, "shares": asdict(shares())}))
        elif not settings.items() <= json.loads(kept.read_text()).items():
            raise SystemExit(f"{kept} is of other settings: name another --work")

    shortlisting = zip(data.dev.examples, data.dev_stop, strict=True)
    keep(SHORTLISTING, 0, about, lambda: error_shares(shortlisting, data.dev, data.vectors, data.known))
    for seed in arguments.seeds:
        for variant in (each for each in VARIANTS if each.name in arguments.variants):
            settings = {**about, "options": asdict(options_of(variant, arguments))}
            keep(variant.name, seed, settings, partial(errors_of, variant, data, seed, arguments, settings))
    print("\n".join(table(arguments.work)))


if __name__ == "__main__":
    main()
