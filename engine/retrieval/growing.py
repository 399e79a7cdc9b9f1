"""Retrieve triples with GRIL: grow a subgraph by attention from the topics, read as in its training.

The subgraphs of a batch are read by one query a hop, within the bounds that the checkpoint was trained with; growing
and pruning are then done for all of them together, by the code that learned it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...models.gril.network import GrilModel
from ...models.text.vectors import TextVectors
from ..evidence.evidence import Evidence, Kind
from ..evidence.extras import GraphToken
from ..steps import Steps, attribute_costs
from ..values import LinkedQuestion, Triple, check_finite
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
        batch = yield from self._columns.extract(questions)
        columns = self._columns.columns(questions, batch)
        found = self._model.grow(columns, batch.table.is_literal[batch.entities], batch.node_questions)
        check_finite(found.logits, "a checkpoint of kind gril")
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
