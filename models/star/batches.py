"""Tokenise texts once, and batch them by length with padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..text.vectors import LRUCache
from ..text.verbalise import Hop, verbalise_hop
from .config import SPECIAL_TOKENS
from .examples import Candidates, Ints, PathLevel, PathTable, QuestionExample

MAX_QUESTION_TOKENS = 64
MAX_PATH_TOKENS = 96
MAX_KEPT = 200_000


@dataclass(frozen=True, slots=True)
class TextBatch:
    """Padded texts: ids, (num_texts, length), and mask, the same shape, true for tokens."""

    ids: Tensor
    mask: Tensor

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, rows: slice) -> TextBatch:
        return TextBatch(self.ids[rows], self.mask[rows])

    def to(self, device: torch.device) -> TextBatch:
        """Return the batch on another device."""
        return TextBatch(self.ids.to(device), self.mask.to(device))


@dataclass(frozen=True, slots=True)
class PairBatch:
    """Padded sequences of question and path. is_question and is_path, (num_pairs, length) bool, mark their tokens;
    question_at and path_at, (num_pairs,), are the places of `[QSP]` and `[PSP]`.
    """

    text: TextBatch
    is_question: Tensor
    is_path: Tensor
    question_at: Tensor
    path_at: Tensor

    def __len__(self) -> int:
        return len(self.text)

    def __getitem__(self, rows: slice) -> PairBatch:
        parts = (self.is_question, self.is_path, self.question_at, self.path_at)
        return PairBatch(self.text[rows], *(part[rows] for part in parts))

    def to(self, device: torch.device) -> PairBatch:
        """Return the batch on another device."""
        return PairBatch(
            self.text.to(device),
            *(t.to(device) for t in (self.is_question, self.is_path, self.question_at, self.path_at)),
        )


@dataclass(frozen=True, slots=True)
class DualBatch:
    """Questions, the distinct hops of their candidates, and which question is scored with which path.

    hops: in parts of similar length. hop_rows: for each hop, in the order of `levels`' numbers, its row in the
    concatenated parts. levels: see `PathSlice`. paths and owners, (num_pairs,): the row of the path in the concatenated
    levels, the row of the question.
    """

    questions: TextBatch
    hops: Sequence[TextBatch]
    hop_rows: Tensor
    levels: Sequence[PathLevel]
    paths: Tensor
    owners: Tensor

    def to(self, device: torch.device) -> DualBatch:
        """Return the batch on another device."""
        return DualBatch(
            self.questions.to(device),
            [part.to(device) for part in self.hops],
            self.hop_rows.to(device),
            self.levels,
            self.paths.to(device),
            self.owners.to(device),
        )


@dataclass(frozen=True, slots=True)
class CrossBatch:
    """Pairs in parts of similar length; rows, (num_pairs,), is each pair's row in the concatenated parts."""

    parts: Sequence[PairBatch]
    rows: Tensor

    def to(self, device: torch.device) -> CrossBatch:
        """Return the batch on another device."""
        return CrossBatch([part.to(device) for part in self.parts], self.rows.to(device))


Tokens = tuple[int, ...]


class CachedTokenizer:
    """A tokenizer with a cache of the ids of `MAX_KEPT` texts."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self._kept: LRUCache[str, Tokens] = LRUCache(MAX_KEPT)
        self._first = _id(tokenizer.cls_token_id, tokenizer.bos_token_id)
        self._last = _id(tokenizer.sep_token_id, tokenizer.eos_token_id)
        self._padding = _id(tokenizer.pad_token_id, 0)
        self._unknown = _id(tokenizer.unk_token_id, self._last)
        self._question, self._path, self._end = (
            _id(tokenizer.convert_tokens_to_ids(token)) for token in SPECIAL_TOKENS
        )

    def tokens(self, text: str) -> Tokens:
        """Return the ids of a text without special tokens; at least one."""
        if text not in self._kept:
            ids = self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
            self._kept[text] = tuple(ids) or (self._unknown,)
        return self._kept[text]

    def encode_single(self, text: str) -> Tokens:
        """Return the ids of a text as the only input of an encoder."""
        return (self._first, *self.tokens(text)[:MAX_QUESTION_TOKENS], self._last)

    def batch(self, texts: Sequence[Tokens]) -> TextBatch:
        """Return the texts padded to the longest."""
        length = max(map(len, texts))
        ids = torch.full((len(texts), length), self._padding)
        mask = torch.zeros((len(texts), length), dtype=torch.bool)
        for row, tokens in enumerate(texts):
            ids[row, : len(tokens)] = torch.tensor(tokens)
            mask[row, : len(tokens)] = True
        return TextBatch(ids, mask)

    def pair(self, question: str, path: str) -> tuple[Tokens, int]:
        """Return ``[CLS] [QSP] question [SEP] [PSP] path [END] [SEP]`` (STAR, section 4.1), and the place of `[PSP]`.

        Our reading: the paper's relation END is a token of its own after the path.
        """
        before = (self._first, self._question, *self.tokens(question)[:MAX_QUESTION_TOKENS], self._last)
        return (*before, self._path, *self.tokens(path)[:MAX_PATH_TOKENS], self._end, self._last), len(before)

    def pairs(self, pairs: Sequence[tuple[Tokens, int]]) -> PairBatch:
        """Return the sequences padded to the longest."""
        text = self.batch([tokens for tokens, _ in pairs])
        path_at = torch.tensor([at for _, at in pairs])
        lengths = torch.tensor([len(tokens) for tokens, _ in pairs])
        place = torch.arange(text.ids.shape[1])[None, :]
        return PairBatch(
            text,
            is_question=(place > 1) & (place < path_at[:, None] - 1),
            is_path=(place > path_at[:, None]) & (place < lengths[:, None] - 1),
            question_at=torch.ones(len(pairs), dtype=torch.long),
            path_at=path_at,
        )


def _id(*candidates: Any) -> int:
    return int(next(candidate for candidate in candidates if candidate is not None))


PARTS = 6


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
