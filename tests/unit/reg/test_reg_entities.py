"""ReG@Entity: what its network aggregates against a dense reference, and a training that learns, is taken up, read, at work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from lodestar.models.reg.entities import EntityScorer
from lodestar.models.reg.triples import EncodedGraphs, GraphInputs
from lodestar.models.subgraphs import compute_encoding_width
from torch import Tensor

from tests.fakes.letter_encoder import LetterEncoder
from tests.made.reg_graphs import question_graphs


def pass_of(network: EntityScorer, inputs: GraphInputs, degrees: Sequence[int]) -> Tensor:
    """The pass, node by node and message by message; the linear maps are the network's, all else is written out here."""
    count = torch.tensor(degrees, dtype=torch.float64)
    delta = float((count * torch.log(torch.arange(len(degrees)) + 1.0)).sum() / count.sum())
    columns = (inputs.heads, inputs.relation_of, inputs.tails, inputs.question_of)
    triples = list(zip(*(column.tolist() for column in columns), strict=True))
    asked = {end: question for head, _, tail, question in triples for end in (head, tail)}
    edges: dict[int, list[tuple[int, Tensor]]] = {node: [] for node in asked}
    for head, relation, tail, question in triples:
        gate = 1 + network.of_question_in_relation(inputs.questions[question])
        words = inputs.relations[relation]
        edges[tail].append((head, torch.relu(network.of_relation(words) * gate)))
        edges[head].append((tail, torch.relu(network.of_inverse(words) * gate)))
    names = [row if named else network.unnamed for row, named in zip(inputs.entities, inputs.is_named, strict=True)]
    states = torch.stack(
        [
            network.of_entity(names[node])
            + network.of_distance(inputs.distances[node])
            + network.of_question(inputs.questions[asked[node]])
            for node in range(len(names))
        ]
    )
    for layer in network.layers:
        pna: Any = layer
        x, rows = torch.relu(states), []
        for node in range(len(names)):
            messages = torch.stack(
                [pna.pre_nns[0](torch.cat([x[node], x[other], pna.edge_encoder(edge)])) for other, edge in edges[node]]
            )
            spread = messages.var(0, unbiased=False).sqrt()
            joined = torch.cat([messages.mean(0), messages.min(0).values, messages.max(0).values, spread])
            scale = math.log(len(messages) + 1) / delta
            rows.append(pna.lin(pna.post_nns[0](torch.cat([x[node], joined, joined * scale, joined / scale]))))
        states = states + torch.stack(rows)
    logits: Tensor = network.out(torch.relu(states)).squeeze(1)
    return logits


def test_the_pass_is_that_of_a_reference_message_by_message() -> None:
    torch.manual_seed(0)
    graphs, degrees = question_graphs(0, 3), (0, 7, 2, 1)
    encoded = EncodedGraphs(graphs, LetterEncoder().encode, 2, torch.device("cpu"))
    network = EntityScorer(encoded.dimension, compute_encoding_width(2), 8, 2, degrees).eval()
    inputs = encoded.inputs(range(3), encoded.rows(range(3)))
    assert not inputs.is_named.all()
    with torch.no_grad():
        for parameter in network.parameters():  # those that begin at 0, too
            parameter.add_(0.3 * torch.randn_like(parameter))
        expected = pass_of(network, inputs, degrees)
        assert expected.std() > 0.1
        torch.testing.assert_close(network.nodes(inputs), expected, rtol=1e-3, atol=1e-3)
