"""Laws of the metrics: figures in [0, 1], orders that matter and orders that do not."""

from __future__ import annotations

from itertools import permutations
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from lodestar.engine.evaluation import (
    Prediction,
    RetrievedPath,
    answer_scores,
    compare_pairs,
    distinct_gold,
    match_predictions,
    normalise_answer,
    path_scores,
    rog_scores,
)
from lodestar.engine.gold_questions import GoldAnswer, GoldPath, GoldQuestion

from tests.conftest import examples

few = settings(max_examples=examples(50))

ids = st.sampled_from(["m.1", "m.2", "m.3"])
names = st.sampled_from(["Lima", "the Lima", "Cusco", "Puno", "The The", "Lima Cusco", "!"])
under_any_name = st.builds(Prediction, names, st.none() | ids)
# Here an id goes by one name; else the first one's counts, and the order of predictions matters.
entities = [Prediction("Lima", "m.1"), Prediction("Lima", "m.2"), Prediction("Cusco", "m.3")]
predicted = st.builds(Prediction, names) | st.sampled_from(entities)
predictions = st.lists(predicted, max_size=5)
gold_answers = st.builds(GoldAnswer, st.none() | ids, st.lists(names, min_size=1, max_size=2).map(tuple))
golds = st.lists(gold_answers, max_size=4)
relations = st.lists(st.sampled_from("rst"), min_size=1, max_size=2).map(tuple)
triples = st.tuples(predicted, st.sampled_from("rst"), predicted)
found_paths = st.lists(
    st.builds(
        RetrievedPath, relations, st.lists(predicted, max_size=4).map(tuple), st.lists(triples, max_size=3).map(tuple)
    ),
    max_size=4,
)
gold_paths = st.lists(st.builds(GoldPath, relations), min_size=1, max_size=3)
gold_triples = st.lists(st.tuples(ids | names, st.sampled_from("rst"), ids | names), min_size=1, max_size=3)
unit = st.floats(0, 1)


def in_unit(*figures: float) -> bool:
    return all(0 <= figure <= 1 for figure in figures)


def agrees(predicted: Prediction, gold: GoldAnswer) -> bool:
    """By id where both have one, else by a name."""
    if predicted.id and gold.id:
        return predicted.id == gold.id
    return normalise_answer(predicted.name) in map(normalise_answer, gold.names)


def served(given: list[Prediction], gold: list[GoldAnswer]) -> tuple[bool, ...]:
    """Return the greatest mask of all ways to hand out distinct gold answers, found by trying them all."""
    wanted: list[GoldAnswer | None] = [*distinct_gold(gold), *[None] * len(given)]
    keys = [p.id or (normalise_answer(p.name),) for p in given]
    return max(
        tuple(
            answer is not None and agrees(p, answer) and keys[rank] not in keys[:rank]
            for rank, (p, answer) in enumerate(zip(given, handed, strict=True))
        )
        for handed in set(permutations(wanted, len(given)))
    )


@few
@given(st.lists(under_any_name, max_size=4), st.lists(gold_answers, max_size=3))
def test_matching_is_the_best_of_all_with_earlier_ranks_first(given: list[Prediction], gold: list[GoldAnswer]) -> None:
    best = served(given, gold)
    assert match_predictions(given, gold) == best


@few
@given(predictions, golds, st.randoms(use_true_random=False))
def test_the_order_of_predictions_matters_to_ranks_only_and_that_of_gold_to_nothing(
    given: list[Prediction], gold: list[GoldAnswer], random: Random
) -> None:
    before = answer_scores(given, gold)
    assert answer_scores(given, random.sample(gold, len(gold))) == before
    assert rog_scores(given, random.sample(gold, len(gold))) == rog_scores(given, gold)
    shuffled = answer_scores(random.sample(given, len(given)), gold)
    assert {name for name in before if shuffled[name] != before[name]} <= {"strict/hits_at_1", "mrr", "ndcg@10"}


@few
@given(found_paths, golds, gold_paths, gold_triples)
def test_path_figures_are_shares_and_more_paths_lose_nothing(
    found: list[RetrievedPath],
    gold: list[GoldAnswer],
    wanted: list[GoldPath],
    wanted_triples: list[tuple[str, str, str]],
) -> None:
    question = GoldQuestion("q", "?", tuple(gold), paths=tuple(wanted), triples=tuple(wanted_triples))
    scores = path_scores(found, question)
    assert in_unit(*scores.values())
    assert scores["path/hits_at_1_expected"] <= scores["path/hits_at_1_any"]
    if found or not gold:
        assert scores["path/hits_at_1_any"] <= scores["path/hits_any@3"] <= scores["path/hits_any@7"]
    for figure in ("answer_recall", "path_recall", "gold_path_hit", "triple_recall"):
        by_number = [scores[f"path/{figure}@{k}"] for k in (1, 2, 3, 5, 10)]
        assert by_number == sorted(by_number)
    assert scores["path/path_recall@3"] <= scores["path/gold_path_hit@3"]


@few
@given(st.lists(st.tuples(unit, unit), min_size=1, max_size=25), st.randoms(use_true_random=False))
def test_a_paired_test_is_the_same_from_either_side(values: list[tuple[float, float]], random: Random) -> None:
    def test(pairs: list[tuple[float, float]]) -> Any:
        return compare_pairs([a for a, _ in pairs], [b for _, b in pairs], num_samples=300)

    here, there = test(values), test([(b, a) for a, b in values])
    assert here.p_value == there.p_value
    assert (here.num_won, here.num_lost, here.num_tied) == (there.num_lost, there.num_won, there.num_tied)
    assert here.difference == -there.difference
    assert 0 < here.p_value <= 1
    assert here.num_won + here.num_lost + here.num_tied == len(values)
    assert test(random.sample(values, len(values))).p_value == here.p_value
