"""Split names and questions into words, find where a question mentions an entity, and how likely it means it.

The forms of an entity's names are compared with runs of the question's words. The probability of a mention is a
logistic regression, p = 1 / (1 + exp(−w · x)); the formula is our own. The weights were fitted on the training
questions of FB15k-237 (docs/how-it-works.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import DamerauLevenshtein

from ...models.calibration import sigmoid
from ...models.wording import (
    FUNCTION_WORDS,
    LETTER_FOR_MARK,
    NEVER_NAMES,
    find_initials,
    fold_name,
    replace_combining_marks,
)
from ..neo4j.graph_requests import EntityWithSearchNames

MAX_CHARS = 400
"""What of a name is held against a question; of a longer one its beginning alone."""
_UNSPACED = "\u3041-\u3096\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Hiragana and Han characters, which are written without spaces: each is a word of its own, as in the name index."""
_LETTER = rf"[^\W{_UNSPACED}]"
_WORD = re.compile(rf"(?:\b{_LETTER}\.){{2,}}|[{_UNSPACED}]{LETTER_FOR_MARK}*|{_LETTER}+(?:['’]{_LETTER}+)*")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_POSSESSIVE = re.compile(r"['’]s?$")

_ROMAN = "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx".split()
NUMBERS = {roman: str(number) for number, roman in enumerate(_ROMAN, start=1)}
"""Roman numerals as numbers."""
ROMANS = {number: roman for roman, number in NUMBERS.items()}


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a text: as written, folded for comparison, and where it stands (character offsets)."""

    text: str
    folded: str
    start: int
    end: int

    @property
    def key(self) -> str:
        """The text to compare: the folded word; a Roman numeral of two letters or more as a number."""
        return NUMBERS[self.folded] if len(self.folded) > 1 and self.folded in NUMBERS else self.folded


def tokenise(text: str) -> list[Token]:
    """Return the words of a text; a possessive ending is not part of its word, `U.S.` is one word, `us`."""
    tokens = []
    for match in _WORD.finditer(replace_combining_marks(text.replace("_", " "))):
        word = _POSSESSIVE.sub("", text[match.start() : match.end()])
        if folded := fold_name(word).replace(".", ""):
            tokens.append(Token(word, folded, match.start(), match.start() + len(word)))
    return tokens


@lru_cache(maxsize=4_096)
def _split_name(name: str) -> tuple[Token, ...]:
    """Return the words of a name, of a very long name only the first. Recent names are cached."""
    return tuple(tokenise(name[:MAX_CHARS]))


def is_unspaced(word: str) -> bool:
    """Whether a word is one character of a script without spaces between words."""
    return _IS_UNSPACED.fullmatch(word) is not None


def _mark_content_words(tokens: Sequence[Token]) -> list[bool]:
    """Return for each word whether it may be a mention on its own: function words may not, except `US` and `the us`."""
    before = ["", *(token.folded for token in tokens)]
    return [
        token.folded not in FUNCTION_WORDS
        or (token.folded == "us" and (token.text != "us" or left in ("the", "in", "of", "from")))
        for token, left in zip(tokens, before, strict=False)
    ]


def mark_question_content_words(text: str, tokens: Sequence[Token]) -> list[bool]:
    """Return the same for a question, in which a capitalised function word within a sentence may be a name (Them).

    This does not apply to a text without function words in small letters, which capitalises every word, nor to
    articles, prepositions and conjunctions, because names contain them; but it does to several of them that stand
    alone (The The).
    """
    plain = _mark_content_words(tokens)
    if not any(token.folded in FUNCTION_WORDS and token.text.islower() for token in tokens):
        return plain
    is_name = [
        len(token.text) > 1
        and token.text[0].isupper()
        and text[: token.start].rstrip()[-1:] not in ("", ".", "?", "!", ":")
        for token in tokens
    ]
    marked = [
        is_content or (named and token.folded not in NEVER_NAMES)
        for token, is_content, named in zip(tokens, plain, is_name, strict=True)
    ]
    for named, run in groupby(range(len(tokens)), key=is_name.__getitem__):
        places = list(run)
        if named and len(places) > 1 and not any(marked[place] for place in places):
            for place in places:
                marked[place] = True
    return marked


_OF_ADJECTIVES = ("ian", "vian", "ean", "an", "n", "ese", "ish", "tish", "ic", "i")
_OF_PLACES = ("", "a", "e", "i", "o", "y", "ia", "and", "land", "eland", "en", "ey", "al", "on", "us", "es", "as", "um")
_MORE_OF_PLACES = ("ium", "ain", "ica")
SHORTEST = 5
_SHORTEST_STEM = 3


@cache
def derive_places_from_demonym(word: str) -> tuple[str, ...]:
    """Return folded words that may name the place of a folded adjective, except the adjective itself."""
    if len(word) < SHORTEST or not word.isalpha():
        return ()
    stems = [word.removesuffix(ending) for ending in _OF_ADJECTIVES if word.endswith(ending)]
    found = [
        stem + ending
        for stem in stems
        if len(stem) >= _SHORTEST_STEM or stem == "ir"
        for ending in (*_OF_PLACES, *_MORE_OF_PLACES)
    ]
    return tuple(place for place in dict.fromkeys([*_read_lands().get(word, ()), *found]) if place != word)


@cache
def _read_lands() -> dict[str, tuple[str, ...]]:
    lines = (Path(__file__).parent / "lands.tsv").read_text(encoding="utf-8").splitlines()
    return {language: (land,) for language, land in (line.split("\t") for line in lines)}


FormKind = Literal[
    "whole", "unbracketed", "untyped", "outer", "leading", "inverted", "initials", "last", "adjective", "near"
]


class NameForm(NamedTuple):
    """Folded words that may stand for a name, and how they are derived from it."""

    words: tuple[str, ...]
    kind: FormKind


def derive_name_forms(search_names: Sequence[str], type_words: Collection[str]) -> Iterator[tuple[str, NameForm]]:
    """Yield the names of an entity with their forms, whole names first.

    Of `Anna_Maria_Smith (actress)`: whole; without what stands after a bracket or comma; without a last word that names
    a type (`German_Language`); its first and last word, unless the first is a function word; its leading words, at
    least two, or one that a function word follows; its last word; what stands after "of" before what stands before it
    (US president of `President_of_the_United_States`). Initials are among the search names. In a script that
    parts no words there are no shorter forms but that without brackets.
    """
    several = search_names if len(search_names) > 1 else ()
    short = {letters: name for name in several for letters in find_initials(name)}
    split = [(name, tuple(token.key for token in _split_name(name))) for name in search_names]
    for name, words in split:
        if name in short:
            for letters in _spell_initials(name, short[name]):
                yield name, NameForm((letters,), "initials")
        elif words:
            yield name, NameForm(words, "whole")
    for name, words in split:
        for form in _derive_shorter_forms(name, words, type_words):
            yield name, form


def _spell_initials(letters: str, name: str) -> tuple[str, ...]:
    """Return initials as they are written, folded: WWII and WW2 for those of World War II."""
    last = _split_name(name)[-1].folded
    number = NUMBERS.get(last, last)
    if len(letters) < 3 or number not in ROMANS or letters[-1].lower() != last[0]:
        return (letters.lower(),)
    return letters[:-1].lower() + ROMANS[number], letters[:-1].lower() + number


def _derive_shorter_forms(name: str, words: tuple[str, ...], type_words: Collection[str]) -> Iterator[NameForm]:
    cut = min((at for at in (name.find("("), name.find(",")) if at > 0), default=MAX_CHARS)
    base = tuple(token.key for token in _split_name(name[:cut]))
    if base and base != words:
        yield NameForm(base, "unbracketed")
    if any(map(is_unspaced, base)):
        return
    if len(base) > 1 and base[-1] in type_words:
        yield NameForm(base[:-1], "untyped")
    if len(base) > 2 and base[0] not in FUNCTION_WORDS:
        yield NameForm((base[0], base[-1]), "outer")
    if "of" in base[1:-1]:
        at = base.index("of", 1)
        owner = base[at + 2 :] if base[at + 1] == "the" else base[at + 1 :]
        if owner:
            yield NameForm((*owner, *base[:at]), "inverted")
            if len(owner) > 1:
                yield NameForm(("".join(word[0] for word in owner), *base[:at]), "inverted")
    for size in range(len(base) - 1, 0, -1):
        if base[size - 1] not in FUNCTION_WORDS and (size > 1 or base[size] in FUNCTION_WORDS):
            yield NameForm(base[:size], "leading")
    if len(base) > 1 and len(base[-1]) > 2:
        yield NameForm(base[-1:], "last")


KINDS: tuple[FormKind, ...] = get_args(FormKind)
"""What is taken before what, where runs of as many words agree."""
_SHORTEST_TYPO, _LONGEST_TYPO = 4, 100
"""Characters of a name that may have typos."""
MAX_WORDS = 256
"""Words of a question in which entities are looked for; a longer one is read to here."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A run of words that may mean an entity."""

    named: EntityWithSearchNames
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
        self.is_content = mark_question_content_words(text, self.tokens)
        self.is_cased = any(token.text != token.text.lower() for token in self.tokens[1:])
        self._keys = tuple(token.key for token in self.tokens)
        self._places: dict[str, list[int]] = {}
        for at, key in enumerate(self._keys):
            self._places.setdefault(key, []).append(at)
        self._runs: dict[int, list[tuple[int, str]]] = {}
        self._adjective: dict[str, int] = {}
        for at, token in enumerate(self.tokens):
            if self.is_content[at] and not (self.is_cased and token.text.islower()):
                for place in derive_places_from_demonym(token.folded):
                    self._adjective.setdefault(place, at)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where a run of words stands in the text: its first character, and the one after its last."""
        return self.tokens[start].start, self.tokens[end - 1].end

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
        return any(self.is_content[start:end])


def find_mention(
    words: QuestionWords, named: EntityWithSearchNames, min_similarity: float, type_words: Collection[str] = frozenset()
) -> Mention | None:
    """Return the best mention of an entity, or None: the one with the most words, then the best kind of form. A name
    with a typo comes last."""
    found: list[Mention] = []
    for name, form in derive_name_forms(named.search_names, type_words):
        if (start := words.find(form.words)) is not None:
            found.append(Mention(named, name, form.kind, start, start + len(form.words), 1.0))
        elif form.kind in ("whole", "unbracketed", "last") and (at := words.find_adjective(form.words)) is not None:
            found.append(Mention(named, name, "adjective", at, at + 1, 1.0))
    if not any(each.kind == "whole" for each in found):
        found += _find_with_typo(words, named, min_similarity)
    return min(found, key=lambda m: (m.start - m.end, m.similarity < 1, KINDS.index(m.kind), m.start), default=None)


def _find_with_typo(words: QuestionWords, named: EntityWithSearchNames, min_similarity: float) -> list[Mention]:
    found = []
    for name in named.search_names:
        target = [token.folded for token in _split_name(name)]
        joined = " ".join(target)
        if not _SHORTEST_TYPO <= len(joined) <= _LONGEST_TYPO:
            continue
        for start, run in words.runs(len(target)):
            end = start + len(target)
            similarity = DamerauLevenshtein.normalized_similarity(run, joined, score_cutoff=min_similarity)
            if similarity >= min_similarity:
                found.append(Mention(named, name, "whole", start, end, similarity))
    return found


_SIGNS = re.compile(r"[+#*/&@$%=<>~^|\\]")


def drop_punctuation_mismatches(words: QuestionWords, found: Sequence[Mention]) -> list[Mention]:
    """Return the mentions without names of the same words that have other signs than stand there: for C++ not C."""
    right: dict[tuple[int, int], list[Mention]] = {}
    exact = [each for each in found if each.similarity == 1 and each.kind in ("whole", "unbracketed")]
    for each in exact:
        first, after = words.span(each.start, each.end)
        while first and _SIGNS.match(words.text[first - 1]):
            first -= 1
        while _SIGNS.match(words.text[after : after + 1]):
            after += 1
        if _SIGNS.findall(each.name) == _SIGNS.findall(words.text[first:after]):
            right.setdefault((each.start, each.end), []).append(each)
    return [each for each in found if each not in exact or each in right.get((each.start, each.end), exact)]


Floats = npt.NDArray[np.float64]
Span = tuple[int, int]

MENTION_FEATURES = (
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
MENTION_WEIGHTS = (
    -4.81, -9.90, -0.59, -1.29, -0.93, -1.56, 0.69, -2.25, -2.16, -1.52, -2.00, 1.86,
    3.61, -1.47, 0.07, 3.80, 9.15, -1.96, -3.29, -1.83, -3.98,
)  # fmt: skip


def compute_mention_probabilities(x: Floats, weights: npt.ArrayLike = MENTION_WEIGHTS) -> Floats:
    """Return the probability that the question is about each mention's entity, (num_mentions,). `x` comes from
    `compute_mention_features`."""
    likelihood: Floats = sigmoid(x @ np.asarray(weights))
    return likelihood


def compute_mention_features(words: QuestionWords, found: Sequence[Mention], type_words: Collection[str]) -> Floats:
    """Return the `MENTION_FEATURES` of mentions, compared with one another, (num_mentions, num_features)."""
    if not found:
        return np.zeros((0, len(MENTION_FEATURES)))
    same: dict[Span, list[Mention]] = {}
    for each in found:
        same.setdefault((each.start, each.end), []).append(each)
    rivals = {span: _SameRun(some) for span, some in same.items()}
    return np.array([_compute_row(words, each, rivals, type_words) for each in found])


class _SameRun:
    def __init__(self, same: Sequence[Mention]) -> None:
        self.degree = max(map(_degree, same))
        self.quality = min(map(_quality, same))
        self.is_whole = any(m.kind == "whole" and m.similarity == 1 for m in same)


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
    in_small = words.is_cased and found.name[:1].isupper() and any(t.text.islower() for t in run if len(t.text) > 3)
    is_type = all(t.folded in type_words or t.folded.removesuffix("s") in type_words for t in content)
    return [
        1.0,
        1 - found.similarity,
        *(float(found.kind == kind) for kind in KINDS[1:]),
        len(run) / max(len(run), len(found.name.split())) if found.kind != "initials" else 1.0,
        1 - 2.0 ** -len(content),
        float(in_small),
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
