"""Rerank candidate entities by their names and by whether they have the relations that the question asks for.

p = 1 / (1 + exp(−w · x)), where x holds the log-odds by names alone and how well the candidate's relations fit the
question. For that the question without its mention is held against the hops that its relation signature offers, each as
`models.path_similarity` scores a path of one hop: S is of the best of them, by cosine, support and type. Texts are
encoded once, those of a batch together, and are those that a search by similarity needs afterwards. The formula is our
own.

The weights were fitted on the training questions of FB15k-237 (docs/how-it-works.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ...models.calibration import sigmoid
from ...models.path_similarity import PathSimilarity, SimilarityWeights, TopicPaths
from ...models.text import DirectedRelation, Hop, RelationWords
from ...models.text.vectors import TextVectors
from ...models.word_positions import remove_mention
from ...models.wording.answer_kinds import find_which_noun
from ..data_model import Topic
from .entity_index import EntityTypesFromRelations
from .mentions import tokenise

Floats = npt.NDArray[np.float64]

RELATION_FEATURES = (
    "best hop's S",
    "best hop's S below the best of all candidates",
    "relations, ln / 5",
    "its kind beside the mention",
    "its kind in the question",
)
ONE_HOP = SimilarityWeights(support=0.5, type=0.4, hop=0, kind=0, cover=0, order=0, between=0, noun=0, back=0)
"""Of S here; the weights below were fitted with them."""
MAX_HOPS = 200
"""Of a candidate's relations those that are looked at, by their catalogue numbers."""
BESIDE = 2


class RelationFeatureExtractor:
    """Makes features of candidates; `words` has those of each relation by catalogue number."""

    def __init__(
        self, words: Mapping[int, RelationWords], kinds: EntityTypesFromRelations, vectors: TextVectors
    ) -> None:
        self._words = words
        self._kinds = kinds
        self._similarity = PathSimilarity(vectors, ONE_HOP)

    def features(self, texts: Sequence[str], found: Sequence[Sequence[Topic]]) -> list[Floats]:
        """Return the `RELATION_FEATURES` of each question's candidates, (num_candidates, num_features)."""
        masked = [[remove_mention(text, c.mention) for c in some] for text, some in zip(texts, found, strict=True)]
        hops: dict[str, dict[int, tuple[Hop, ...]]] = {}
        for some, questions in zip(found, masked, strict=True):
            for topic, question in zip(some, questions, strict=True):
                mine = hops.setdefault(question, {})
                mine |= {n: ((DirectedRelation(self._words[abs(n)], n < 0),),) for n in self._list_hops(topic)}
        asked = {question: paths for question, paths in hops.items() if paths}
        parts = [[TopicPaths(q, list(paths.values()), [0.0] * len(paths))] for q, paths in asked.items()]
        known = {
            question: dict(zip(paths, scores.tolist(), strict=True))
            for (question, paths), ((scores, _),) in zip(
                asked.items(), self._similarity.score_composed(parts), strict=True
            )
        }
        return [
            self._of(text, some, [known.get(q, {}) for q in qs])
            for text, some, qs in zip(texts, found, masked, strict=True)
        ]

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

    def _of(self, text: str, some: Sequence[Topic], known: Sequence[Mapping[int, float]]) -> Floats:
        if not some:
            return np.zeros((0, len(RELATION_FEATURES)))
        best = [
            max((scores[n] for n in self._list_hops(topic)), default=0.0)
            for topic, scores in zip(some, known, strict=True)
        ]
        top = max(best)
        return np.array(
            [
                [score, score - top, math.log1p(len(topic.relations)) / 5, *self._match_kind(text, topic)]
                for score, topic in zip(best, some, strict=True)
            ]
        )

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


def _any(words: Iterable[str], kinds: set[str]) -> bool:
    return any(word in kinds or word.removesuffix("s") in kinds for word in words)


FEATURES = ("1", "log-odds by words", *RELATION_FEATURES)
WEIGHTS = (-0.63, 0.98, 1.33, 3.01, 0.49, 0.27, -0.45)
_LEAST = 1e-6


def compute_candidate_probabilities(found: Sequence[Topic], relations: Floats) -> Floats:
    """Return p of each candidate, (num_candidates,), by names and by the `RELATION_FEATURES`."""
    probability: Floats = sigmoid(compute_candidate_features(found, relations) @ np.asarray(WEIGHTS))
    return probability


def compute_candidate_features(found: Sequence[Topic], relations: Floats) -> Floats:
    """Return x, (num_candidates, num_features), in the order of `FEATURES`. A topic's score is p by names."""
    p = np.clip([candidate.score for candidate in found], _LEAST, 1 - _LEAST)
    return np.column_stack([np.ones(len(found)), np.log(p) - np.log1p(-p), relations])
