"""Shares of errors by bias, against values counted by hand."""

from dataclasses import replace

import numpy as np
import pytest
from lodestar.models.text.encoders import SentenceEncoder
from lodestar.models.text.vectors import TextVectors
from lodestar.models.text.verbalise import verbalise_path

from benchmarks.accuracy.error_shares import ErrorShares, Frequencies, error_shares, frequencies
from tests.made.mined_examples import example_set

NO_PATH_IS_TAIL = Frequencies({}, -1)

RIGHT, WRONG = 0, 3
"""Rows of the paths `capital`, which answers, and `currency_used`."""


@pytest.fixture(scope="module")
def vectors() -> TextVectors:
    return TextVectors(SentenceEncoder("all-MiniLM-L6-v2"))


def scores(first: int) -> np.ndarray:
    found = np.zeros(9, dtype=np.float32)
    found[first] = 1.0
    return found


def test_the_least_frequent_fifth_of_the_training_paths_is_the_long_tail() -> None:
    examples = example_set(0, 4)
    table = examples.table
    some = [int(path) for path in examples.examples[0].reachable.paths[:5]]
    asked = []
    for times, row in ((1, 0), (2, 1), (3, 2), (4, 3), (5, 4)):
        positive = np.zeros(9, dtype=np.bool_)
        positive[row] = True
        asked += [replace(examples.examples[0], positive=positive)] * times
    known = frequencies(replace(examples, examples=tuple(asked)))
    assert [known.counts[table.written[path]] for path in some] == [1, 2, 3, 4, 5]
    assert known.tail_count == 1
    assert [known.is_tail(table.written[path]) for path in some] == [True, False, False, False, False]
    assert known.is_tail(("never met",))


def test_a_right_first_path_is_no_error(vectors: TextVectors) -> None:
    examples = example_set(0, 4)
    ranked = [(each, each.f1) for each in examples.examples]
    assert error_shares(ranked, examples, vectors, frequencies(examples)) == ErrorShares(0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(("said", "is_shortcut"), [(WRONG, True), (RIGHT, False)])
def test_a_wrong_path_is_a_shortcut_where_its_words_are_nearer(
    said: int, is_shortcut: bool, vectors: TextVectors
) -> None:
    examples = example_set(0, 1)
    capital = examples.examples[0]
    words = verbalise_path(examples.table.path_hops(int(capital.reachable.paths[said])))
    asked = replace(capital, masked=(words,))
    shares = error_shares([(asked, scores(WRONG)), (asked, capital.f1)], examples, vectors, NO_PATH_IS_TAIL)
    assert shares == ErrorShares(0.5, 0.5 * is_shortcut, 0.0, 0.5 * is_shortcut)


def test_a_right_path_never_met_in_training_is_of_the_long_tail(vectors: TextVectors) -> None:
    examples = example_set(0, 1)
    capital = examples.examples[0]
    words = verbalise_path(examples.table.path_hops(int(capital.reachable.paths[RIGHT])))
    shares = error_shares(
        [(replace(capital, masked=(words,)), scores(WRONG))], examples, vectors, Frequencies({("borders",): 9}, 0)
    )
    assert shares == ErrorShares(1.0, 0.0, 1.0, 1.0)
