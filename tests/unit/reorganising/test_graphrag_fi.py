"""GraphRAG-FI's formulas by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lodestar.models.graphrag_fi import (
    ConfidenceThresholds,
    compute_answer_confidences,
    compute_attention_relevance,
    compute_sequence_confidence,
    find_token_spans,
    get_middle_attention_layer,
    integrate_answers,
    prioritise_items,
    select_most_relevant_paths,
)


class TestRelevance:
    def test_half_of_the_maximum_and_the_mean(self) -> None:
        """Tokens 1 to 3 of 0.1, 0.3, 0.2: maximum 0.3, mean 0.2."""
        attention = np.array([0.2, 0.1, 0.3, 0.2, 0.2])
        assert compute_attention_relevance(attention, np.array([[1, 4], [4, 5], [2, 2]])) == pytest.approx(
            [0.25, 0.2, 0.0]
        )

    def test_heads_are_averaged_first(self) -> None:
        attention = np.array([[0.5, 0.5, 0.0], [0.1, 0.3, 0.6]])
        assert compute_attention_relevance(attention, np.array([[0, 2]])) == pytest.approx([(0.4 + 0.35) / 2])

    @pytest.mark.parametrize(("num_layers", "layer"), [(32, 18), (28, 16), (12, 8), (5, 4), (4, 3), (2, 1), (1, 0)])
    def test_the_layer_is_the_middle_and_two(self, num_layers: int, layer: int) -> None:
        assert get_middle_attention_layer(num_layers) == layer

    def test_spans_follow_the_characters(self) -> None:
        """A token that is added stands for no characters; one that reaches over a border counts on both sides."""
        offsets = np.array([(0, 0), (0, 3), (3, 6), (6, 8), (8, 9), (0, 0)])
        spans = find_token_spans(offsets, [(0, 4), (4, 8), (8, 9), (9, 12), (5, 5)])
        assert spans.tolist() == [[1, 3], [2, 4], [4, 5], [0, 0], [0, 0]]


class TestPriorities:
    def test_the_most_relevant_are_kept_and_come_first(self) -> None:
        assert select_most_relevant_paths(np.array([0.1, 0.4, 0.2, 0.4]), 3) == (1, 3, 2)
        assert select_most_relevant_paths(np.array([0.4, 0.4, 0.4]), 2) == (0, 1)
        assert select_most_relevant_paths(np.array([0.4]), 40) == (0,)
        assert select_most_relevant_paths(np.tile([0.1, 0.4], 40), 50) == (*range(1, 80, 2), *range(0, 20, 2))

    def test_the_second_group_is_the_difference(self) -> None:
        assert prioritise_items((1, 2, 5), {5, 1, 7}) == ((1, 5), (2,))
        assert prioritise_items((), {1}) == ((), ())


class TestConfidence:
    def test_the_geometric_mean(self) -> None:
        assert compute_sequence_confidence([math.log(0.5), math.log(0.125)]) == pytest.approx(0.25)
        assert compute_sequence_confidence([1e-9]) == 1.0

    def test_each_answer_has_its_own_tokens(self) -> None:
        tokens = [
            (text, math.log(p))
            for text, p in [('["', 0.1), ("Li", 0.8), ("ma", 0.2), ('", "', 0.1), ("Quito", 0.9), ('"]', 0.1)]
        ]
        assert compute_answer_confidences(tokens, ["Lima", "Quito", "Bogotá"]) == [
            pytest.approx(0.4),
            pytest.approx(0.9),
            None,
        ]

    def test_escapes_of_json_and_plain_words(self) -> None:
        assert compute_answer_confidences([('"Bogot\\u00e1"', -1.0)], ["Bogotá"]) == [pytest.approx(math.exp(-1))]
        assert compute_answer_confidences([("It is ", -1.0), ("Lima", -0.5)], ["Lima"]) == [
            pytest.approx(math.exp(-0.5))
        ]
        assert compute_answer_confidences([('the "El \\"Niño\\"', -0.5)], ['El "Niño"']) == [
            pytest.approx(math.exp(-0.5))
        ]
        assert compute_answer_confidences([("Lima", -0.5)], [""]) == [None]
        assert compute_answer_confidences([], ["Lima"]) == [None]


class TestIntegration:
    thresholds = ConfidenceThresholds(0.5, 0.9)

    def kept(
        self, graph: list[tuple[str, float | None]], model: list[tuple[str, float | None]]
    ) -> list[tuple[str, str]]:
        found = integrate_answers(graph, model, self.thresholds)
        return [
            (graph[own][0], "graph" if other is None else "both")
            if own is not None
            else (model[other or 0][0], "model")
            for own, other in found
        ]

    def test_a_union_in_order_that_says_on_whose_word(self) -> None:
        graph = [("b", 0.6), ("a", 0.5), ("c", 0.4), ("d", 0.7)]
        model = [("x", 0.95), ("a", 0.9), ("d", 0.8), ("c", 0.99)]
        assert self.kept(graph, model) == [
            ("b", "graph"),
            ("a", "both"),
            ("d", "graph"),
            ("x", "model"),
            ("c", "model"),
        ]

    @pytest.mark.parametrize(
        ("sure", "place"), [((0.8, 0.6), 0), ((0.6, 0.6), 0), ((0.6, 0.8), 1), ((0.6, None), 0), ((None, 0.6), 1)]
    )
    def test_of_a_key_twice_the_surer_counts_then_the_earlier(
        self, sure: tuple[float | None, float | None], place: int
    ) -> None:
        assert integrate_answers([("a", each) for each in sure], [], self.thresholds) == [(place, None)]
