"""Train STAR's two networks: the dual encoder on all paths in reach, the cross-attentive scorer on mined pools."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ..similarity import lower_other_scores
from ..training.kind import Figures, ParameterGroup, TrainingOptions, encoder_and_heads, select_trained_weights
from .backbone import device_of
from .batches import CachedTokenizer, cross_batch, dual_batch, path_words
from .config import DualOptions, PoolTrainingOptions, Targets
from .examples import (
    Candidates,
    ExampleSet,
    Floats,
    Ints,
    PathTable,
    QuestionExample,
)
from .networks import DualEncoder, listwise_loss, path_weighted_contrastive_loss

Key = tuple[int, int]
"""The number of a mined file, and of an example in it."""
KeyT = TypeVar("KeyT")
NetworkT = TypeVar("NetworkT", bound=nn.Module)


class FileBatchObjective(Generic[NetworkT]):
    """An `Objective` except for `loss` and `evaluate`; each batch comes from one mined file."""

    def __init__(self, network: NetworkT, keys: Collection[Key], batch_size: int, training: TrainingOptions) -> None:
        self.network = network
        self.training = training
        self.seed = training.seed
        self._keys = keys
        self._batch_size = batch_size
        self.begin(0)

    def groups(self) -> list[ParameterGroup]:
        """Return the encoder's parameters and the others."""
        return encoder_and_heads(self.network, self.training)

    def get_weights(self) -> dict[str, Tensor]:
        """Return the network's weights."""
        return select_trained_weights(self.network)

    @property
    def steps_per_epoch(self) -> int:
        """Batches per epoch."""
        return len(self._batches)

    def begin(self, epoch: int) -> None:
        """Shuffle each file's examples, and the order of the batches."""
        self.epoch = epoch
        chance = random.Random(f"{self.seed}/{epoch}")  # noqa: S311 - an order, no secret
        self._batches = batches_of_files(self._keys, self._batch_size, chance)

    def state(self) -> dict[str, Tensor]:
        """Return nothing: the batches of an epoch depend only on its number."""
        return {}

    def resume(self, epoch: int, state: Mapping[str, Tensor]) -> None:
        """Shuffle as `begin` did."""
        del state
        FileBatchObjective.begin(self, epoch)


def part_of(batch: Sequence[KeyT], shard: tuple[int, int]) -> tuple[Sequence[KeyT], float]:
    """Return a rank's part of a batch, never empty, and the weight of its mean loss.

    shard: (rank, number of ranks). The mean of all ranks' weighted losses is the mean loss of the batch.
    """
    rank, num_ranks = shard
    part = batch[rank::num_ranks]
    return part or batch[:1], len(part) * num_ranks / len(batch)


def batches_of_files(keys: Iterable[Key], size: int, chance: random.Random) -> list[list[Key]]:
    """Return (file, example) in batches of one file each; each file's examples are shuffled, and so are the batches."""
    rows_of: dict[int, list[Key]] = {}
    for key in keys:
        rows_of.setdefault(key[0], []).append(key)
    batches = []
    for rows in rows_of.values():
        chance.shuffle(rows)
        batches += [rows[at : at + size] for at in range(0, len(rows), size)]
    chance.shuffle(batches)
    return batches


PathT = TypeVar("PathT", bound=Hashable)


def path_weights(paths: Sequence[PathT], w_min: float, w_max: float) -> Mapping[PathT, float]:
    """Return the weight of each distinct path of a class (all positives, or all negatives, of the training set).

        w_raw(p) = |class| / count(p),  scaled linearly so that the class's smallest is w_min and its largest w_max

    `paths` has one entry per occurrence. If all paths are equally frequent, each weighs w_max. Scaling linearly within
    the class is our reading: the paper says "scaled to a fixed range".
    """
    counts = Counter(paths)
    raw = {path: len(paths) / count for path, count in counts.items()}
    if len(set(raw.values())) < 2:
        return dict.fromkeys(raw, w_max)
    least, most = min(raw.values()), max(raw.values())
    return {path: w_min + (w_max - w_min) * (value - least) / (most - least) for path, value in raw.items()}


def compute_target_shares(example: QuestionExample, positives: Targets, any_weight: float) -> Floats:
    """Return the share of each reachable path, (num_reachable,), summing to 1; all 0 without positives.

    `any_weight` is a bonus on F1 for reaching a right answer at all, with the positives `f1`. If an annotator wrote the
    question's paths, only these count, equally.
    """
    if positives == "hard":
        raw = example.positive.astype(np.float32)
    else:
        raw = example.f1 + any_weight * example.is_right
        if example.positive.any() and example.has_gold:
            raw = example.positive.astype(np.float32)
    total = raw.sum()
    shares: Floats = (raw / total if total else raw).astype(np.float32)
    return shares


NAMES = ("hits_at_1_any", "hits_at_1_expected", "f1")


def first_path_figures(ranked: Iterable[tuple[QuestionExample, Floats]]) -> Figures:
    """Return the figures of the best path of each question, given the scores of its reachable paths.

    hits_at_1_any: it leads to a right answer. hits_at_1_expected: the share of its ends that are right. f1: of its
    ends. Each as mean over questions and, as ``…_by_topic``, over topics. `selection_metric` is the mean
    of the three: each alone rewards paths that are too wide or too narrow.
    """
    rows: list[tuple[float, float, float]] = []
    topics: dict[tuple[str, ...], list[tuple[float, float, float]]] = {}
    for example, scores in ranked:
        best = int(np.argmax(scores))
        row = (float(example.f1[best] > 0), float(example.precision[best]), float(example.f1[best]))
        rows.append(row)
        topics.setdefault(tuple(sorted(example.topic_ids)), []).append(row)
    means = np.mean(rows, axis=0)
    by_topic = np.mean([np.mean(group, axis=0) for group in topics.values()], axis=0)
    return {
        "selection_metric": float(means.mean()),
        **{name: float(value) for name, value in zip(NAMES, means, strict=True)},
        **{f"{name}_by_topic": float(value) for name, value in zip(NAMES, by_topic, strict=True)},
    }


MIXES = tuple(step / 20 for step in range(21))

Rows = npt.NDArray[np.int64]


def blend_scores(stop: Floats, cross: Floats, mix: float) -> Floats:
    """Return the weighted sum, (num_paths,), of both networks' scores of the same paths. mix: λ."""
    return np.asarray((1 - mix) * stop + mix * cross, dtype=np.float32)


def mix_shortlist_scores(stop: Floats, cross: Floats, rows: Rows, mix: float) -> Floats:
    """Return the scores of all paths. stop: (num_paths,). cross: (num_shortlisted,), of the paths at `rows`. mix: λ."""
    scores = stop.copy()
    scores[rows] = blend_scores(stop[rows], cross, mix)
    lower_other_scores(scores, rows)
    return scores


def best_mix(
    ranked: Sequence[tuple[QuestionExample, Floats, Floats, Rows]], mixes: Sequence[float] = MIXES
) -> tuple[float, Figures]:
    """Return the λ with the best figures on these dev examples, and the figures; ties go to the smallest λ."""
    figures = {
        mix: first_path_figures(
            (example, mix_shortlist_scores(stop, cross, rows, mix)) for example, stop, cross, rows in ranked
        )
        for mix in mixes
    }
    best = max(mixes, key=lambda mix: (figures[mix]["selection_metric"], -mix))
    return best, figures[best]


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
    ) -> None:
        self.texts = texts
        self.dev = dev
        self.options = options
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
        return counts * total / len(keys)

    def _of_question(self, stop: Tensor, extend: Tensor, key: tuple[int, int]) -> Tensor:
        """Return the loss of a question's paths, (num_reachable,) each."""
        targets = self._targets[key]
        total = listwise_loss(stop, torch.from_numpy(targets.shares).to(stop.device))
        for beginnings, beyond in targets.promises:
            chosen = torch.from_numpy(beginnings).to(stop.device)
            part = listwise_loss(extend[chosen], torch.from_numpy(beyond).to(stop.device))
            total = total + self.options.extend_weight * part
        return total

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


ExampleCandidates = Sequence[tuple[QuestionExample, Candidates]]
"""Examples of one file, each with some of its candidates."""


def pairs_of(examples: ExampleSet, example: QuestionExample, candidates: Candidates) -> list[tuple[str, str]]:
    """Return the question with the words of each path."""
    return [
        (example.text, path_words(example.mentions[topic], examples.table.path_hops(path)))
        for path, topic in zip(candidates.paths.tolist(), candidates.topics.tolist(), strict=True)
    ]


@dataclass(frozen=True, slots=True)
class TrainingPool:
    """Positives and negatives of a question."""

    positives: Candidates
    negatives: Candidates


def pool_of(example: QuestionExample, options: PoolTrainingOptions, chance: random.Random) -> TrainingPool:
    """Return the pool of a question. A path to a right answer is never a negative."""
    if options.positives == "hard":
        right = np.flatnonzero(example.positive)[: options.num_positives]
    else:
        right = np.array([at for at in [example.first_shortest] if at >= 0], dtype=np.int64)
    drawn_from = example.negatives
    if options.negatives == "walks":
        drawn_from = example.reachable.at(np.flatnonzero(~example.is_right))
    drawn = chance.sample(range(len(drawn_from)), min(options.pool_size, len(drawn_from)))
    return TrainingPool(example.reachable.at(right), drawn_from.at(np.array(drawn, dtype=np.int64)))


EXAMPLES_AT_ONCE = 16


class PoolObjective(FileBatchObjective[nn.Module]):
    """Trains a network to score positives above the negatives of a pool (see `PoolTrainingOptions`).

    `dev_stop` are the dual encoder's scores of the reachable paths, per file and example. `mix` is the
    network's weight against them (see `mix_shortlist_scores`); None to choose it at each evaluation.
    """

    def __init__(
        self,
        network: nn.Module,
        texts: CachedTokenizer,
        train: Sequence[ExampleSet],
        dev: Sequence[ExampleSet],
        dev_stop: Sequence[Sequence[Floats]],
        options: PoolTrainingOptions,
        training: TrainingOptions,
        mix: float | None = None,
    ) -> None:
        self.texts = texts
        self.train = train
        self.dev = dev
        self.dev_stop = dev_stop
        self.options = options
        self.mix = mix
        self.pools = self._make_pools(training.seed)
        self._weights = self._path_weights() if options.path_weights else {}
        self._hardest: dict[Key, Ints] = {}
        super().__init__(network, self.pools, options.batch_size, training)

    def _make_pools(self, seed: int) -> dict[Key, TrainingPool]:
        pools: dict[Key, TrainingPool] = {}
        for number, examples in enumerate(self.train):
            for at, example in enumerate(examples.examples):
                chance = random.Random(f"{seed}/{number}/{example.id}")  # noqa: S311 - a sample, no secret
                pool = pool_of(example, self.options, chance)
                if len(pool.positives):
                    pools[number, at] = pool
        return pools

    def _path_weights(self) -> dict[tuple[int, int, bool], float]:
        """Return the weight of each path per class: by file, path and whether it is a positive."""
        options = self.options
        classes: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
        for (number, _), pool in self.pools.items():
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
        if self.options.negatives == "hard" and epoch > 0:
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
        keys = [key for key, pool in self.pools.items() if len(pool.negatives) > self.options.num_negatives]
        for number, examples in enumerate(self.train):
            own = [key for key in keys if key[0] == number]
            selected = [(examples.examples[at], self.pools[number, at].negatives) for _, at in own]
            for key, scores in zip(own, self.score(examples, selected), strict=True):
                self._hardest[key] = np.argsort(-scores, kind="stable")[: self.options.num_negatives]

    def _negatives(self, key: Key) -> Candidates:
        pool = self.pools[key].negatives
        rows = self._hardest.get(key, np.arange(min(len(pool), self.options.num_negatives)))
        return pool.at(rows)

    def logits(self, network: nn.Module, examples: ExampleSet, selected: ExampleCandidates) -> Tensor:
        """Return the logits of all candidates, example by example, (num_candidates,)."""
        pairs = [pair for example, candidates in selected for pair in pairs_of(examples, example, candidates)]
        found: Tensor = network(cross_batch(self.texts, pairs).to(device_of(network)))
        return found

    def path_scores(self, logits: Tensor) -> Tensor:
        """Return the score s of STAR's contrastive loss, which uses e^(s / τ), (num_candidates,): σ(logit)."""
        return logits.sigmoid()

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        """Return the loss of a batch."""
        keys, counts = part_of(self._batches[step], shard)
        negatives = [self._negatives(key) for key in keys]
        examples = self.train[keys[0][0]]
        selected = [
            (examples.examples[key[1]], self.pools[key].positives.concatenate(wrong))
            for key, wrong in zip(keys, negatives, strict=True)
        ]
        logits = self.logits(network, examples, selected)
        total = logits.new_zeros(())
        start = 0
        for key, wrong in zip(keys, negatives, strict=True):
            num_pairs = len(self.pools[key].positives) + len(wrong)
            total = total + self._loss_of(key, wrong, logits[start : start + num_pairs])
            start += num_pairs
        return counts * total / len(keys)

    def _loss_of(self, key: Key, negatives: Candidates, logits: Tensor) -> Tensor:
        pool = self.pools[key]
        num_positives = len(pool.positives)
        weights = torch.ones_like(logits)
        if self._weights:
            rows = [(path, True) for path in pool.positives.paths] + [(path, False) for path in negatives.paths]
            weights = torch.tensor([self._weights[key[0], int(p), right] for p, right in rows]).to(logits)
        is_positive = torch.arange(len(logits)).to(logits.device) < num_positives
        scores = self.path_scores(logits)
        return path_weighted_contrastive_loss(scores, is_positive, weights, self.options.temperature)

    def score(self, examples: ExampleSet, selected: ExampleCandidates) -> list[Floats]:
        """Return the logits of each example's candidates, (num_candidates,) each."""
        network = self.network
        training = network.training
        network.eval()
        found: list[Floats] = []
        with torch.inference_mode():
            for at in range(0, len(selected), EXAMPLES_AT_ONCE):
                some = selected[at : at + EXAMPLES_AT_ONCE]
                logits = self.logits(network, examples, some).float().cpu().numpy()
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
