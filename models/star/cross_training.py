"""Train STAR's cross-attentive scorer."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from ..training.objective import Figures, TrainingOptions
from .backbone import device_of
from .batches import FileBatchObjective, Key, cross_batch, part_of, path_words
from .config import Negatives, PoolTrainingOptions
from .examples import Candidates, ExampleSet, Floats, Ints, QuestionExample
from .mixing import MIXES, best_mix, compute_target_shares, first_path_figures, mix_shortlist_scores, path_weights
from .networks import listwise_loss, path_weighted_contrastive_loss
from .texts import CachedTokenizer

ExampleCandidates = Sequence[tuple[QuestionExample, Candidates]]
"""Examples of one file, each with some of its candidates."""


class PoolCandidateScorer(Protocol):
    """Scores candidates with a network."""

    def logits(
        self, network: nn.Module, texts: CachedTokenizer, examples: ExampleSet, selected: ExampleCandidates
    ) -> Tensor:
        """Return the logits of all candidates, example by example, (num_candidates,)."""
        ...

    def score(self, logits: Tensor, temperature: float) -> Tensor:
        """Return the score s of STAR's contrastive loss, which uses e^(s / τ), (num_candidates,)."""
        ...


class CrossCandidateScorer:
    """Encodes question and path together; s is the sigmoid of the logit."""

    def logits(
        self, network: nn.Module, texts: CachedTokenizer, examples: ExampleSet, selected: ExampleCandidates
    ) -> Tensor:
        """Return the logits of all candidates, (num_candidates,)."""
        pairs = [pair for example, candidates in selected for pair in pairs_of(examples, example, candidates)]
        found: Tensor = network(cross_batch(texts, pairs).to(device_of(network)))
        return found

    def score(self, logits: Tensor, temperature: float) -> Tensor:  # noqa: ARG002 - it is the same at each
        """Return σ(logit)."""
        return logits.sigmoid()


def pairs_of(examples: ExampleSet, example: QuestionExample, candidates: Candidates) -> list[tuple[str, str]]:
    """Return the question with the words of each path."""
    return [
        (example.text, path_words(example.mentions[topic], examples.table.path_hops(path)))
        for path, topic in zip(candidates.paths.tolist(), candidates.topics.tolist(), strict=True)
    ]


"""reach: the paths in the graph that the dual encoder ranks first (ours). hard: those of hard path mining (STAR,
section 4.1), in random order. walks: random paths in the graph (STAR without hard path mining).
"""


@dataclass(frozen=True, slots=True)
class TrainingPool:
    """Positives with their shares, and negatives, hardest first if the dual encoder chose them."""

    positives: Candidates
    shares: Floats
    negatives: Candidates


def pool_of(
    example: QuestionExample,
    shares: Floats,
    negatives: Negatives,
    shortlist: Floats,
    *,
    num_positives: int,
    num_negatives: int,
    chance: random.Random,
) -> TrainingPool:
    """Return the pool of a question. shares, shortlist: (num_reachable,), the latter the dual encoder's scores.

    A path to a right answer is never a negative.
    """
    best = np.argsort(-shares, kind="stable")[:num_positives]
    best = best[shares[best] > 0]
    wrong = np.flatnonzero(~example.is_right)
    if negatives == "reach":
        chosen = example.reachable.at(wrong[np.argsort(-shortlist[wrong], kind="stable")[:num_negatives]])
    else:
        drawn_from = example.reachable.at(wrong) if negatives == "walks" else example.negatives
        drawn = chance.sample(range(len(drawn_from)), min(num_negatives, len(drawn_from)))
        chosen = drawn_from.at(np.array(drawn, dtype=np.int64))
    return TrainingPool(example.reachable.at(best), shares[best] / shares[best].sum(), chosen)


EXAMPLES_AT_ONCE = 16


class PoolObjective(FileBatchObjective[nn.Module]):
    """Trains a network to score positives above the negatives of a pool (see `PoolTrainingOptions`); `reader` computes
    its scores.

    `train_stop` and `dev_stop` are the dual encoder's scores of the reachable paths, per file and example. `mix` is the
    network's weight against them (see `mix_shortlist_scores`); None to choose it at each evaluation.
    """

    def __init__(
        self,
        network: nn.Module,
        reader: PoolCandidateScorer,
        texts: CachedTokenizer,
        train: Sequence[ExampleSet],
        dev: Sequence[ExampleSet],
        train_stop: Sequence[Sequence[Floats]],
        dev_stop: Sequence[Sequence[Floats]],
        options: PoolTrainingOptions,
        training: TrainingOptions,
        mix: float | None = None,
    ) -> None:
        self.reader = reader
        self.texts = texts
        self.train = train
        self.dev = dev
        self.dev_stop = dev_stop
        self.options = options
        self.mix = mix
        self._pools = self._make_pools(train_stop, training.seed)
        self._weights = self._path_weights() if options.path_weights else {}
        self._hardest: dict[Key, Ints] = {}
        super().__init__(network, self._pools, options.batch_size, training)

    def _make_pools(self, stop: Sequence[Sequence[Floats]], seed: int) -> dict[Key, TrainingPool]:
        options = self.options
        pools: dict[Key, TrainingPool] = {}
        for number, examples in enumerate(self.train):
            for at, example in enumerate(examples.examples):
                shares = compute_target_shares(example, options.positives, options.any_weight)
                if shares.any():
                    pools[number, at] = pool_of(
                        example,
                        shares,
                        options.negatives,
                        stop[number][at],
                        num_positives=options.num_positives,
                        num_negatives=options.pool_size,
                        chance=random.Random(f"{seed}/{number}/{example.id}"),  # noqa: S311 - a sample, no secret
                    )
        return pools

    def _path_weights(self) -> dict[tuple[int, int, bool], float]:
        """Return the weight of each path per class: by file, path and whether it is a positive."""
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
        """Shuffle the questions, and choose the hardest negatives of each pool with the current network."""
        super().begin(epoch)
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
        """Prepare an epoch with the stored hardest negatives."""
        super().resume(epoch, state)
        self._hardest = {}
        if state:
            keys = [(int(number), int(at)) for number, at in state["keys"].tolist()]
            self._hardest = dict(zip(keys, state["rows"].numpy(), strict=True))

    def _rescore(self) -> None:
        keys = [key for key, pool in self._pools.items() if len(pool.negatives) > self.options.num_negatives]
        for number, examples in enumerate(self.train):
            own = [key for key in keys if key[0] == number]
            selected = [(examples.examples[at], self._pools[number, at].negatives) for _, at in own]
            for key, scores in zip(own, self.score(examples, selected), strict=True):
                self._hardest[key] = np.argsort(-scores, kind="stable")[: self.options.num_negatives]

    def _negatives(self, key: Key) -> Candidates:
        pool = self._pools[key].negatives
        rows = self._hardest.get(key, np.arange(min(len(pool), self.options.num_negatives)))
        return pool.at(rows)

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        """Return the loss of a batch."""
        keys, counts = part_of(self._batches[step], shard)
        negatives = [self._negatives(key) for key in keys]
        examples = self.train[keys[0][0]]
        selected = [
            (examples.examples[key[1]], self._pools[key].positives.concatenate(wrong))
            for key, wrong in zip(keys, negatives, strict=True)
        ]
        logits = self.reader.logits(network, self.texts, examples, selected)
        total = logits.new_zeros(())
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
            return listwise_loss(logits, shares)
        weights = torch.ones_like(logits)
        if self._weights:
            rows = [(path, True) for path in pool.positives.paths] + [(path, False) for path in negatives.paths]
            weights = torch.tensor([self._weights[key[0], int(p), right] for p, right in rows]).to(logits)
        is_positive = torch.arange(len(logits)).to(logits.device) < num_positives
        scores = self.reader.score(logits, self.options.temperature)
        return path_weighted_contrastive_loss(scores, is_positive, weights, self.options.temperature, shares)

    def score(self, examples: ExampleSet, selected: ExampleCandidates) -> list[Floats]:
        """Return the logits of each example's candidates, (num_candidates,) each."""
        network = self.network
        training = network.training
        network.eval()
        found: list[Floats] = []
        with torch.inference_mode():
            for at in range(0, len(selected), EXAMPLES_AT_ONCE):
                some = selected[at : at + EXAMPLES_AT_ONCE]
                logits = self.reader.logits(network, self.texts, examples, some).float().cpu().numpy()
                found += np.split(logits, np.cumsum([len(candidates) for _, candidates in some])[:-1])
        network.train(training)
        return found

    def evaluate(self) -> Figures:
        """Return the figures of the first path: both networks' scores order the dual encoder's shortlist."""
        ranked = list(self.iterate_shortlist_scores())
        mix, figures = best_mix(ranked, MIXES if self.mix is None else (self.mix,))
        alone = first_path_figures((e, mix_shortlist_scores(stop, own, rows, 1.0)) for e, stop, own, rows in ranked)
        return {**figures, "mix": mix, **{f"alone_{name}": value for name, value in alone.items()}}

    def iterate_shortlist_scores(self) -> Iterator[tuple[QuestionExample, Floats, Floats, Ints]]:
        """Yield each dev example with the dual encoder's scores, and the network's scores of the shortlisted rows."""
        for examples, stops in zip(self.dev, self.dev_stop, strict=True):
            best = [np.argsort(-stop, kind="stable")[: self.options.shortlist] for stop in stops]
            selected = [(e, e.reachable.at(rows)) for e, rows in zip(examples.examples, best, strict=True)]
            yield from zip(examples.examples, stops, self.score(examples, selected), best, strict=True)
