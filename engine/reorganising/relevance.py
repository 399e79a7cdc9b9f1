"""Score how relevant the items of evidence are to their question, for GraphRAG-FI's coarse filter.

By a local language model's attention, as the paper does; without one by a reranker, by a trained path scorer (STAR), or
by the order in which the items came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from ...models.graphrag_fi import attention_relevance, relevance_layer, token_spans
from ...models.language.causal_lm import CausalLM, CausalLMError, PromptTooLongError
from ..errors import LLMError
from ..evidence.bridges import to_chains, triples_of
from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Item
from ..evidence.text import item_text, one_line
from ..retrieval.scoring import PathQuery, PathScorer
from ..values import Scored, Topic, check_finite
from .rescoring import PairReader

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

Floats = npt.NDArray[np.floating]

MAX_ITEM_CHARS = 400
MAX_NAMES = 5
"""Ends of a chain that a filter reads."""

BEFORE = (
    "Based on the reasoning paths, please answer the given question. Please keep the answer as simple as possible and "
    "return all the possible answers as a list.\nReasoning Paths:\n"
)
AFTER = "\nQuestion:\n{question}"


class Relevance(Protocol):
    """A way to say how relevant items are; `name` is what the trace calls it."""

    @property
    def name(self) -> str:
        """Which way it is."""
        ...

    def of(self, evidence: Evidence[Item]) -> Floats:
        """Return the relevance of each item, (num_items,)."""
        ...


@dataclass(frozen=True, slots=True)
class ScoreRelevance:
    """The order in which the evidence came: where there is neither a local language model nor a reranker."""

    name: str = "by score"

    def of(self, evidence: Evidence[Item]) -> Floats:
        """Return falling numbers."""
        return -np.arange(len(evidence.items), dtype=np.float64)


class AttentionRelevance:
    """What a local causal language model attends to as it begins to answer (GraphRAG-FI, sections 3.4 and A.6).

    Of a prompt that is longer than the model reads the second half of the items is left out, again if need be: what is
    left out has relevance 0.
    """

    name = "by attention"

    def __init__(self, model: CausalLM) -> None:
        self._model = model

    def of(self, evidence: Evidence[Item]) -> Floats:
        """Return â of each item; raises `LLMError` where the model cannot be had or cannot show its attention."""
        texts = list_item_texts(evidence.items)
        relevances = np.zeros(len(texts))
        num_read = len(texts)
        while num_read:
            try:
                relevances[:num_read] = self._read(evidence.question.text, texts[:num_read])
                break
            except PromptTooLongError:
                num_read //= 2
            except CausalLMError as error:
                raise LLMError(str(error)) from error
        return relevances

    def _read(self, question: str, texts: Sequence[str]) -> Floats:
        spans: list[tuple[int, int]] = []
        content = BEFORE
        for text in texts:
            spans.append((len(content), len(content) + len(text)))
            content += f"{text}\n"
        content += AFTER.format(question=one_line(question))
        layer = relevance_layer(self._model.num_layers)
        found = self._model.attention([{"role": "user", "content": content}], layer)
        return attention_relevance(found.weights, token_spans(found.offsets, spans))


class RerankerRelevance:
    """A cross-encoder that reads the question and each item together (sentence-transformers)."""

    name = "by reranker"

    def __init__(self, model: CrossEncoder) -> None:
        self._model = model

    def of(self, evidence: Evidence[Item]) -> Floats:
        """Return the reranker's scores."""
        pairs = [(evidence.question.text, text) for text in list_item_texts(evidence.items)]
        if not pairs:
            return np.zeros(0)
        scores = np.asarray(self._model.predict(pairs, show_progress_bar=False), dtype=np.float64)
        check_finite(scores, "the reranker")
        return scores


def list_item_texts(items: Sequence[Scored[Item]]) -> list[str]:
    """Return each item on one line, as filters read them."""
    return [one_line(item_text(item.value, max_names=MAX_NAMES), MAX_ITEM_CHARS) for item in items]


class StarNetworks(PathScorer, PairReader, Protocol):
    """Both networks of a checkpoint: `StarScorer`."""


class StarRelevance:
    """The logits of a checkpoint's cross-attentive scorer or, where it has none, of its dual encoder.

    It has learned paths from a question's topics: a chain that starts elsewhere is worth less than all that do not. A
    triple is worth as much as the best of the chains that the evidence's triples make with it; where it is on none, as
    little.
    """

    def __init__(self, scorer: StarNetworks, *, is_cross: bool) -> None:
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
