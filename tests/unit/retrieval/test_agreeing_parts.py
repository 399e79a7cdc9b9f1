"""Parts that one thing has to fit all of: their chains are chosen together."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lodestar.engine.forms.part_chains import MAX_COMBINATIONS, Weighted, choose_agreeing_chains
from lodestar.engine.values import Chain, Entity, Scored

TOPIC = Entity("t", "Topic")


def chain(*ends: str, weight: float) -> Weighted:
    return Scored(Chain(TOPIC, (), tuple(Entity(end, end) for end in ends)), weight), weight


def ends(chosen: list[Scored[Chain]] | None) -> list[set[str]] | None:
    return None if chosen is None else [{end.id for end in item.value.ends} for item in chosen]


def test_the_likeliest_chains_with_an_end_in_common_are_taken() -> None:
    wed = [chain("ann", "bea", weight=-0.1), chain("cid", weight=-0.5)]
    directed = [chain("dot", weight=-0.1), chain("cid", "dot", weight=-0.3), chain("ann", weight=-2.0)]
    assert ends(choose_agreeing_chains([wed, directed])) == [{"cid"}, {"cid", "dot"}]


def test_nothing_in_common_is_none() -> None:
    assert choose_agreeing_chains([[chain("ann", weight=0)], [chain("bea", weight=0)]]) is None
    assert choose_agreeing_chains([[chain("ann", weight=0)], []]) is None
    three = [[chain("a", "b", weight=0)], [chain("b", "c", weight=0)], [chain("c", "a", weight=0)]]
    assert choose_agreeing_chains(three) is None


CHAINS = st.lists(
    st.tuples(st.sets(st.sampled_from("abcd"), min_size=1), st.floats(-5, 0)).map(
        lambda drawn: chain(*sorted(drawn[0]), weight=drawn[1])
    ),
    max_size=4,
)


@given(st.lists(CHAINS, min_size=2, max_size=2))
def test_of_two_parts_none_is_likelier(parts: list[list[Weighted]]) -> None:
    """All pairs of four chains each are within the bound."""
    assert MAX_COMBINATIONS >= 4
    fitting = [
        sum(weight for _, weight in pair)
        for pair in product(*parts)
        if set.intersection(*({end.id for end in item.value.ends} for item, _ in pair))
    ]
    found = choose_agreeing_chains(parts)
    assert (found is None) == (not fitting)
    if found is not None:
        assert sum(item.score for item in found) == pytest.approx(max(fitting))
