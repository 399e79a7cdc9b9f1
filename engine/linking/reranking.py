"""Rerank candidate entities by their names and by whether they have the relations that the question asks for.

p = 1 / (1 + exp(−w · x)), where x holds the log-odds by names alone and how well the candidate's relations fit the
question. For that the question without its mention, q', is held against the hops h that its relation signature offers:
cos(q', h), P(q', h) of late interaction, and cos(type(q'), reached(h)), as `models.similarity` scores paths of one hop
(S there): S is of the best of them. Texts are encoded once, those of a batch together, and are those that
a search by similarity needs afterwards. The formula is our own.

The weights were fitted on the training questions of FB15k-237 (`python -m benchmarks.accuracy.linking --fit`;
docs/how-it-works.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ...models.calibration import sigmoid
from ...models.similarity import UNKNOWN_TYPE, compute_support, find_asked_type
from ...models.text import DirectedRelation, RelationWords, find_end_type, hop_phrases, verbalise_hop
from ...models.text.vectors import TextVectors
from ...models.word_places import mask_topic
from ...models.wording.kinds import find_which_noun
from ..values import Topic
from .entity_index import EntityTypes
from .names import tokenise

Floats = npt.NDArray[np.float64]

RELATION_FEATURES = (
    "best hop's S",
    "best hop's S below the best of all candidates",
    "relations, ln / 5",
    "its kind beside the mention",
    "its kind in the question",
)
SUPPORT, TYPE = 0.5, 0.4
"""Of S here; the weights below were fitted with them."""
MAX_HOPS = 200
"""Of a candidate's relations those that are looked at, by their catalogue numbers."""
BESIDE = 2


class RelationFeatureExtractor:
    """Makes features of candidates; `words` has those of each relation by catalogue number.

    A hop is read in its own words or in the phrase of its `words` that fits the question best.
    """

    def __init__(self, words: Mapping[int, RelationWords], kinds: EntityTypes, vectors: TextVectors) -> None:
        self._words = words
        self._kinds = kinds
        self._vectors = vectors
        self._hops: dict[int, tuple[tuple[str, ...], str]] = {}

    def features(self, texts: Sequence[str], found: Sequence[Sequence[Topic]]) -> list[Floats]:
        """Return the `RELATION_FEATURES` of each question's candidates, (num_candidates, num_features)."""
        masked = [[mask_topic(text, c.mention) for c in some] for text, some in zip(texts, found, strict=True)]
        hops = {self._hop(n) for some in found for topic in some for n in self._list_hops(topic)}
        questions = dict.fromkeys(each for some in masked for each in some)
        self._vectors.encode_tokens([*questions, *sorted({text for texts, _ in hops for text in texts})])
        self._vectors.encode([*map(find_asked_type, questions), *sorted({kind for _, kind in hops if kind})])
        return [self._of(text, some, q) for text, some, q in zip(texts, found, masked, strict=True)]

    def leave_out_asked_type(self, text: str, some: Sequence[Topic]) -> Sequence[Topic]:
        """Return the candidates without those that name what is asked for: a type, by the noun after "which" or "what".

        What other entities are instances of, and nothing else, is a type. Where nothing is left, all are returned: of
        "which films are there" the type is the topic.
        """
        asked = find_which_noun(text)

        def is_type(topic: Topic) -> bool:
            entering = [self._words.get(-number) for number in topic.relations]
            return bool(entering) and all(words is not None and words.is_type for words in entering)

        return [topic for topic in some if topic.span != asked or not is_type(topic)] or some

    def kind(self, topic: Topic) -> str:
        """Return what an entity is, in a word or two; empty where its relations do not tell."""
        return next(iter(self._kinds.of(topic.relations, 1)), "")

    def _of(self, text: str, some: Sequence[Topic], masked: Sequence[str]) -> Floats:
        if not some:
            return np.zeros((0, len(RELATION_FEATURES)))
        known: dict[str, dict[int, float]] = {}
        best = []
        for topic, q in zip(some, masked, strict=True):
            scores = known.setdefault(q, {})
            numbers = self._list_hops(topic)
            if new := [n for n in numbers if n not in scores]:
                scores.update(zip(new, self._scores(new, q).tolist(), strict=True))
            best.append(max((scores[n] for n in numbers), default=0.0))
        top = max(best)
        return np.array(
            [
                [score, score - top, math.log1p(len(topic.relations)) / 5, *self._match_kind(text, topic)]
                for score, topic in zip(best, some, strict=True)
            ]
        )

    def _scores(self, numbers: Sequence[int], question: str) -> Floats:
        hops = [self._hop(number) for number in numbers]
        vectors = self._vectors
        read = [self._choose_reading(texts, question) for texts, _ in hops]
        tokens = [vectors.tokens(text) for text in read]
        starts = np.cumsum([0, *(len(each) for each in tokens[:-1])]).astype(np.int64)
        asked_for = vectors.sentence(find_asked_type(question))
        cosine = np.stack([vectors.sentence(text) for text in read]) @ vectors.sentence(question)
        supported = compute_support(np.concatenate(tokens), starts, vectors.tokens(question))
        reached = np.array([vectors.sentence(kind) @ asked_for if kind else UNKNOWN_TYPE for _, kind in hops])
        scores: Floats = cosine + SUPPORT * supported + TYPE * reached
        return scores

    def _match_kind(self, text: str, topic: Topic) -> tuple[float, float]:
        kinds = {word for kind in self._kinds.of(topic.relations, MAX_HOPS) for word in kind.split()}
        start, end = topic.span or (0, 0)
        tokens = tokenise(text)
        before = [token.folded for token in tokens if token.end <= start]
        after = [token.folded for token in tokens if token.start >= end]
        beside = {*before[-BESIDE:], *after[:BESIDE]}
        return float(_any(beside, kinds)), float(_any({*before, *after}, kinds))

    def _list_hops(self, topic: Topic) -> list[int]:
        return [number for number in topic.relations if abs(number) in self._words][:MAX_HOPS]

    def _choose_reading(self, texts: tuple[str, ...], question: str) -> str:
        if len(texts) == 1:
            return texts[0]
        cosines = np.stack([self._vectors.sentence(text) for text in texts]) @ self._vectors.sentence(question)
        return texts[int(cosines.argmax())]

    def _hop(self, number: int) -> tuple[tuple[str, ...], str]:
        if number not in self._hops:
            hop = (DirectedRelation(self._words[abs(number)], number < 0),)
            self._hops[number] = (verbalise_hop(hop), *hop_phrases(hop)), find_end_type(hop)
        return self._hops[number]


def _any(words: Iterable[str], kinds: set[str]) -> bool:
    return any(word in kinds or word.removesuffix("s") in kinds for word in words)


FEATURES = ("1", "log-odds by words", *RELATION_FEATURES)
WEIGHTS = (-0.63, 0.98, 1.33, 3.01, 0.49, 0.27, -0.45)
_LEAST = 1e-6


def weigh_candidates(found: Sequence[Topic], relations: Floats) -> Floats:
    """Return p of each candidate, (num_candidates,), by names and by the `RELATION_FEATURES`."""
    probability: Floats = sigmoid(compute_features(found, relations) @ np.asarray(WEIGHTS))
    return probability


def compute_features(found: Sequence[Topic], relations: Floats) -> Floats:
    """Return x, (num_candidates, num_features), in the order of `FEATURES`. A topic's score is p by names."""
    p = np.clip([candidate.score for candidate in found], _LEAST, 1 - _LEAST)
    return np.column_stack([np.ones(len(found)), np.log(p) - np.log1p(-p), relations])
