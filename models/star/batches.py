"""Build batches for both of STAR's networks, distinct texts once and in parts of similar length, each of one file."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from ..text.verbalise import Hop, verbalise_hop
from ..training.objective import ParameterGroup, TrainingOptions, encoder_and_heads, select_trained_weights
from .examples import Candidates, Ints, PathTable, QuestionExample
from .networks import CrossBatch, DualBatch
from .texts import CachedTokenizer, TextBatch

PARTS = 6

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


def split_batches(texts: CachedTokenizer, many: Sequence[str], parts: int = PARTS) -> tuple[list[TextBatch], Ints]:
    """Return the texts in at most `parts` batches of similar length, and each row in the concatenated batches."""
    tokens = [texts.encode_single(text) for text in many]
    chunks, rows = _by_length([len(each) for each in tokens], parts)
    return [texts.batch([tokens[i] for i in chunk]) for chunk in chunks], rows


def cross_batch(texts: CachedTokenizer, pairs: Sequence[tuple[str, str]], part_size: int = 32) -> CrossBatch:
    """Return questions with the words of paths as one batch, in parts of about `part_size` pairs."""
    sequences = [texts.pair(question, path) for question, path in pairs]
    chunks, rows = _by_length([len(tokens) for tokens, _ in sequences], -(-len(pairs) // part_size))
    return CrossBatch([texts.pairs([sequences[i] for i in chunk]) for chunk in chunks], torch.from_numpy(rows))


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


def path_words(mention: str, hops: Sequence[Hop]) -> str:
    """Return a path's words for the cross-attentive scorer: the topic entity, then hop by hop."""
    return ", ".join([mention, *map(verbalise_hop, hops)])


def _by_length(lengths: Sequence[int], parts: int) -> tuple[list[Ints], Ints]:
    """Return chunks of similar length, and the row of each text in the concatenated chunks."""
    order = np.argsort(lengths, kind="stable")
    rows = np.empty(len(lengths), dtype=np.int64)
    rows[order] = np.arange(len(lengths))
    return [chunk for chunk in np.array_split(order, max(parts, 1)) if len(chunk)], rows


def dual_batch(
    texts: CachedTokenizer, table: PathTable, examples: Sequence[QuestionExample], candidates: Sequence[Candidates]
) -> DualBatch:
    """Return the candidates of several questions as one batch, question after question."""
    starts = np.cumsum([0, *(len(example.masked) for example in examples)])
    owners = np.concatenate([start + each.topics for start, each in zip(starts[:-1], candidates, strict=True)])
    part = table.slice(np.concatenate([each.paths for each in candidates]))
    hops, hop_rows = split_batches(texts, [table.texts[hop] for hop in part.hops])
    return DualBatch(
        questions=texts.batch([texts.encode_single(masked) for example in examples for masked in example.masked]),
        hops=hops,
        hop_rows=torch.from_numpy(hop_rows),
        levels=part.levels,
        paths=torch.from_numpy(part.rows),
        owners=torch.from_numpy(owners),
    )
