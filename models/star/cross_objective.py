"""What the cross-attentive scorer learns from: the positives of a question against its hardest negatives."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from .backbone import device_of
from .batches import cross_batch, part_of, path_words
from .cross_encoder import CrossAttentiveScorer
from .examples import Candidates, Example, ExampleSet, Floats
from .figures import first_path_figures
from .losses import listwise, path_weighted_contrastive
from .mixing import MIXES, best_mix, mixed
from .objective import Figures
from .path_weights import path_weights
from .paths import Ints
from .pool import Negatives, Pool, pool_of
from .ranges import check_ranges
from .shares import Positives, shares_of
from .texts import Texts

PAIRS_AT_ONCE = 256

Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CrossOptions:
    """How the cross-attentive scorer learns. The paper's own setting is ``loss="contrastive"``, ``positives`` and
    ``negatives`` "hard" and `path_weights`; the defaults were chosen on dev questions of FB15k-237 (docs/training.md).

    pool_size: negatives a question is given. num_negatives: the hardest of them by the network's own scores, taken
    anew each epoch, that it learns from. num_positives: the paths with the largest shares. w_min, w_max: the range of
    path weights. temperature: τ of the contrastive loss. shortlist: paths a question that dev figures are taken over.
    residual: the listwise loss is of the sum with the dual encoder's scores, so that the network learns what that one
    gets wrong.
    """

    batch_size: int = 8
    loss: Literal["listwise", "contrastive"] = "listwise"
    positives: Positives = "f1"
    negatives: Negatives = "reach"
    any_weight: float = 0.1
    path_weights: bool = False
    w_min: float = 0.5
    w_max: float = 1.5
    temperature: float = 0.05
    num_positives: int = 4
    num_negatives: int = 12
    pool_size: int = 32
    rescore: bool = True
    residual: bool = True
    shortlist: int = 16

    def __post_init__(self) -> None:
        check_ranges(
            self,
            batch_size=(1, math.inf),
            any_weight=(0.0, math.inf),
            w_min=(0.0, self.w_max),
            temperature=(1e-6, math.inf),
            num_positives=(1, math.inf),
            num_negatives=(1, math.inf),
            pool_size=(1, math.inf),
            shortlist=(1, math.inf),
        )


class CrossObjective:
    """Learns to put positives before the negatives of a pool (see `CrossOptions`).

    `train_stop` and `dev_stop` are the dual encoder's scores of the reachable paths, per file and example; `mix` is the
    weight beside them (see `mixing`), None to choose it at each evaluation.
    """

    def __init__(
        self,
        network: CrossAttentiveScorer,
        texts: Texts,
        train: Sequence[ExampleSet],
        dev: Sequence[ExampleSet],
        train_stop: Sequence[Sequence[Floats]],
        dev_stop: Sequence[Sequence[Floats]],
        options: CrossOptions,
        seed: int,
        mix: float | None = None,
    ) -> None:
        self._network = network
        self.texts = texts
        self.train = train
        self.dev = dev
        self.dev_stop = dev_stop
        self.options = options
        self.seed = seed
        self.mix = mix
        self._pools = self._pooled(train_stop)
        self._weights = self._weighted() if options.path_weights else {}
        self._hardest: dict[Key, Ints] = {}
        self._batches: list[list[Key]] = []
        self._order(0)

    @property
    def network(self) -> CrossAttentiveScorer:
        """The cross-attentive scorer."""
        return self._network

    @property
    def steps_per_epoch(self) -> int:
        """Batches of one epoch."""
        return len(self._batches)

    def _pooled(self, stop: Sequence[Sequence[Floats]]) -> dict[Key, Pool]:
        options = self.options
        pools: dict[Key, Pool] = {}
        for number, examples in enumerate(self.train):
            for at, example in enumerate(examples.examples):
                shares = shares_of(example, options.positives, options.any_weight)
                if shares.any():
                    pools[number, at] = pool_of(
                        example,
                        shares,
                        options.negatives,
                        stop[number][at],
                        num_positives=options.num_positives,
                        num_negatives=options.pool_size,
                        chance=random.Random(f"{self.seed}/{number}/{example.id}"),  # noqa: S311 - a sample, no secret
                    )
        return pools

    def _weighted(self) -> dict[tuple[int, int, bool], float]:
        """Return the weight of each path of each class: by file, path and whether it is a positive."""
        options = self.options
        classes: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
        for (number, _), pool in self._pools.items():
            classes[True] += [(number, int(path)) for path in pool.positives.paths]
            classes[False] += [(number, int(path)) for path in pool.negatives.paths]
        return {
            (number, path, is_positive): weight
            for is_positive, occurrences in classes.items()
            for (number, path), weight in path_weights(occurrences, options.w_min, options.w_max).items()
        }

    def begin(self, epoch: int) -> None:
        """Order the questions, and take the hardest negatives of each pool by the network as it is."""
        self._order(epoch)
        self._hardest = {}
        if self.options.rescore and epoch > 0:
            self._rescore()

    def state(self) -> dict[str, Tensor]:
        """Return the rows of the hardest negatives in their pools."""
        if not self._hardest:
            return {}
        keys = list(self._hardest)
        return {"keys": torch.tensor(keys), "rows": torch.from_numpy(np.stack([self._hardest[key] for key in keys]))}

    def resume(self, epoch: int, state: Mapping[str, Tensor]) -> None:
        """Prepare an epoch with the hardest negatives as they were."""
        self._order(epoch)
        self._hardest = {}
        if state:
            keys = [(int(number), int(at)) for number, at in state["keys"].tolist()]
            self._hardest = dict(zip(keys, state["rows"].numpy(), strict=True))

    def _order(self, epoch: int) -> None:
        chance = random.Random(f"{self.seed}/{epoch}")  # noqa: S311 - an order, no secret
        keys = list(self._pools)
        chance.shuffle(keys)
        size = self.options.batch_size
        self._batches = [keys[at : at + size] for at in range(0, len(keys), size)]

    def _rescore(self) -> None:
        keys = [key for key, pool in self._pools.items() if len(pool.negatives) > self.options.num_negatives]
        pairs = [pair for key in keys for pair in self._pairs(key, self._pools[key].negatives)]
        scores = self.score(pairs)
        start = 0
        for key in keys:
            negatives = self._pools[key].negatives
            own = scores[start : start + len(negatives)]
            start += len(negatives)
            if self.options.residual:
                own = own + self._pools[key].negative_stop
            self._hardest[key] = np.argsort(-own, kind="stable")[: self.options.num_negatives]

    def _negatives(self, key: Key) -> Candidates:
        pool = self._pools[key].negatives
        rows = self._rows(key)
        return Candidates(pool.paths[rows], pool.topics[rows])

    def _rows(self, key: Key) -> Ints:
        """Return the rows of the negatives to learn from in their pool."""
        num_negatives = min(len(self._pools[key].negatives), self.options.num_negatives)
        return self._hardest.get(key, np.arange(num_negatives))

    def _stop(self, key: Key) -> Floats:
        """Return the dual encoder's scores of the positives and of the negatives to learn from."""
        pool = self._pools[key]
        return np.concatenate([pool.positive_stop, pool.negative_stop[self._rows(key)]])

    def _pairs(self, key: Key, candidates: Candidates) -> list[tuple[str, str]]:
        return pairs_of(self.train[key[0]], self.train[key[0]].examples[key[1]], candidates)

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        """Return the loss of a batch."""
        keys, counts = part_of(self._batches[step], shard)
        negatives = [self._negatives(key) for key in keys]
        pairs = [
            pair
            for key, wrong in zip(keys, negatives, strict=True)
            for candidates in (self._pools[key].positives, wrong)
            for pair in self._pairs(key, candidates)
        ]
        logits = network(cross_batch(self.texts, pairs).to(device_of(network)))
        total = torch.zeros((), device=logits.device)
        start = 0
        for key, wrong in zip(keys, negatives, strict=True):
            num_pairs = len(self._pools[key].positives) + len(wrong)
            total = total + self._loss_of(key, wrong, logits[start : start + num_pairs])
            start += num_pairs
        return counts * total / len(keys)

    def _loss_of(self, key: Key, negatives: Candidates, logits: Tensor) -> Tensor:
        pool = self._pools[key]
        num_positives = len(pool.positives)
        shares = torch.zeros_like(logits)
        shares[:num_positives] = torch.from_numpy(pool.shares).to(logits.device)
        if self.options.loss == "listwise":
            before = torch.from_numpy(self._stop(key)).to(logits) if self.options.residual else 0.0
            return listwise(before + logits, shares)
        weights = torch.ones_like(logits)
        if self._weights:
            rows = [(path, True) for path in pool.positives.paths] + [(path, False) for path in negatives.paths]
            weights = torch.tensor([self._weights[key[0], int(p), right] for p, right in rows]).to(logits)
        is_positive = torch.arange(len(logits), device=logits.device) < num_positives
        scores = logits.sigmoid()
        return path_weighted_contrastive(scores, is_positive, weights, self.options.temperature, shares)

    def score(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Return the logits of pairs, (num_pairs,)."""
        network, device = self._network, device_of(self._network)
        training = network.training
        network.eval()
        order = np.argsort([len(question) + len(path) for question, path in pairs], kind="stable")
        logits = np.zeros(len(pairs), dtype=np.float32)
        with torch.inference_mode():
            for at in range(0, len(order), PAIRS_AT_ONCE):
                rows = order[at : at + PAIRS_AT_ONCE]
                batch = cross_batch(self.texts, [pairs[row] for row in rows]).to(device)
                logits[rows] = network(batch).float().cpu().numpy()
        network.train(training)
        return logits

    def evaluate(self) -> Figures:
        """Return the figures of the first path: the dual encoder's shortlist in the order of both networks' scores."""
        ranked = list(self.shortlisted())
        mix, figures = best_mix(ranked, MIXES if self.mix is None else (self.mix,))
        alone = first_path_figures((e, mixed(stop, cross, rows, 1.0)) for e, stop, cross, rows in ranked)
        return {**figures, "mix": mix, **{f"cross_{name}": value for name, value in alone.items()}}

    def shortlisted(self) -> Iterator[tuple[Example, Floats, Floats, Ints]]:
        """Yield each dev example with the dual encoder's scores, and the cross scores of the shortlisted rows."""
        found: list[tuple[Example, Floats, Ints]] = []
        pairs: list[tuple[str, str]] = []
        for examples, stops in zip(self.dev, self.dev_stop, strict=True):
            for example, stop in zip(examples.examples, stops, strict=True):
                rows = np.argsort(-stop, kind="stable")[: self.options.shortlist]
                chosen = Candidates(example.reachable.paths[rows], example.reachable.topics[rows])
                pairs += pairs_of(examples, example, chosen)
                found.append((example, stop, rows))
        logits = self.score(pairs)
        start = 0
        for example, stop, rows in found:
            yield example, stop, logits[start : start + len(rows)], rows
            start += len(rows)


def pairs_of(examples: ExampleSet, example: Example, candidates: Candidates) -> list[tuple[str, str]]:
    """Return the question with the words of each path."""
    return [
        (example.text, path_words(example.mentions[topic], examples.table.path_hops(path)))
        for path, topic in zip(candidates.paths.tolist(), candidates.topics.tolist(), strict=True)
    ]
