"""Where a path ends for the asker."""

import pytest
from lodestar.engine.retrieval.frontier import is_return_path, select_answer_ends
from lodestar.engine.values import Entity, RelationStep

ANN, BEN = Entity("ann", "Ann"), Entity("ben", "Ben")
THERE, BACK, ON = RelationStep("parent"), RelationStep("parent", inverse=True), RelationStep("child")
INTO, OUT = RelationStep("marriage", to_mediator=True), RelationStep("spouse", inverse=True)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((THERE,), False),
        ((THERE, BACK), True),
        ((THERE, THERE), False),
        ((THERE, ON), False),
        ((THERE, ON, BACK), False),
        ((THERE, INTO, RelationStep("marriage", inverse=True), BACK), True),
        ((INTO, OUT), False),
    ],
)
def test_a_path_walks_back_where_it_is_its_own_way_home(steps: tuple[RelationStep, ...], expected: bool) -> None:
    assert is_return_path(steps) is expected


def test_topics_are_ends_only_where_that_is_asked_for_and_not_straight_back() -> None:
    assert select_answer_ends((THERE, ON), (ANN, BEN), {"ann"}, return_to_topic=False) == (BEN,)
    assert select_answer_ends((THERE, ON), (ANN, BEN), {"ann"}, return_to_topic=True) == (ANN, BEN)
    assert select_answer_ends((THERE, BACK), (ANN, BEN), {"ann"}, return_to_topic=True) == (BEN,)
