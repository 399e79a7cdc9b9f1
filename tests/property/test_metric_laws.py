"""Laws of the metrics: figures in [0, 1], orders that matter and orders that do not."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st
from lodestar.engine.evaluation import Prediction, judge_predictions, merge_equal_gold_answers, normalise_answer
from lodestar.engine.gold_questions import GoldAnswer

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


def agrees(predicted: Prediction, gold: GoldAnswer) -> bool:
    """By id where both have one, else by a name."""
    if predicted.id and gold.id:
        return predicted.id == gold.id
    return normalise_answer(predicted.name) in map(normalise_answer, gold.names)


def served(given: list[Prediction], gold: list[GoldAnswer]) -> tuple[bool, ...]:
    """Return the greatest mask of all ways to hand out distinct gold answers, found by trying them all."""
    wanted: list[GoldAnswer | None] = [*merge_equal_gold_answers(gold), *[None] * len(given)]
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
    assert judge_predictions(given, gold) == best
