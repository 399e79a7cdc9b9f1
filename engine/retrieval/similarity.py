"""Score paths by sentence similarity, without training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...models import Weight
from ...models.path_similarity import COSINE, PathSimilarity, SimilarityWeights, TopicPaths
from ...models.text import Hop, RelationWords, find_end_kind, list_hop_phrases, verbalise_hop
from ...models.text.vectors import TextVectors
from ...models.word_positions import collect_word_stems, find_central_kinds, read_asked_words, remove_nouns
from ...models.wording.answer_kinds import UNKNOWN, find_wanted_kind, score_kind_agreement
from ..data_model import Chain, Topic
from ..evidence import SIMILARITY, Evidence, Item
from ..evidence.text import format_path
from ..parts import option, part
from . import PathQuery, PathScores, get_topic_mention, merge_mediator_hops, remove_topic_mention
from .beam import BeamRetriever, OpenedSearch

if TYPE_CHECKING:
    from ..resources import GraphResources


@part("similarity")
@dataclass(frozen=True)
class Similarity(BeamRetriever):
    """Beam search scored by sentence similarity, without training."""

    link_weight: ClassVar[float] = 1.68

    meeting_bonus: Weight = option(0.672, "log-odds that a path gains for meeting another topic's path")
    cosine: bool = option(False, "score by the cosine alone, without probabilities", source="STAR's baseline")

    def open(self, graph: GraphResources) -> OpenedSearch:
        return self.open_search(graph, self.scorer(graph), None if self.cosine else SIMILARITY, doubts=True)

    def scorer(self, graph: GraphResources) -> SimilarityScorer:
        return SimilarityScorer(graph.words, graph.shared.vectors, weights=COSINE if self.cosine else None)

    @property
    def bonus(self) -> float:
        return self.meeting_bonus


class SimilarityScorer:
    """A `PathScorer` by sentence similarity, see `PathSimilarity`; `words` has the words of every relation."""

    def __init__(
        self,
        words: Mapping[str, RelationWords],
        vectors: TextVectors,
        *,
        weights: SimilarityWeights | None = None,
        shortlist: int = 16,
    ) -> None:
        self.words = words
        self._central = find_central_kinds(words.values())
        texts = (text for each in words.values() for text in (each.domain, *each.properties))
        self._stems = collect_word_stems(texts) if self._central else frozenset[str]()
        self._similarity = PathSimilarity(vectors, weights, shortlist)

    def score(self, queries: Sequence[PathQuery]) -> list[PathScores]:
        """Return the scores for each query, in order; the texts of all of them are encoded together."""
        rows = [query.rows_by_topic() for query in queries]
        asked = [
            [
                self.make_topic_paths(
                    query.question,
                    topic,
                    [merge_mediator_hops(query.paths[row], self.words) for row in some],
                    [query.log_branching[row] for row in some],
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

    def make_topic_paths(
        self, question: str, topic: Topic, hops: Sequence[tuple[Hop, ...]], log_branching: Sequence[float]
    ) -> TopicPaths:
        """Return the paths from a topic with what the question says of them."""
        masked = remove_topic_mention(question, topic)
        asked = read_asked_words(question, get_topic_mention(topic))
        return TopicPaths(masked, hops, log_branching, asked, remove_nouns(masked, self._central, self._stems))


def describe_wanted_kind(evidence: Evidence[Item], graph: GraphResources) -> str:
    """Return one line, "wants a date: hired_on leads to dates; read as “when did … join”"; empty where nothing is
    told."""
    words, vectors = graph.words, graph.shared.vectors
    chains = [item.value for item in evidence.items if isinstance(item.value, Chain)]
    if not chains or not all(step.step.relation in words for step in chains[0].steps):
        return ""
    chain = chains[0]
    topic = next((each for each in evidence.topics if each.entity == chain.topic), None)
    asked_for = remove_topic_mention(evidence.question.text, topic) if topic else evidence.question.text
    asked = find_wanted_kind(asked_for)
    hops = merge_mediator_hops(chain.relation_path, words)
    last = chain.steps[-1].step
    name = format_path([last], graph.labels)
    end = find_end_kind(hops[-1])
    parts = []
    if asked.kinds and end.kind != UNKNOWN:
        but = "" if score_kind_agreement(asked, end) >= 0 else ", which is another kind"
        parts.append(f"wants {asked.said}: {name} leads to {end}{but}")
    texts = (verbalise_hop(hops[-1]), *list_hop_phrases(hops[-1]))
    best = int(np.argmax(vectors.stack(texts, lasting=True) @ vectors.sentence(asked_for)))
    if best:
        parts.append(f"{name} read as “{texts[best]}”")
    return "; ".join(parts)
