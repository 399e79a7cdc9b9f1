"""Ranges stand once, in the types of fields: options, parts, settings and descriptions of checkpoints read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from lodestar.models.kinds import decode_dataclass
from lodestar.models.ranges import Positive, Range, Ranged, Share
from lodestar.models.subgraphs import SubgraphOptions


@dataclass(frozen=True, slots=True)
class Options(Ranged):
    hops: Positive = 1
    share: Share | None = None
    free: float = 0.0
    odd: Annotated[int, "not a range", Range(most=9)] = 3


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"hops": 0}, "expected at least 1 for hops, found 0"),
        ({"share": 1.5}, "expected 0 to 1 for share, found 1.5"),
        ({"share": float("nan")}, "expected 0 to 1 for share, found nan"),
        ({"free": float("inf")}, "expected a finite number for free, found inf"),
        ({"odd": 10}, "expected at most 9 for odd, found 10"),
    ],
)
def test_a_number_outside_the_range_of_its_type_is_refused(given: dict[str, Any], fault: str) -> None:
    assert Options(share=0.0, odd=-9).odd == -9
    with pytest.raises(ValueError, match=fault):
        Options(**given)


def test_the_same_range_holds_for_a_configuration_and_for_a_file() -> None:
    with pytest.raises(ValueError, match="expected 1 to 4 for num_hops, found 5"):
        SubgraphOptions(num_hops=5)
    with pytest.raises(ValueError, match="num_hops: input should be less than or equal to 4, found 5"):
        decode_dataclass(SubgraphOptions, '{"num_hops": 5}')
    assert decode_dataclass(SubgraphOptions, '{"num_hops": 4}') == SubgraphOptions(num_hops=4)
    with pytest.raises(ValueError, match="num_hops: input should be a valid integer"):
        decode_dataclass(SubgraphOptions, '{"num_hops": 4.0}')
