"""Laws of GRIL's retriever: relabelled nodes leave scores unchanged, more is seen."""

from __future__ import annotations

import random
from dataclasses import replace

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lodestar.models.gril import GrowOptions
from lodestar.models.gril.network import GraphRetriever
from lodestar.models.reg.triples import GraphInputs

from tests.conftest import examples
from tests.made.gril_graphs import DIMENSION, inputs_of

NODES = 8

graphs = st.lists(
    st.tuples(st.integers(0, NODES - 1), st.integers(0, 2), st.integers(0, NODES - 1)), max_size=25, unique=True
)
sigmas = st.sampled_from([0.0, 0.3])


def network(sigma: float, num_layers: int = 3) -> GraphRetriever:
    torch.manual_seed(3)
    options = GrowOptions(num_layers=num_layers, budget=2, sigma=sigma)
    return GraphRetriever(DIMENSION, 6, options).eval()


def one(triples: list[tuple[int, int, int]], topics: list[int], seed: int = 1) -> GraphInputs:
    inputs = inputs_of(triples, topics=topics, num_nodes=NODES, seed=seed)
    numbers = torch.Generator().manual_seed(seed + 100)
    return replace(inputs, relations=torch.randn(3, DIMENSION, generator=numbers))


@settings(max_examples=examples(60))
@given(graphs, st.sets(st.integers(0, NODES - 1), min_size=1, max_size=3), sigmas, st.randoms(use_true_random=False))
def test_relabelled_nodes_leave_scores_unchanged(
    triples: list[tuple[int, int, int]], topics: set[int], sigma: float, rng: random.Random
) -> None:
    inputs = one(triples, sorted(topics))
    new = torch.tensor(rng.sample(range(NODES), NODES))
    order = torch.tensor(rng.sample(range(len(triples)), len(triples)), dtype=torch.int64)
    old = torch.argsort(new)
    relabelled = replace(
        inputs,
        entities=inputs.entities[old],
        is_topic=inputs.is_topic[old],
        heads=new[inputs.heads][order],
        tails=new[inputs.tails][order],
        relation_of=inputs.relation_of[order],
    )
    with torch.no_grad():
        before, after = network(sigma)(inputs), network(sigma)(relabelled)
    torch.testing.assert_close(after.path_probability, before.path_probability[order])
    torch.testing.assert_close(after.entity_probability, before.entity_probability[old])
    torch.testing.assert_close(after.entities, before.entities[old])
    assert torch.equal(after.is_kept, before.is_kept[order])
