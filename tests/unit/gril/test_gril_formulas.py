"""GRIL's formulas against values computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

import numpy as np
import pytest
import torch
from lodestar.models.gril import GrowOptions
from lodestar.models.gril.network import GraphRetriever, HopPredictor, concrete_mask, group_noisy_or, group_softmax
from lodestar.models.gril.training import (
    EncodedSubgraphs,
    compute_entity_supervision_loss,
    compute_mean_retriever_figures,
    predict_triple_counts,
)

from tests.fakes.letter_encoder import LetterEncoder
from tests.made.gril_graphs import inputs_of, set_attention
from tests.made.reg_graphs import question_graphs


def retriever(**options: object) -> GraphRetriever:
    torch.manual_seed(0)
    return GraphRetriever(4, 3, GrowOptions(**options)).eval()


class TestGroups:
    def test_softmax_is_within_each_group(self) -> None:
        scores = torch.tensor([0.0, math.log(3.0), 800.0, -5.0])
        found = group_softmax(scores, torch.tensor([0, 0, 1, 2]), 4)
        torch.testing.assert_close(found, torch.tensor([0.25, 0.75, 1.0, 1.0]))

    def test_noisy_or(self) -> None:
        found = group_noisy_or(torch.tensor([0.5, 0.5, 0.2]), torch.tensor([0, 0, 2]), 3)
        torch.testing.assert_close(found, torch.tensor([0.75, 0.0, 0.2]))


class TestMask:
    def test_by_hand(self) -> None:
        """P = .8 is a logit of log 4, ε = .2 of −log 4: together 0; at τ = ½ the median is 4² / (1 + 4²)."""
        probabilities = torch.tensor([0.8])
        torch.testing.assert_close(concrete_mask(probabilities, 0.5, torch.tensor([0.2])), torch.tensor([0.5]))
        torch.testing.assert_close(concrete_mask(probabilities, 0.5), torch.tensor([16 / 17]))


class TestAttention:
    def test_the_score_is_a_perceptron_over_four_parts(self) -> None:
        network, inputs = retriever(num_layers=1), inputs_of([(0, 0, 1), (0, 1, 2), (3, 0, 0)], topics=[0])
        with torch.no_grad():
            found = network(inputs).path_probability
            entities = network.of_entity(inputs.entities)
            expected = []
            for source, relation, target, inverse in ((0, 0, 1, 0), (0, 1, 2, 0), (0, 0, 3, 1)):
                hidden = network.score_source(entities[source]) + network.score_target(entities[target])
                hidden += network.score_relation(inputs.relations[relation] + inverse * network.inverse)
                hidden += network.score_question(inputs.questions[0])
                expected.append(network.score_out(hidden.relu()))
        torch.testing.assert_close(found, torch.softmax(torch.cat(expected), 0))

    def test_nothing_is_walked_from_a_literal_and_a_self_loop_once(self) -> None:
        inputs = inputs_of([(0, 0, 0), (0, 0, 1), (2, 0, 1)], topics=[0], literals=[1])
        with torch.no_grad():
            grown = retriever(sigma=0.0, num_layers=1)(inputs)
        assert grown.is_seen.tolist() == [True, True, False]
        assert float(grown.path_probability.sum()) == pytest.approx(1)
        assert grown.entity_probability[2] == 0


class TestPruning:
    """Topic 0 with twenty neighbours: by its first edge goes half of the attention, the rest is shared."""

    EDGES = tuple((0, 0, 1 + place) for place in range(20))

    def kept(self, monkeypatch: pytest.MonkeyPatch, **options: object) -> list[int]:
        network, inputs = retriever(num_layers=1, **options), inputs_of(self.EDGES, topics=[0])
        set_attention(monkeypatch, [0.5, *(0.5 / 19 - 1e-6 * place for place in range(19))])
        with torch.no_grad():
            return torch.nonzero(network(inputs).is_kept).squeeze(1).tolist()

    def test_by_the_threshold_but_for_the_best_of_the_budget(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.kept(monkeypatch, budget=0) == [0]
        assert self.kept(monkeypatch) == list(range(1 + 16))
        assert self.kept(monkeypatch, budget=19) == list(range(20))
        assert self.kept(monkeypatch, sigma=0.02) == list(range(20))
        assert self.kept(monkeypatch, sigma=0.5) == list(range(16))
        assert self.kept(monkeypatch, sigma=0.0, budget=0) == list(range(20))


class TestGrowing:
    """0 → 1 → 2: with attention of .5 and .4."""

    def grown(self, monkeypatch: pytest.MonkeyPatch, **options: object) -> list[list[float]]:
        network = retriever(num_layers=2, sigma=0.0, **options)
        inputs = inputs_of([(0, 0, 1), (1, 0, 2)], topics=[0])
        set_attention(monkeypatch, [0.5], [0.5, 0.4, 0.6])  # 0→1; then 0→1, 1→2, and 1→0 against the first
        with torch.no_grad():
            found = network(inputs)
        return [found.path_probability.tolist(), found.entity_probability.tolist()]

    def test_the_product_along_the_way(self, monkeypatch: pytest.MonkeyPatch) -> None:
        probabilities, reached = self.grown(monkeypatch)
        assert probabilities == pytest.approx([0.5, 0.2])
        assert reached == pytest.approx([1.0, 0.5, 0.2])

    def test_equation_4_by_hand(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """h'_1 = W1 h_1 + W2 · ½ h_0, h'_0 = W1 h_0, and node 2, which was not met, stays."""
        network, inputs = retriever(num_layers=1, sigma=0.0), inputs_of([(0, 0, 1), (1, 0, 2)], topics=[0])
        set_attention(monkeypatch, [0.5], [0.5])
        with torch.no_grad():
            before = network.of_entity(inputs.entities)
            after = network(inputs).entities
            first, second = network.update_own, network.update_neighbours
            torch.testing.assert_close(after[1], first(before[1]) + second(0.5 * before[0]))
            torch.testing.assert_close(after[0], first(before[0]))
            torch.testing.assert_close(after[2], before[2])

    def test_what_is_pruned_sends_no_message_but_has_a_probability(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of 0 → 1 and 0 → 2 the second is pruned: h'_2 = W1 h_2, and its attention is P, so that it has a gradient."""
        network = retriever(num_layers=1, sigma=0.45, budget=0)
        inputs = inputs_of([(0, 0, 1), (0, 0, 2)], topics=[0])
        set_attention(monkeypatch, [0.6, 0.4])
        with torch.no_grad():
            before = network.of_entity(inputs.entities)
            found = network(inputs)
            sent = network.update_neighbours(0.6 * before[0])
            own = network.update_own(before)
        torch.testing.assert_close(found.entities, own + torch.stack([torch.zeros(3), sent, torch.zeros(3)]))
        assert found.path_probability.tolist() == pytest.approx([0.6, 0.4])
        assert found.is_kept.tolist() == [True, False]

    def test_what_is_pruned_is_not_grown_from_but_for_what_is_on_right_paths(self) -> None:
        edges = [(0, 0, 1 + place) for place in range(30)] + [(1, 0, 40)]
        inputs = inputs_of(edges, topics=[0])
        with torch.no_grad():
            network = retriever(sigma=0.9, budget=0)
            assert not network(inputs).is_seen[-1]
            anyway = torch.zeros_like(inputs.is_topic)
            anyway[[0, 1, 40]] = True
            assert network(replace(inputs, grown_anyway=anyway)).is_seen[-1]


def test_a_reader_gets_five_triples_for_each_hop() -> None:
    encoded = EncodedSubgraphs(question_graphs(0, 2), LetterEncoder().encode, torch.device("cpu"))
    hops = cast(HopPredictor, lambda _: torch.tensor([[2.0, 1.0, 0.0], [0.0, 1.0, 2.0]]))
    assert predict_triple_counts(hops, encoded) == [5, 15]


def test_figures_are_means_over_the_questions_with_a_right_triple() -> None:
    scores = np.array([3.0, 2.0, 1.0], dtype=np.float32)
    first, second, none = np.eye(3, dtype=np.bool_)[0], np.eye(3, dtype=np.bool_)[1], np.zeros(3, dtype=np.bool_)
    figures = compute_mean_retriever_figures([(scores, first), (scores, second), (scores, none)])
    assert figures["average_precision"] == pytest.approx((1 + 1 / 2) / 2)
    assert figures["recall_at_5"] == 1
    assert figures["selection_metric"] == pytest.approx(1 + 1e-3 * 0.75)


def test_supervision_counts_what_was_seen_from_either_end_and_no_topic() -> None:
    """0 → 1 and 2 → 0 were seen, 3 → 0 was not: of P = ½, 0 and 1 the losses are ln 2 and, of 2, −ln 10⁻⁶."""
    inputs = inputs_of([(0, 0, 1), (2, 0, 0), (3, 0, 0)], topics=[0])
    grown = replace(
        retriever()(inputs),
        entity_probability=torch.tensor([1.0, 0.5, 0.0, 0.9]),
        is_seen=torch.tensor([True, True, False]),
    )
    right = torch.tensor([1.0, 0.0, 1.0, 1.0])
    expected = (math.log(2) + 6 * math.log(10)) / 2
    assert compute_entity_supervision_loss(grown, inputs, right).item() == pytest.approx(expected, rel=1e-4)
    certain = replace(grown, entity_probability=torch.tensor([1.0, 0.5, 1.0, 0.9]))
    wrong = torch.tensor([1.0, 0.0, 0.0, 1.0])
    assert compute_entity_supervision_loss(certain, inputs, wrong).item() == pytest.approx(expected, rel=0.01)
    unseen = replace(grown, is_seen=torch.tensor([True, False, False]))
    two = replace(inputs, questions=inputs.questions.repeat(2, 1), node_question=torch.tensor([0, 0, 1, 1]))
    assert compute_entity_supervision_loss(unseen, two, right).item() == pytest.approx(math.log(2) / 2)
