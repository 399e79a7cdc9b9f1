"""Define what a path scorer gets and gives, and score paths by sentence similarity, without training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from ...models.similarity import PathSimilarity, PathsOfTopic, SimilarityWeights, mask_topic
from ...models.text.encoders import SentenceEncoder
from ...models.text.vectors import TextVectors
from ...models.text.verbalise import DirectedRelation, Hop, RelationWords, find_end_kind, hop_phrases, verbalise_hop
from ...models.word_places import read_asked_words
from ...models.wording.kinds import UNKNOWN, agreement, find_wanted_kind
from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Item
from ..evidence.text import shorten_iris
from ..values import RelationPath, Topic

FloatArray = npt.NDArray[np.float32]
Guide = Literal["dual", "cross"]
"""The network of a checkpoint of STAR that scores the candidates of each hop."""


@dataclass(frozen=True, slots=True)
class PathQuery:
    """Paths to be scored for one question: the candidates of a hop, or what a search found.

    paths[i] starts at the topic entity topics[i]; log_branching[i] is Σ ln(1 + n) over its hops, n the number of
    relations that lead on from where the hop starts. All have length num_candidates.
    """

    question: str
    topics: tuple[Topic, ...]
    paths: tuple[RelationPath, ...]
    log_branching: tuple[float, ...]

    def rows_by_topic(self) -> dict[Topic, list[int]]:
        """Return where the candidates of each topic stand, topics in the order they come first."""
        rows: dict[Topic, list[int]] = {}
        for row, topic in enumerate(self.topics):
            rows.setdefault(topic, []).append(row)
        return rows


@dataclass(frozen=True, slots=True)
class PathScores:
    """The two scores of each candidate of a `PathQuery`, (num_candidates,) each; higher is better, and what has minus
    infinity twice is not walked.

    stop: the path followed by END, comparable between candidates of different length.
    extend: the promise of the path as the beginning of a longer one.
    """

    stop: FloatArray
    extend: FloatArray


def topic_mention(topic: Topic) -> str:
    """Return how the question mentions a topic, its name where that is not known."""
    return topic.mention or topic.entity.label


def mask_mention(question: str, topic: Topic) -> str:
    """Return the question without the mention of a topic."""
    return mask_topic(question, topic_mention(topic))


class PathScorer(Protocol):
    """Scores candidate paths for a batch of questions at once."""

    @property
    def encoding_s(self) -> float:
        """Seconds spent in an encoder since the scorer was made, so that a search can tell them from scoring."""
        ...

    def score(self, queries: Sequence[PathQuery]) -> list[PathScores]:
        """Return the scores for each query, in order. Deterministic."""
        ...


def merge_mediator_hops(path: RelationPath, words: Mapping[str, RelationWords]) -> tuple[Hop, ...]:
    """Return the path's hops: a step into a mediator and the step out of it are one."""
    hops: list[Hop] = []
    open_hop: Hop = ()
    for step in path.steps:
        open_hop = (*open_hop, DirectedRelation(words[step.relation], step.inverse))
        if not step.to_mediator:
            hops.append(open_hop)
            open_hop = ()
    return (*hops, open_hop) if open_hop else tuple(hops)


class SimilarityScorer:
    """A `PathScorer` by sentence similarity, see `PathSimilarity`; `words` has the words of every relation.

    `vectors` are those of another scorer with the same encoder: what that one encoded is not encoded again.
    """

    def __init__(
        self,
        words: Mapping[str, RelationWords],
        encoder: SentenceEncoder,
        *,
        weights: SimilarityWeights | None = None,
        shortlist: int = 16,
        vectors: TextVectors | None = None,
    ) -> None:
        self.words = words
        self.vectors = vectors or TextVectors(encoder)
        self._similarity = PathSimilarity(self.vectors, weights, shortlist)

    @property
    def encoding_s(self) -> float:
        """Seconds spent in the encoder so far."""
        return self.vectors.encoding_s

    def score(self, queries: Sequence[PathQuery]) -> list[PathScores]:
        """Return the scores for each query, in order; the texts of all of them are encoded together."""
        rows = [query.rows_by_topic() for query in queries]
        asked = [
            [
                PathsOfTopic(
                    mask_mention(query.question, topic),
                    [merge_mediator_hops(query.paths[row], self.words) for row in some],
                    [query.log_branching[row] for row in some],
                    read_asked_words(query.question, topic_mention(topic)),
                )
                for topic, some in by_topic.items()
            ]
            for query, by_topic in zip(queries, rows, strict=True)
        ]
        found = []
        for by_topic, (stop, extend) in zip(rows, self._similarity.scores(asked), strict=True):
            places = np.array([row for some in by_topic.values() for row in some], dtype=np.int64)
            order = np.argsort(places)
            found.append(PathScores(stop[order], extend[order]))
        return found


def describe_wanted_kind(evidence: Evidence[Item], words: Mapping[str, RelationWords], vectors: TextVectors) -> str:
    """Return one line, "wants a date: hired_on leads to dates; read as “when did … join”"; empty where nothing is
    told."""
    chains = [item.value for item in evidence.items if isinstance(item.value, Chain)]
    if not chains or not all(step.step.relation in words for step in chains[0].steps):
        return ""
    chain = chains[0]
    topic = next((each for each in evidence.topics if each.entity == chain.topic), None)
    asked_for = mask_mention(evidence.question.text, topic) if topic else evidence.question.text
    asked = find_wanted_kind(asked_for)
    hops = merge_mediator_hops(chain.relation_path, words)
    last = chain.steps[-1].step
    name = ("^" if last.inverse else "") + shorten_iris(last.relation)
    end = find_end_kind(hops[-1])
    parts = []
    if asked.kinds and end.kind != UNKNOWN:
        but = "" if agreement(asked, end) >= 0 else ", which is another kind"
        parts.append(f"wants {asked.said}: {name} leads to {end}{but}")
    texts = (verbalise_hop(hops[-1]), *hop_phrases(hops[-1]))
    best = int(np.argmax(vectors.stack(texts, lasting=True) @ vectors.sentence(asked_for)))
    if best:
        parts.append(f"{name} read as “{texts[best]}”")
    return "; ".join(parts)
