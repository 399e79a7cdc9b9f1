"""ReG@Triple's formulas against values computed by hand and plain references."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from lodestar.models.reg import triples as reg_network
from lodestar.models.reg.triples import GraphInputs, LengthPredictor, TripleScorer, find_chain_lengths
from lodestar.models.subgraphs import (
    compute_distance_encoding,
    compute_encoding_width,
    join_graphs,
    mark_shortest_paths,
    mark_triples_beside,
)

from tests.made.reg_graphs import question_graphs


def nodes(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def flags(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.bool_)


class TestDistanceEncoding:
    def test_a_chain_by_hand(self) -> None:
        """0 → 1 → 2, the topic is 0. Along: node 1 has heads {0}, node 2 {1}. Against: node 0 has tails {1}, 1 {2}.

        Either way: half of node 1's neighbours are the topic, and both others have node 1 alone.
        """
        found = compute_distance_encoding(nodes(0, 1), nodes(1, 2), flags(1, 0, 0), 2)
        assert found.shape == (3, compute_encoding_width(2))
        half = 1 - 0.30103 / 6
        expected = [
            # one-hot, along 1,  along 2, against 1, against 2, either way 1, 2
            [0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, half],
            [1, 0, 0, 1, 0, 0, 1, 0, 0, 0, half, 0],
            [1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, half],
        ]
        np.testing.assert_allclose(found, expected, atol=1e-6)

    def test_it_tells_what_turns_back_to_near_the_topic(self) -> None:
        """0 → 1 ← 2, 0 → 3 ← 4 and 3 has many more: of the films 2 and 4, the one by the topic's director is nearer."""
        crowd = list(range(5, 40))
        heads, tails = nodes(0, 2, 0, 4, *crowd), nodes(1, 1, 3, 3, *[3] * len(crowd))
        found = compute_distance_encoding(heads, tails, np.arange(40) == 0, 2)
        assert found[2, -1] > found[4, -1] > 0
        assert (found[2, :-2] == found[4, :-2]).all()


def test_triples_beside_a_right_one_or_a_topic() -> None:
    """0 is the topic, 0 → 1 is right; 1 → 2 and 3 → 0 are beside it, 2 → 3 is not."""
    found = mark_triples_beside(nodes(0, 1, 3, 2), nodes(1, 2, 0, 3), flags(1, 0, 0, 0), flags(1, 0, 0, 0))
    assert found.tolist() == [True, True, True, False]


class TestShortestPaths:
    def test_all_shortest_paths_whichever_way_the_triples_point(self) -> None:
        """0 → 1 → 3 and 0 ← 2 → 3 are as short; 0 → 4 → 5 → 3 is longer, 1 → 6 leads away."""
        heads, tails = nodes(0, 1, 2, 2, 0, 4, 5, 1), nodes(1, 3, 0, 3, 4, 5, 3, 6)
        found = mark_shortest_paths(heads, tails, flags(*[0] * 7), nodes(0), flags(0, 0, 0, 1, 0, 0, 0))
        assert found.tolist() == [True, True, True, True, False, False, False, False]

    def test_each_answer_and_each_topic_has_its_own(self) -> None:
        """From 0: 1 is next to it, 2 two steps away. From 2 itself an answer: 1 is next, 2 is no way."""
        found = mark_shortest_paths(nodes(0, 1), nodes(1, 2), flags(0, 0, 0), nodes(0), flags(0, 1, 1))
        assert found.tolist() == [True, True]
        found = mark_shortest_paths(nodes(0, 1), nodes(1, 2), flags(0, 0, 0), nodes(0, 2), flags(0, 1, 0))
        assert found.tolist() == [True, True]
        assert not mark_shortest_paths(nodes(0), nodes(1), flags(0, 0), nodes(0), flags(1, 0)).any()

    def test_no_path_goes_through_a_literal(self) -> None:
        """0 → value ← 2: a path may end in the value alone."""
        heads, tails, is_literal = nodes(0, 2), nodes(1, 1), flags(0, 1, 0)
        assert not mark_shortest_paths(heads, tails, is_literal, nodes(0), flags(0, 0, 1)).any()
        assert mark_shortest_paths(heads, tails, is_literal, nodes(0), flags(0, 1, 0)).tolist() == [True, False]


class TestNetwork:
    def inputs(self, num_triples: int = 50) -> GraphInputs:
        torch.manual_seed(1)
        return GraphInputs(
            questions=torch.randn(2, 5),
            relations=torch.randn(3, 5),
            entities=torch.randn(8, 5),
            is_named=torch.tensor([True] * 6 + [False] * 2),
            is_topic=torch.zeros(8, dtype=torch.bool),
            is_literal=torch.zeros(8, dtype=torch.bool),
            node_question=torch.zeros(8, dtype=torch.int64),
            distances=torch.randn(8, compute_encoding_width(1)),
            question_of=torch.randint(2, (num_triples,)),
            heads=torch.randint(8, (num_triples,)),
            relation_of=torch.randint(3, (num_triples,)),
            tails=torch.randint(8, (num_triples,)),
        )

    def test_it_is_the_layer_over_the_concatenated_embeddings(self, monkeypatch: object) -> None:
        given = self.inputs()
        network = TripleScorer(5, compute_encoding_width(1), 7)
        torch.nn.init.normal_(network.unnamed)
        entities = given.entities.clone()
        entities[6:] = network.unnamed.detach()
        parts = [
            given.questions[given.question_of],
            entities[given.heads],
            given.relations[given.relation_of],
            entities[given.tails],
            given.distances[given.heads],
            given.distances[given.tails],
            given.questions[given.question_of] * given.relations[given.relation_of],
        ]
        layers = [network.of_question, network.of_head, network.of_relation, network.of_tail]
        layers += [network.of_head_distance, network.of_tail_distance, network.of_match]
        weight = torch.cat([layer.weight for layer in layers], dim=1)
        hidden = torch.relu(torch.cat(parts, dim=1) @ weight.T + network.of_question.bias)
        expected = network.out(hidden).squeeze(1)
        torch.testing.assert_close(network(given), expected, rtol=1e-5, atol=1e-5)
        monkeypatch.setattr(reg_network, "BLOCK", 7)
        torch.testing.assert_close(network(given), expected, rtol=1e-5, atol=1e-5)


def test_the_length_of_a_chain_is_told_by_the_words_of_its_question() -> None:
    """0 → 1 is right in the first graph, 0 → 1 → 4 in the second."""
    graphs = replace(
        question_graphs(0, 2),
        is_positive=flags(1, 0, 0, 0, 1, 0, 0, 1),
        is_answer=flags(0, 1, 0, 0, 0, 0, 0, 0, 0, 1),
    )
    one, two, three, unknown = flags(1, 0, 0, 0), flags(0, 1, 0, 0), flags(0, 0, 1, 0), flags(0, 0, 0, 0)
    assert find_chain_lengths(graphs).tolist() == [one.tolist(), two.tolist()]
    given = replace(graphs, texts=replace(graphs.texts, chain_lengths=((1, 3), ())))
    assert find_chain_lengths(given).tolist() == [(one | three).tolist(), two.tolist()]
    assert find_chain_lengths(join_graphs([graphs, given])).sum(axis=1).tolist() == [1, 1, 2, 1]
    predictor = LengthPredictor(2)
    predictor.fit(np.array([[1, 0], [0, 1], [0.5, 0.5]] * 20, dtype=np.float32), np.stack([two, one, unknown] * 20))
    told = predictor(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    assert told.argmax(dim=1).tolist() == [1, 0]
    assert told.sum(dim=1).tolist() == pytest.approx([1, 1])
    assert float(told[:, 2:].max()) < 0.05
