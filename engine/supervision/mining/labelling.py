"""From what was found in the graph to training examples: similarities, positive paths, negative paths."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np

from ....models.similarity import mask_topic
from ....models.star.mined import AnswerPath, MinedQuestion
from ....models.text_vectors import TextVectors
from ....models.verbalise import Directed, RelationWords, verbalise_path
from ...relations.index import RelationIndex
from .hops import WalkedPath, steps_of, written_hop, written_trie
from .miner import Walked
from .negatives import negatives
from .options import MiningOptions
from .positives import labels

DECIMALS = 4
"""Of similarities, precision and recall in the file."""


class Labeller:
    """Makes training examples; `words` has the words of every relation of the graph."""

    def __init__(
        self, words: Mapping[str, RelationWords], index: RelationIndex, vectors: TextVectors, options: MiningOptions
    ) -> None:
        self.words = words
        self.vectors = vectors
        self.options = options
        self.nearest = NearestRelations(index)

    def label(self, questions: Sequence[Walked]) -> list[MinedQuestion]:
        """Return the questions with their labels.

        All texts are encoded together, and the last digits of a vector depend on what it is encoded with: the same
        questions give the same result, the same questions in other groups may not.
        """
        self.vectors.encode(sorted({text for question in questions for text in self._texts(question)}))
        return [self._labelled(question) for question in questions]

    def _texts(self, question: Walked) -> list[str]:
        return [*self._masked(question), *(self._text(path.hops) for path in question.paths)]

    def _masked(self, question: Walked) -> list[str]:
        return [mask_topic(question.question.text, topic.mention) for topic in question.topics]

    def _text(self, hops: WalkedPath) -> str:
        return verbalise_path([tuple(Directed(self.words[s.relation], s.inverse) for s in hop) for hop in hops])

    def _labelled(self, walked: Walked) -> MinedQuestion:
        question = walked.question
        asked = [self.vectors.sentence(text) for text in self._masked(walked)]
        paths = [
            replace(path, precision=round(path.precision, DECIMALS), recall=round(path.recall, DECIMALS))
            for path in walked.paths
        ]
        similarities = [
            round(float(self.vectors.sentence(self._text(path.hops)) @ asked[path.topic]), DECIMALS) for path in paths
        ]
        labelled = list(zip(paths, labels(paths, similarities, annotated=bool(question.paths)), strict=True))
        rng = random.Random(f"{self.options.seed}\n{question.id}")  # noqa: S311 - examples, no secret
        return MinedQuestion(
            id=question.id,
            text=question.text,
            topics=walked.topics,
            paths=tuple(
                AnswerPath(
                    topic=path.topic,
                    hops=tuple(map(written_hop, path.hops)),
                    precision=path.precision,
                    recall=path.recall,
                    similarity=similarity,
                    **asdict(label),
                )
                for (path, label), similarity in zip(labelled, similarities, strict=True)
            ),
            negatives=negatives(
                [path for path, label in labelled if label.positive],
                walked.reach,
                lambda topic, hops: steps_of(hops) in walked.reaching[topic],
                nearest=self.nearest,
                num_negatives=self.options.num_negatives,
                rng=rng,
            ),
            reach=tuple(map(written_trie, walked.reach)),
            num_hops=question.num_hops,
        )


class NearestRelations:
    """The relations of an index by similarity to one of them; each is looked up once."""

    def __init__(self, index: RelationIndex) -> None:
        self._index = index
        self._vectors = {
            relation.name: vector for relation, vector in zip(index.relations, index.vectors(), strict=True)
        }
        self._found: dict[str, tuple[str, ...]] = {}

    def __call__(self, relation: str) -> tuple[str, ...]:
        """Return all other relations, the most similar one first."""
        if relation not in self._found:
            (others,) = self._index.search(self._vectors[relation][np.newaxis], len(self._vectors))
            self._found[relation] = tuple(near.value.name for near in others if near.value.name != relation)
        return self._found[relation]
