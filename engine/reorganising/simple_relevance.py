"""Score relevance by sentence similarity or by PageRank over the evidence: baselines of GraphRAG-FI (section 5.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import igraph
import numpy as np
import numpy.typing as npt

from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Item
from ..values import Triple
from .relevance import Floats, list_item_texts

DAMPING = 0.85


class TextVectorSource(Protocol):
    """Unit vectors of texts, each encoded once: `TextVectors`."""

    def encode(self, texts: Iterable[str], /) -> None:
        """Encode many ahead."""
        ...

    def sentence(self, text: str, /) -> npt.NDArray[np.float32]:
        """Return that of a text, (dimension,)."""
        ...


class SimilarityRelevance:
    """The cosine of the question and each item as text (Gao et al. 2024)."""

    name = "by similarity"

    def __init__(self, vectors: TextVectorSource) -> None:
        self._vectors = vectors

    def of(self, evidence: Evidence[Item]) -> Floats:
        """Return the cosines, (num_items,)."""
        texts = list_item_texts(evidence.items)
        if not texts:
            return np.zeros(0)
        self._vectors.encode([evidence.question.text, *texts])
        question = self._vectors.sentence(evidence.question.text)
        return np.array([self._vectors.sentence(text) @ question for text in texts], dtype=np.float64)


class PageRankRelevance:
    """The mean personalised PageRank of an item's entities (RoK; Wang et al. 2024), over the evidence's own triples.

    Walks restart at the topics, each as often, and take triples in either direction; parallel ones count as often as
    they are. Where no topic is among the triples they restart anywhere.
    """

    name = "by pagerank"

    def of(self, evidence: Evidence[Item]) -> Floats:
        """Return the means, (num_items,)."""
        nodes: dict[str, int] = {}
        edges: list[tuple[int, int]] = []
        members: list[list[int]] = []
        for item in evidence.items:
            of_item: dict[int, None] = {}
            for triple in _triples(item.value):
                ends = [nodes.setdefault(entity.id, len(nodes)) for entity in (triple.head, triple.tail)]
                edges.append((ends[0], ends[1]))
                of_item.update(dict.fromkeys(ends))
            members.append(list(of_item))
        graph = igraph.Graph(n=len(nodes), edges=edges)
        topics = [nodes[topic.entity.id] for topic in evidence.topics if topic.entity.id in nodes]
        ranks = np.array(
            graph.personalized_pagerank(damping=DAMPING, reset_vertices=topics) if topics else graph.pagerank()
        )
        return np.array([ranks[some].mean() if some else 0.0 for some in members])


def _triples(item: Item) -> Sequence[Triple]:
    return [triple for step in item.triples() for triple in step] if isinstance(item, Chain) else [item]
