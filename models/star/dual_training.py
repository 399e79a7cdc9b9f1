"""Train STAR's dual encoder."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ..training.objective import Figures, TrainingOptions
from .backbone import device_of
from .batches import FileBatchObjective, dual_batch, part_of, split_batches
from .config import DualOptions
from .examples import (
    Candidates,
    ExampleSet,
    Floats,
    Ints,
    PathTable,
    QuestionExample,
    RelationExampleSet,
    sample_relation_examples,
)
from .mixing import compute_target_shares, first_path_figures
from .networks import DualEncoder, listwise_loss
from .texts import CachedTokenizer

EVALUATION_BATCH = 64


@dataclass(frozen=True, slots=True)
class _Targets:
    """The share of each path of a question, and of each prefix (see `iterate_continuations`)."""

    shares: Floats
    promises: tuple[tuple[Ints, Floats], ...]


class DualObjective(FileBatchObjective[DualEncoder]):
    """Listwise: the softmax over all reachable paths of a question against the target shares.

    stop: each path followed by END. extend: among the paths of each length that can continue, the part of the shares
    that lies beyond each; the search uses it to rank a beam.
    """

    def __init__(
        self,
        network: DualEncoder,
        texts: CachedTokenizer,
        train: Sequence[ExampleSet],
        dev: Sequence[ExampleSet],
        options: DualOptions,
        training: TrainingOptions,
        pairs: RelationExampleSet | None = None,
    ) -> None:
        self.texts = texts
        self.dev = dev
        self.options = options
        self.pairs = pairs
        self.train = train
        self._targets = {
            (number, at): _Targets(shares, tuple(iterate_continuations(examples.table, example.reachable, shares)))
            for number, examples in enumerate(train)
            for at, example in enumerate(examples.examples)
            if (shares := compute_target_shares(example, options.positives, options.any_weight)).any()
        }
        super().__init__(network, self._targets, options.batch_size, training)

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        """Return the loss of a batch."""
        keys, counts = part_of(self._batches[step], shard)
        examples = [self.train[number].examples[at] for number, at in keys]
        table = self.train[keys[0][0]].table
        candidates = [example.reachable for example in examples]
        batch = dual_batch(self.texts, table, examples, candidates).to(device_of(network))
        stop, extend = network(batch)
        total: Tensor = 0.0 * extend.sum()  # every output takes part: distributed training requires it
        start = 0
        for key, each in zip(keys, candidates, strict=True):
            rows = slice(start, start + len(each))
            start += len(each)
            total = total + self._of_question(stop[rows], extend[rows], key)
        total = counts * total / len(keys)
        if self.pairs and self.pairs.pairs and self.options.pair_batch:
            total = total + self.options.pair_weight * self._pair_loss(
                network, f"{self.seed}/{self.epoch}/{step}/{shard[0]}"
            )
        return total

    def _of_question(self, stop: Tensor, extend: Tensor, key: tuple[int, int]) -> Tensor:
        """Return the loss of a question's paths, (num_reachable,) each."""
        targets = self._targets[key]
        total = listwise_loss(stop, torch.from_numpy(targets.shares).to(stop.device))
        for beginnings, beyond in targets.promises:
            chosen = torch.from_numpy(beginnings).to(stop.device)
            part = listwise_loss(extend[chosen], torch.from_numpy(beyond).to(stop.device))
            total = total + self.options.extend_weight * part
        return total

    def _pair_loss(self, network: nn.Module, seed: str) -> Tensor:
        """Return the cross-entropy of each pair's relations, in the direction that fits better."""
        assert self.pairs
        chance = random.Random(seed)  # noqa: S311 - a sample, no secret
        sample = sample_relation_examples(self.pairs, self.options.pair_batch, self.options.pair_others, chance)
        dual = self.network
        device = device_of(network)
        questions = dual.encode(self.texts.batch([self.texts.encode_single(text) for text in sample.texts]).to(device))
        parts, rows = split_batches(self.texts, [*sample.forwards, *sample.inverse], parts=3)
        hops = torch.cat([dual.encode(part.to(device)) for part in parts])[torch.from_numpy(rows).to(device)]
        scores = dual.log_scale.exp() * questions @ hops.T
        forwards, inverse = torch.tensor_split(scores, 2, dim=1)
        logs = torch.logaddexp(forwards, inverse).log_softmax(dim=1)
        return -torch.stack([logs[at, list(right)].mean() for at, right in enumerate(sample.right)]).mean()

    def evaluate(self) -> Figures:
        """Return the figures of the first path when all reachable paths are scored."""
        return first_path_figures(
            (example, stop) for examples in self.dev for example, stop in self.iterate_stop_scores(examples)
        )

    def iterate_stop_scores(self, examples: ExampleSet) -> Iterator[tuple[QuestionExample, Floats]]:
        """Yield each example with the stop scores of its reachable paths."""
        device = device_of(self.network)
        for start in range(0, len(examples.examples), EVALUATION_BATCH):
            chosen = examples.examples[start : start + EVALUATION_BATCH]
            candidates = [example.reachable for example in chosen]
            with torch.inference_mode():
                stop, _ = self.network(dual_batch(self.texts, examples.table, chosen, candidates).to(device))
            ends = np.cumsum([len(each) for each in candidates])[:-1]
            yield from zip(chosen, np.split(stop.float().cpu().numpy(), ends), strict=True)


def iterate_continuations(table: PathTable, reachable: Candidates, shares: Floats) -> Iterator[tuple[Ints, Floats]]:
    """Yield, for each length at which paths continue, the rows of those paths and the part of the shares beyond each.

    shares: (num_reachable,). The yielded parts sum to 1; lengths with nothing beyond are skipped.
    """
    depths, parents = table.depths(reachable.paths), table.parents(reachable.paths)
    row = {key: at for at, key in enumerate(zip(reachable.paths.tolist(), reachable.topics.tolist(), strict=True))}
    beyond = np.zeros(len(reachable), dtype=np.float32)
    for at in np.argsort(-depths, kind="stable"):
        before = row.get((int(parents[at]), int(reachable.topics[at])))
        if before is not None:
            beyond[before] += beyond[at] + shares[at]
    for depth in range(1, int(depths.max(initial=0))):
        rows = np.flatnonzero(depths == depth)
        total = beyond[rows].sum()
        if total > 0:
            yield rows, beyond[rows] / total
