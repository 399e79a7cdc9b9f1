"""How relevant the items of evidence are to their question: what GraphRAG-FI's coarse filter goes by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from ...models.graphrag_fi import attention_relevance, relevance_layer, token_spans
from ...models.language.causal_lm import CausalLM, CausalLMError, PromptTooLongError
from ..errors import LLMError
from ..evidence.evidence import Evidence, Item
from ..evidence.text import item_text, one_line
from ..values import Scored, check_finite

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
class ByScore:
    """The order in which the evidence came: where there is neither a local language model nor a reranker."""

    name: str = "by score"

    def of(self, evidence: Evidence[Item]) -> Floats:
        """Return falling numbers."""
        return -np.arange(len(evidence.items), dtype=np.float64)


class ByAttention:
    """What a local causal language model attends to as it begins to answer (GraphRAG-FI, sections 3.4 and A.6).

    Of a prompt that is longer than the model reads the second half of the items is left out, again if need be: what is
    left out has relevance 0.
    """

    name = "by attention"

    def __init__(self, model: CausalLM) -> None:
        self._model = model

    def of(self, evidence: Evidence[Item]) -> Floats:
        """Return â of each item; raises `LLMError` where the model cannot be had or cannot show its attention."""
        texts = texts_of(evidence.items)
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


class ByReranker:
    """A cross-encoder that reads the question and each item together (sentence-transformers)."""

    name = "by reranker"

    def __init__(self, model: CrossEncoder) -> None:
        self._model = model

    def of(self, evidence: Evidence[Item]) -> Floats:
        """Return the reranker's scores."""
        pairs = [(evidence.question.text, text) for text in texts_of(evidence.items)]
        if not pairs:
            return np.zeros(0)
        scores = np.asarray(self._model.predict(pairs, show_progress_bar=False), dtype=np.float64)
        check_finite(scores, "the reranker")
        return scores


def texts_of(items: Sequence[Scored[Item]]) -> list[str]:
    """Return each item on one line, as filters read them."""
    return [one_line(item_text(item.value, max_names=MAX_NAMES), MAX_ITEM_CHARS) for item in items]
