"""Read the words of a question: its tokens, the lexicon of English, and how well words fit the relations of a graph."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from ...models.path_similarity import squash_word_cosines
from ...models.text import RelationWords
from ...models.text.vectors import TextVectors
from ...models.word_positions import stem_word
from ...models.wording import STOP_WORDS, fold_name, replace_combining_marks, singularise
from .plan import SAYS_NOTHING
from .schema import split_mediated_step

Floats = npt.NDArray[np.float64]

PART_OF_PHRASE = 0.85
"""How well a word of a longer phrase for a relation fits it at most: "city" of "capital city"."""
MAX_KNOWN = 20_000
"""Words whose fits are kept."""
_WORD = re.compile(r"[^\W_]+?(?=n['’]t\b)|n['’]t\b|[^\W_]+(?:[.,'’-][^\W_]+)*")


@cache
def read_plan_lexicon() -> Mapping[str, Any]:
    """Return ``read_plan_lexicon.toml``."""
    return tomllib.loads(files(__name__.rpartition(".")[0]).joinpath("lexicon.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a question, in small letters."""

    text: str
    start: int
    end: int


def tokenise(text: str) -> list[Token]:
    """Return the words of a question; "doesn't" is two, and "Ann's" or "who's" is its first part."""
    found = []
    for m in _WORD.finditer(replace_combining_marks(text)):
        word = fold_name(text[m.start() : m.end()])
        own = word.removesuffix("'s")
        found.append(Token(own, m.start(), m.end() - len(word) + len(own)))
    return found


@cache
def get_unit_dimension(unit: str) -> str:
    """Return the dimension of a unit: "area" of "km²"; empty for a word that is none."""
    from ..writing import convert_to_base_unit  # it needs DuckDB

    found = convert_to_base_unit(1.0, unit)[1]
    return "" if found == unit or unit in STOP_WORDS else found


@cache
def get_unit_size(unit: str) -> float:
    """Return how many base units a unit is."""
    from ..writing import convert_to_base_unit

    return convert_to_base_unit(1.0, unit)[0] or 1.0


class StepWordMatcher:
    """How well words fit the relations of a graph, in each direction."""

    def __init__(self, words: Mapping[str, RelationWords], steps: Iterable[str], vectors: TextVectors) -> None:
        self.vectors = vectors
        self.texts: dict[str, list[str]] = {}
        self.alike = {name for name, each in words.items() if each.has_alike_ends}
        for name, each in words.items():
            if each.is_type:
                continue
            own = [" ".join(each.properties)]
            self.texts[name] = list(dict.fromkeys([*own, *each.meaning.forward]))
            self.texts[f"^{name}"] = list(dict.fromkeys([*own, *each.meaning.inverse]))
        for step in steps:
            if step not in self.texts and split_mediated_step(step)[-1] in self.texts:
                first, *_, last = split_mediated_step(step)  # of a mediator's "number" the relation before says what of
                self.texts[step] = self.texts[first if _is_bare(words.get(last)) and first in self.texts else last]
        pairs = [(step, word) for step, texts in self.texts.items() for word in _words_of(texts)]
        heads = {
            step: set(_words_of([texts[0], *(t for t in texts if " " not in t)])) for step, texts in self.texts.items()
        }
        self._weight = np.array([1.0 if word in heads[step] else PART_OF_PHRASE for step, word in pairs])
        self._steps = list(self.texts)
        number = {step: at for at, step in enumerate(self._steps)}
        self._row = np.array([number[step] for step, _ in pairs])
        distinct = sorted({word for _, word in pairs})
        self._distinct = [stem_word(word) for word in distinct]
        vectors.encode_tokens(distinct, lasting=True)
        at = {word: place for place, word in enumerate(distinct)}
        means = np.stack([_mean(vectors.tokens(word)) for word in distinct]) if distinct else np.zeros((0, 1))
        self._word_row = np.array([at[word] for _, word in pairs], dtype=int)
        self._matrix = means.astype(np.float32)
        self._found: dict[str, dict[str, float]] = {}
        self._found_phrases: dict[str, dict[str, float]] = {}
        self._said = {
            step: [[stem_word(word) for word in some] for text in texts if (some := _words_of([text]))]
            for step, texts in self.texts.items()
        }
        phrases = [(at, text) for at, step in enumerate(self._steps) for text in self.texts[step]]
        vectors.encode({text for _, text in phrases}, lasting=True)
        self._phrase_row = np.array([at for at, _ in phrases])
        self._phrases = vectors.stack([text for _, text in phrases], lasting=True) if phrases else np.zeros((0, 1))

    def prepare(self, words: Iterable[str], phrases: Iterable[str]) -> None:
        """Encode words and phrases that were not met before."""
        if len(self._found) + len(self._found_phrases) > MAX_KNOWN:
            self._found.clear()
            self._found_phrases.clear()
        self.vectors.encode_tokens(sorted({word for word in words if word not in self._found}))
        self.vectors.encode({phrase for phrase in phrases if phrase not in self._found_phrases})

    def match(self, word: str) -> dict[str, float]:
        """Return how well a word fits each step, 0 to 1; only those that it fits at all."""
        known = self._found.get(word)
        if known is None:
            found = np.zeros(len(self._steps))
            if len(self._matrix):
                own = stem_word(word)
                fits = 0.9 * squash_word_cosines(self._matrix @ _mean(self.vectors.tokens(word)).astype(np.float32))
                fits = np.where([_is_same(each, own) for each in self._distinct], 1.0, fits)
                np.maximum.at(found, self._row, self._weight * fits[self._word_row])
            known = self._found[word] = {self._steps[at]: float(found[at]) for at in np.flatnonzero(found > 0.03)}
        return known

    def unit_of(self, step: str) -> str:
        """Return the unit that the last word of a relation is: "kg" of "yield in kg"; empty where it is none."""
        last = self.texts[step][0].split()[-1:] if step in self.texts else []
        return last[0] if last and get_unit_dimension(last[0]) else ""

    def unsaid(self, step: str, words: Sequence[str]) -> float:
        """Return the share of the words of a step that none of some words is; of its best text."""
        said = [stem_word(word) for word in words]
        shares = [
            sum(not any(_is_same(own, each) for each in said) for own in some) / len(some) for some in self._said[step]
        ]
        return min(shares, default=0.0)

    def says(self, step: str, noun: str) -> bool:
        """Return whether a text of a step has a noun as it is."""
        return any(singularise(word) == noun for word in _words_of(self.texts[step]))

    def unsaid_of(self, step: str, words: Iterable[str]) -> int:
        """Return how many of some words no text of a step has."""
        own = [each for some in self._said[step] for each in some]
        return sum(not any(_is_same(each, stem_word(word)) for each in own) for word in words)

    def match_phrase(self, phrase: str) -> dict[str, float]:
        """Return how well a verb with its particle fits each step as a whole: "run through" is near to "traverses"."""
        known = self._found_phrases.get(phrase)
        if known is None:
            found = np.zeros(len(self._steps))
            if len(self._phrases):
                fits = 0.8 / (1 + np.exp(-(self._phrases @ self.vectors.sentence(phrase) - 0.46) / 0.05))
                np.maximum.at(found, self._phrase_row, fits)
            known = {self._steps[at]: float(found[at]) for at in np.flatnonzero(found > 0.15)}
            self._found_phrases[phrase] = known
        return known

    def match_all(self, words: Sequence[str]) -> dict[str, float]:
        """Return how well words together fit each step: the mean of each."""
        found: dict[str, float] = {}
        for word in words:
            for step, fit in self.match(word).items():
                found[step] = found.get(step, 0.0) + fit / len(words)
        return found

    def match_measure(self, words: str) -> dict[str, tuple[float, int]]:
        """Return of words in order of their likelihood the best that fits each step, and its sign."""
        found: dict[str, tuple[float, int]] = {}
        for at, word in enumerate(words.split()):
            for step, fit in self.match(word.lstrip("-")).items():
                likely = fit * (1 - 0.05 * at)
                if fit > 0.5 and likely > found.get(step, (0.0, 1))[0]:
                    found[step] = (likely, -1 if word.startswith("-") else 1)
        return found


def _is_bare(relation: RelationWords | None) -> bool:
    """Return whether a relation says no more than that a value follows: "number", "amount", "date"."""
    return relation is not None and relation.properties[-1] in SAYS_NOTHING


def _is_same(one: str, two: str) -> bool:
    """Return whether two stems are of one word: stems of different forms may differ in their last letters."""
    short, long = sorted((one, two), key=len)
    return one == two or (len(short) > 3 and len(long) - len(short) <= 2 and long.startswith(short))


def _mean(tokens: npt.NDArray[Any]) -> Floats:
    mean = tokens.mean(axis=0) if len(tokens) else np.zeros(tokens.shape[1])
    return mean / max(float(np.linalg.norm(mean)), 1e-9)


def _words_of(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(word for text in texts for word in _split_words(text)))


@lru_cache(65_536)
def _split_words(text: str) -> tuple[str, ...]:
    return tuple(word for word in re.findall(r"\w+", fold_name(text)) if word not in STOP_WORDS)
