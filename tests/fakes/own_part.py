"""A part that is not Lodestar's own: it turns the order of the items round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from lodestar.engine.evidence.chain import Chain
from lodestar.engine.evidence.evidence import Evidence, Kind
from lodestar.engine.recipes.part import ReorganiserPart, option
from lodestar.engine.resources import GraphResources
from lodestar.engine.stages import Reorganiser
from lodestar.engine.steps import Steps
from lodestar.models.ranges import Positive


@dataclass(frozen=True)
class Reversed(ReorganiserPart):
    """The worst of the best `keep` chains first, as the worst reorganiser that can be thought of."""

    name: ClassVar[str] = "reversed"
    takes: ClassVar[Kind] = "chain"
    gives: ClassVar[Kind] = "chain"

    keep: Positive = option(100, "chains that are turned round, the others are left out")

    def reorganiser(self, _graph: GraphResources) -> Reorganiser:
        """Return the stage."""
        return Turning(self.keep)


class Turning:
    """The stage: scores stay with their chains, and so mean nothing any more."""

    takes: Kind = "chain"
    gives: Kind = "chain"

    def __init__(self, keep: int) -> None:
        self._keep = keep

    def reorganise(self, evidence: Sequence[Evidence[Chain]]) -> Steps[list[Evidence[Chain]]]:
        """Return the evidence turned round."""
        yield from ()
        kept = (each.cut_to(self._keep) for each in evidence)
        return [replace(each, items=each.items[::-1], groups=each.groups[::-1], calibration=None) for each in kept]
