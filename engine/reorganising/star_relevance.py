"""What a trained path scorer (STAR) says of evidence: GraphRAG-FI's coarse filter without a local language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from ..evidence.bridges import to_chains, triples_of
from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Item
from ..retrieval.scoring import PathQuery, PathScorer
from ..values import Scored, Topic
from .relevance import Floats
from .rescoring import PairReader


class PathReader(PathScorer, PairReader, Protocol):
    """Both networks of a checkpoint: `StarScorer`."""


class ByStar:
    """The logits of a checkpoint's cross-attentive scorer or, where it has none, of its dual encoder.

    It has learned paths from a question's topics: a chain that starts elsewhere is worth less than all that do not. A
    triple is worth as much as the best of the chains that the evidence's triples make with it; where it is on none, as
    little.
    """

    def __init__(self, scorer: PathReader, *, is_cross: bool) -> None:
        self._scorer = scorer
        self._is_cross = is_cross

    @property
    def name(self) -> str:
        """Which of the two networks reads."""
        return "by star's cross-encoder" if self._is_cross else "by star's dual encoder"

    def of(self, evidence: Evidence[Item]) -> Floats:
        """Return the relevance of each item, (num_items,)."""
        topics = {topic.entity.id: topic for topic in evidence.topics}
        chains = [item for item in to_chains(evidence).items if item.value.topic.id in topics]
        logits = self._read(evidence.question.text, chains, topics)
        best: dict[Item, float] = {}
        for chain, logit in zip(chains, logits.tolist(), strict=True):
            for item in (chain.value,) if evidence.kind == "chain" else triples_of(chain.value):
                best[item] = max(best.get(item, -np.inf), logit)
        lowest = float(logits.min(initial=0.0)) - 1.0
        return np.array([best.get(item.value, lowest) for item in evidence.items], dtype=np.float64)

    def _read(self, question: str, chains: Sequence[Scored[Chain]], topics: Mapping[str, Topic]) -> Floats:
        starts = [topics[chain.value.topic.id] for chain in chains]
        paths = [chain.value.relation_path for chain in chains]
        if self._is_cross:
            return self._scorer.read([(question, *pair) for pair in zip(starts, paths, strict=True)])
        query = PathQuery(question, tuple(starts), tuple(paths), (0.0,) * len(paths))
        return self._scorer.score([query])[0].stop
