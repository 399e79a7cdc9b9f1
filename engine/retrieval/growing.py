"""Retrieve triples with GRIL: grow a subgraph by attention from the topics, read as in its training.

The subgraphs of a batch are read by one query a hop, within the bounds that the checkpoint was trained with; growing
and pruning are then done for all of them together, by the code that learned it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...models.gril.network import GrilModel, GrownTriples
from ...models.text.vectors import TextVectors
from ..evidence.evidence import Evidence, Kind
from ..evidence.extras import GraphToken
from ..steps import Steps, attribute_costs
from ..values import LinkedQuestion, Topic, Triple, check_finite
from .subgraph.batch import SubgraphBatch
from .triples import GraphRelations, SubgraphReader


class GrowingRetriever:
    """A `Retriever`: of each question the `keep` best triples of the subgraph that grew; pruned ones are not in it."""

    gives: Kind = "triple"

    def __init__(
        self,
        relations: GraphRelations,
        vectors: TextVectors,
        model: GrilModel,
        *,
        keep: int,
    ) -> None:
        self._columns = SubgraphReader(relations, vectors, model.description.subgraph)
        self._model = model
        self._keep = keep

    def retrieve(self, questions: Sequence[LinkedQuestion], top_k: int) -> Steps[list[Evidence[Triple]]]:
        """Return the triples, best first: at least `top_k` where pruning kept as many."""
        encoding_s = self._columns.encoding_s
        batch, found = yield from self.grow(questions)
        yield from attribute_costs("encode", self._columns.encoding_s - encoding_s)
        keep = max(self._keep, top_k)
        evidence: list[Evidence[Triple]] = []
        for number, question in enumerate(questions):
            rows = np.arange(batch.triple_starts[number], batch.triple_starts[number + 1])
            kept = rows[found.is_kept[rows]]
            best = kept[np.argsort(-found.logits[kept], kind="stable")[:keep]]
            one = self._columns.evidence(
                question, batch, number, best, found.logits, self._model.description.calibration
            )
            evidence.append(replace(one, extras=(GraphToken(tuple(found.tokens[number])),)))
        return evidence

    def grow(self, questions: Sequence[LinkedQuestion]) -> Steps[tuple[SubgraphBatch, GrownTriples]]:
        """Return the subgraphs of the questions, and what grew in them, layer by layer."""
        batch = yield from self._columns.extract(questions)
        columns = self._columns.columns(questions, batch)
        grown = self._model.grow(columns, batch.table.is_literal[batch.entities], batch.node_questions)
        check_finite(grown.logits, "a checkpoint of kind gril")
        return batch, grown

    @property
    def names(self) -> Mapping[int, str]:
        """The relations by catalogue number."""
        return self._columns.names

    def topics(self, linked: LinkedQuestion) -> tuple[Topic, ...]:
        """Return the topics that a subgraph is read around."""
        return self._columns.topics(linked)
