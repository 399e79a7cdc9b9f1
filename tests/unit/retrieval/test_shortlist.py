"""What a better scorer ordered stays above what it never saw, and nothing else changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lodestar.models.similarity import GAP, lower_other_scores

SCORES = st.lists(st.floats(-50, 50, width=32), min_size=1, max_size=12)


@given(SCORES, st.data())
def test_others_come_after_in_their_order(values: list[float], data: st.DataObject) -> None:
    rows = np.array(sorted(data.draw(st.sets(st.sampled_from(range(len(values)))))), dtype=np.int64)
    before = np.array(values, dtype=np.float32)
    after = before.copy()
    lower_other_scores(after, rows)
    others = np.setdiff1d(np.arange(len(values)), rows)
    assert (after[rows] == before[rows]).all()
    if len(rows) and len(others):
        assert after[others].max() <= after[rows].min() - GAP / 2
        assert np.diff(after[others]) == pytest.approx(np.diff(before[others]), abs=1e-4)
    else:
        assert (after == before).all()
