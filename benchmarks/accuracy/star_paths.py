"""STAR's networks for `papers`: each trained on mined paths with one thing changed, and what its first paths are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lodestar.models.kinds import TrainingOptions
from lodestar.models.mined_files import MinedQuestion, read_mined_file
from lodestar.models.star import SPECIAL_TOKENS, DualTrainingOptions, PoolTrainingOptions
from lodestar.models.star import network as star
from lodestar.models.star import training as learning
from lodestar.models.text import verbalise_path
from lodestar.models.text.bert import open_pretrained
from lodestar.models.text.encoders import SentenceEncoder
from lodestar.models.text.vectors import TextVectors
from lodestar.models.training import train_objective
from torch import Tensor

ENCODER = "all-MiniLM-L6-v2"
TAIL = 0.2
"""The least frequent share of training paths, and those that tie with the last of them, are the long tail."""
RIGHT, SHORTCUT, RARE = "first path right", "no shortcut error", "no long-tail error"
PATH_F1 = "F1 of the first path"
Scores = dict[str, list[float]]
"""By measure, a figure for each question."""


class DualPoolObjective(learning.ContrastivePoolObjective):
    """Encodes question and path separately; s is the stop score times τ, as the network has its own scale."""

    def logits(self, examples: learning.ExampleSet, selected: learning.ExampleCandidates) -> Tensor:
        some, candidates = zip(*selected, strict=True)
        stop: Tensor = self.network(learning.make_dual_batch(self.texts, examples.table, some, candidates))[0]
        return stop

    def path_scores(self, logits: Tensor) -> Tensor:
        return logits * self.options.temperature


def without_mining(question: MinedQuestion) -> MinedQuestion:
    """Return a question with its shortest paths as positives, of which a pool takes the first in reach."""
    return replace(question, paths=tuple(replace(path, positive=path.shortest) for path in question.paths))


def score_first_paths(
    options: PoolTrainingOptions | DualTrainingOptions,
    is_cross: bool,
    mines: bool,
    seed: int,
    epochs: int,
    mined: Sequence[Path],
    device: str = "cpu",
) -> tuple[list[str], Scores]:
    """Train a network, and return the ids of the questions with the figures of their first paths.

    Networks over pools order the same shortlist: that of the dual encoder of the same seed, which is trained before.
    mines: with the positives and negatives of hard path mining; else a pool has a shortest path and random walks, and
    the dual encoder learns from all paths by F1. mined: files of paths to learn from, to choose the epoch and to be
    asked.
    """
    files = [read_mined_file(file) for file in mined]
    learn, choose, dev = (learning.make_examples([file]) for file in files)
    is_pool = isinstance(options, PoolTrainingOptions)
    own = learn
    if is_pool and not mines:
        questions = tuple(map(without_mining, files[0].questions))
        own = learning.make_examples([replace(files[0], questions=questions)])
        walks = (replace(each, negatives=each.reachable[~each.is_right]) for each in own.examples)
        own = replace(own, examples=tuple(walks))
    elif not is_pool and mines:
        own = replace(own, examples=tuple(replace(each, f1=each.positive.astype(np.float32)) for each in own.examples))
    num_epochs = epochs if is_pool else 2 * epochs
    precision = "float32" if device == "cpu" else "bfloat16"
    how = TrainingOptions(epochs=num_epochs, learning_rate=1e-4, patience=num_epochs, precision=precision, seed=seed)
    torch.manual_seed(seed)
    backbone = open_pretrained(ENCODER, SPECIAL_TOKENS)
    network: Any = (star.CrossAttentiveScorer if is_cross else star.DualEncoder)(backbone).to(device)
    texts = star.CachedTokenizer(backbone.tokenizer)
    what = f"{is_cross}-{mines}-{getattr(options, 'w_min', '')}"
    state, stops = mined[0].with_name(f"{what}-{seed}.safetensors"), mined[0].with_name(f"stops-{seed}.npz")
    if isinstance(options, PoolTrainingOptions):
        with np.load(stops) as kept:
            stop = [kept[name] for name in kept.files]
        size = len(choose.examples)
        kind: Any = learning.ContrastivePoolObjective if is_cross else DualPoolObjective
        objective = kind(network, texts, own, choose, stop[:size], options, how, mix=1.0)
        train_objective(objective, state, asdict(options))
        objective.dev, objective.dev_stop = dev, stop[size:]
        with objective.autocast():
            ranked = learning.mix_network_scores(objective.iterate_shortlist_scores(), 1.0)
    else:
        objective = learning.ListwiseDualObjective(network, texts, own, choose, options, how)
        train_objective(objective, state, asdict(options))
        with objective.autocast():
            chosen, ranked = (list(objective.iterate_stop_scores(examples)) for examples in (choose, dev))
        if not mines:
            np.savez(stops, *(stop for _, stop in (*chosen, *ranked)))
    state.unlink(missing_ok=True)
    return [example.id for example, _ in ranked], first_paths(ranked, dev, learn)


def first_paths(ranked: Sequence[Any], dev: learning.ExampleSet, learn: learning.ExampleSet) -> Scores:
    """Return the figures of the first path of each question. A wrong one is a shortcut error if it is at least as
    similar to the question as the best right one (our reading: the paper has no threshold), and a long-tail error if
    the best right path is rare in training.
    """
    vectors = TextVectors(SentenceEncoder(ENCODER))
    paths = (learn.table.written[path] for each in learn.examples for path in each.reachable[each.positive, 0])
    counts = Counter(paths)
    rare = sorted(counts.values())[max(0, round(TAIL * len(counts)) - 1)]
    found: Scores = {RIGHT: [], PATH_F1: [], SHORTCUT: [], RARE: []}
    for example, scores in ranked:
        places = int(np.argmax(scores)), int(np.argmax(example.f1))
        first, right = (int(example.reachable[place, 0]) for place in places)
        question = example.masked[int(example.reachable[places[0], 1])]
        both = [verbalise_path(dev.table.path_hops(path)) for path in (first, right)]
        near, own = (float(vectors.sentence(question) @ vectors.sentence(text)) for text in both)
        is_right = bool(example.is_right[places[0]])
        found[RIGHT].append(float(is_right))
        found[PATH_F1].append(float(example.f1[places[0]]))
        found[SHORTCUT].append(float(is_right or near < own))
        found[RARE].append(float(is_right or counts.get(dev.table.written[right], 0) > rare))
    return found
