"""Small inputs of GRIL's retriever, and attention that a test sets itself."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from lodestar.models.gril import network as gril_network
from lodestar.models.reg.triples import GraphInputs

DIMENSION = 4


def inputs_of(
    triples: Sequence[tuple[int, int, int]],
    *,
    topics: Sequence[int],
    literals: Sequence[int] = (),
) -> GraphInputs:
    """One question over these triples (head, relation, tail), with random vectors that are the same each time."""
    numbers = torch.Generator().manual_seed(1)
    size = max(max(head, tail) for head, _, tail in triples) + 1
    num_relations = max([0, *(relation for _, relation, _ in triples)]) + 1
    heads, relation_of, tails = (
        torch.tensor([each[place] for each in triples], dtype=torch.int64) for place in range(3)
    )

    def flags(nodes: Sequence[int]) -> torch.Tensor:
        found = torch.zeros(size, dtype=torch.bool)
        found[list(nodes)] = True
        return found

    return GraphInputs(
        questions=torch.randn(1, DIMENSION, generator=numbers),
        relations=torch.randn(num_relations, DIMENSION, generator=numbers),
        entities=torch.randn(size, DIMENSION, generator=numbers),
        is_named=torch.ones(size, dtype=torch.bool),
        is_topic=flags(topics),
        is_literal=flags(literals),
        node_question=torch.zeros(size, dtype=torch.int64),
        distances=torch.zeros(size, 2),
        question_of=torch.zeros(len(triples), dtype=torch.int64),
        heads=heads,
        relation_of=relation_of,
        tails=tails,
    )


def set_attention(monkeypatch: pytest.MonkeyPatch, *layers: Sequence[float]) -> None:
    """Let the attention of each layer be this."""
    given = iter(layers)
    monkeypatch.setattr(gril_network, "group_softmax", lambda *_: torch.tensor(next(given)))
