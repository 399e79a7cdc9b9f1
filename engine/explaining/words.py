"""From the tokens of an encoder to words: the pieces of a word joined, their weights summed."""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from typing import Literal

from ...models.star.networks.plain_tokenizer import SPECIAL_TOKENS
from .explanation import Word

Spelling = Literal["##", "Ġ", "▁"]
"""How a tokenizer marks pieces: BERT those that go on, RoBERTa (byte by byte) and SentencePiece those that begin."""

_OWN_BYTES = [*range(33, 127), *range(161, 173), *range(174, 256)]
_OTHER_BYTES = [byte for byte in range(256) if byte not in _OWN_BYTES]
_BYTE_OF = {chr(byte): byte for byte in _OWN_BYTES} | {chr(256 + i): byte for i, byte in enumerate(_OTHER_BYTES)}
"""The byte behind each character of a byte-level vocabulary (GPT-2's table)."""


def spelling_of(tokens: Iterable[str]) -> Spelling:
    """Return how the tokens are marked: by the mark that most of them begin with, `##` where none has any."""
    marks: tuple[Spelling, ...] = ("##", "Ġ", "▁")
    seen = list(tokens)
    return max(marks, key=lambda mark: sum(token.startswith(mark) for token in seen))


def joined_words(tokens: Sequence[tuple[str, float]], spelling: Spelling) -> tuple[Word, ...]:
    """Return the words of weighted tokens, in order. Punctuation and special tokens are words of their own."""
    words: list[list[tuple[str, float]]] = []
    for token, weight in tokens:
        if words and _goes_on(words[-1][-1][0], token, spelling):
            words[-1].append((token, weight))
        else:
            words.append([(token, weight)])
    return tuple(
        Word(_text([token for token, _ in word], spelling), sum(weight for _, weight in word), tuple(word))
        for word in words
    )


def _goes_on(before: str, token: str, spelling: Spelling) -> bool:
    if before in SPECIAL_TOKENS or token in SPECIAL_TOKENS:
        return False
    if spelling == "##":
        return token.startswith(spelling)
    return not (token.startswith(spelling) or _is_punctuation(token) or _is_punctuation(before.removeprefix(spelling)))


def _is_punctuation(text: str) -> bool:
    return bool(text) and all(char in string.punctuation for char in text)


def _text(tokens: Sequence[str], spelling: Spelling) -> str:
    joined = "".join(tokens)
    if tokens[0] in SPECIAL_TOKENS:
        return joined
    if spelling == "##":
        return tokens[0] + "".join(token.removeprefix(spelling) for token in tokens[1:])
    if spelling == "▁":
        return joined.replace(spelling, "") or joined
    if not _BYTE_OF.keys() >= set(joined):
        return joined
    return bytes(_BYTE_OF[char] for char in joined).decode("utf-8", errors="replace").strip() or joined
