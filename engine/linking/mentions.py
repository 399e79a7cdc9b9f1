"""Find where a question mentions an entity, and estimate how likely the mention means it.

The forms of an entity's names are compared with runs of the question's words. The probability of a mention is a
logistic regression, p = 1 / (1 + exp(−w · x)); the formula is our own. The weights were fitted on the training
questions of FB15k-237 (`python -m benchmarks.accuracy.linking --fit`; docs/linking.md).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import DamerauLevenshtein

from ..neo4j.graph import NamedEntity
from .names import FormKind, Token, derive_forms, find_places, mark_question_content, split_name, tokenise

KINDS: tuple[FormKind, ...] = (
    "whole",
    "unbracketed",
    "untyped",
    "outer",
    "leading",
    "inverted",
    "initials",
    "last",
    "adjective",
    "near",
)
"""What is taken before what, where runs of as many words agree."""
_SHORTEST_TYPO, _LONGEST_TYPO = 4, 100
"""Characters of a name that may have typos."""
MAX_WORDS = 256
"""Words of a question in which entities are looked for; a longer one is read to here."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A run of words that may mean an entity."""

    named: NamedEntity
    name: str
    """The name whose form agrees."""
    kind: FormKind
    start: int
    """Index of the first token."""
    end: int
    """Index after the last token."""
    similarity: float
    """Of whole names with a typo below 1; of a near one the cosine of its text."""


class QuestionWords:
    """The words of a question, and its runs of words by their text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenise(text)[:MAX_WORDS]
        self.is_content = mark_question_content(text, self.tokens)
        self.is_cased = any(token.text != token.text.lower() for token in self.tokens[1:])
        self._keys = tuple(token.key for token in self.tokens)
        self._places: dict[str, list[int]] = {}
        for at, key in enumerate(self._keys):
            self._places.setdefault(key, []).append(at)
        self._runs: dict[int, list[tuple[int, str]]] = {}
        self._adjective: dict[str, int] = {}
        for at, token in enumerate(self.tokens):
            if self.is_content[at] and not (self.is_cased and token.text.islower()):
                for place in find_places(token.folded):
                    self._adjective.setdefault(place, at)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where a run of words stands in the text: its first character, and the one after its last."""
        return self.tokens[start].start, self.tokens[end - 1].end

    def slice_text(self, start: int, end: int) -> str:
        """Return the text of a run of words."""
        first, after = self.span(start, end)
        return self.text[first:after]

    def find(self, words: Sequence[str]) -> int | None:
        """Return where these folded words first stand with a word of content among them."""
        wanted, size = tuple(words), len(words)
        for start in self._places.get(wanted[0], ()):
            if self._keys[start : start + size] == wanted and self.has_content(start, start + size):
                return start
        return None

    def find_adjective(self, words: Sequence[str]) -> int | None:
        """Return where the adjective of a place first stands; in a question with capitals it must have one."""
        return self._adjective.get(words[0]) if len(words) == 1 else None

    def runs(self, size: int) -> list[tuple[int, str]]:
        """Return the runs of `size` folded words that may have typos, each with its position."""
        if size not in self._runs:
            firsts = [at for at in range(len(self.tokens) - size + 1) if self.has_content(at, at + size)]
            written = ((at, " ".join(token.folded for token in self.tokens[at : at + size])) for at in firsts)
            self._runs[size] = [(at, run) for at, run in written if len(run) >= _SHORTEST_TYPO]
        return self._runs[size]

    def has_content(self, start: int, end: int) -> bool:
        """Whether a run has a word of content."""
        return any(self.is_content[start:end])


def find_mention(
    words: QuestionWords, named: NamedEntity, min_similarity: float, type_words: Collection[str] = frozenset()
) -> Mention | None:
    """Return the best mention of an entity, or None: the one with the most words, then the best kind of form. A name
    with a typo comes last."""
    found: list[Mention] = []
    for name, form in derive_forms(named.search_names, type_words):
        if (start := words.find(form.words)) is not None:
            found.append(Mention(named, name, form.kind, start, start + len(form.words), 1.0))
        elif form.kind in ("whole", "unbracketed", "last") and (at := words.find_adjective(form.words)) is not None:
            found.append(Mention(named, name, "adjective", at, at + 1, 1.0))
    if not any(each.kind == "whole" for each in found):
        found += _find_with_typo(words, named, min_similarity)
    return min(found, key=lambda m: (m.start - m.end, m.similarity < 1, KINDS.index(m.kind), m.start), default=None)


def _find_with_typo(words: QuestionWords, named: NamedEntity, min_similarity: float) -> list[Mention]:
    found = []
    for name in named.search_names:
        target = [token.folded for token in split_name(name)]
        joined = " ".join(target)
        if not _SHORTEST_TYPO <= len(joined) <= _LONGEST_TYPO:
            continue
        for start, run in words.runs(len(target)):
            end = start + len(target)
            similarity = DamerauLevenshtein.normalized_similarity(run, joined, score_cutoff=min_similarity)
            if similarity >= min_similarity:
                found.append(Mention(named, name, "whole", start, end, similarity))
    return found


def capitals_differ(words: QuestionWords, found: Mention) -> bool:
    """Whether a capitalised name stands in small letters in a question that has capitals elsewhere."""
    run: Sequence[Token] = words.tokens[found.start : found.end]
    return words.is_cased and found.name[:1].isupper() and any(t.text.islower() for t in run if len(t.text) > 3)


Floats = npt.NDArray[np.float64]
Span = tuple[int, int]

FEATURES = (
    "1",
    "typo: 1 − similarity",
    *(f"form: {kind}" for kind in KINDS[1:]),
    "share of the name's words",
    "words of content, 1 − 2^−n",
    "a capitalised name in small letters",
    "capitalised in the question",
    "degree, log₁₀ / 5",
    "degree below the best of the same words",
    "same words, better form elsewhere",
    "within a longer whole name",
    "within another longer mention",
    "a word for a type, in small letters",
)
WEIGHTS = (
    -4.81, -9.90, -0.59, -1.29, -0.93, -1.56, 0.69, -2.25, -2.16, -1.52, -2.00, 1.86,
    3.61, -1.47, 0.07, 3.80, 9.15, -1.96, -3.29, -1.83, -3.98,
)  # fmt: skip


def compute_probabilities(x: Floats, weights: npt.ArrayLike = WEIGHTS) -> Floats:
    """Return the probability that the question is about each mention's entity, (num_mentions,). `x` comes from
    `compute_features`."""
    likelihood: Floats = 1 / (1 + np.exp(-(x @ np.asarray(weights))))
    return likelihood


def compute_features(words: QuestionWords, found: Sequence[Mention], type_words: Collection[str]) -> Floats:
    """Return x, (num_mentions, num_features), in the order of `FEATURES`; mentions are compared with one another."""
    if not found:
        return np.zeros((0, len(FEATURES)))
    same: dict[Span, list[Mention]] = {}
    for each in found:
        same.setdefault((each.start, each.end), []).append(each)
    rivals = {span: _SameRun.of(some) for span, some in same.items()}
    return np.array([_compute_row(words, each, rivals, type_words) for each in found])


@dataclass(frozen=True, slots=True)
class _SameRun:
    """The best values among the mentions that share a run of words."""

    degree: float
    quality: tuple[bool, int]
    is_whole: bool
    """Whether a whole name without a typo is among them."""

    @classmethod
    def of(cls, same: Sequence[Mention]) -> _SameRun:
        is_whole = any(m.kind == "whole" and m.similarity == 1 for m in same)
        return cls(max(map(_degree, same)), min(map(_quality, same)), is_whole)


def _compute_row(
    words: QuestionWords,
    found: Mention,
    rivals: Mapping[Span, _SameRun],
    type_words: Collection[str],
) -> list[float]:
    span = found.start, found.end
    run = words.tokens[found.start : found.end]
    content = [t for t, is_content in zip(run, words.is_content[found.start : found.end], strict=True) if is_content]
    longer = [r for other, r in rivals.items() if other != span and other[0] <= span[0] and span[1] <= other[1]]
    same = rivals[span]
    small = all(token.text.islower() for token in content)
    is_type = all(t.folded in type_words or t.folded.removesuffix("s") in type_words for t in content)
    return [
        1.0,
        1 - found.similarity,
        *(float(found.kind == kind) for kind in KINDS[1:]),
        len(run) / max(len(run), len(found.name.split())) if found.kind != "initials" else 1.0,
        1 - 2.0 ** -len(content),
        float(capitals_differ(words, found)),
        float(words.is_cased and found.start > 0 and not small),
        _degree(found),
        _degree(found) - same.degree,
        float(same.quality < _quality(found)),
        float(any(other.is_whole for other in longer)),
        float(any(not other.is_whole for other in longer)),
        float(is_type and small),
    ]


def _degree(found: Mention) -> float:
    return min(1.0, math.log10(1 + found.named.degree) / 5)


def _quality(found: Mention) -> tuple[bool, int]:
    return found.similarity < 1, KINDS.index(found.kind)
