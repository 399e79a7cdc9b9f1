"""A part that is not Lodestar's own: it turns the order of the items round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from lodestar.engine.context import Context
from lodestar.engine.data_model import Chain
from lodestar.engine.evidence import Evidence, Kind
from lodestar.engine.parts import Reorganiser, option, part
from lodestar.models import Positive


@part("reversed")
@dataclass(frozen=True)
class Reversed(Reorganiser):
    """The worst of the best `keep` chains first: scores stay with their chains, and so mean nothing any more."""

    takes: ClassVar[Kind] = "chain"
    gives: ClassVar[Kind] = "chain"

    keep: Positive = option(100, "chains that are turned round, the others are left out")

    def __call__(self, _ctx: Context, evidence: Sequence[Evidence[Chain]]) -> list[Evidence[Chain]]:
        """Return the evidence turned round."""
        kept = (each.cut_to(self.keep) for each in evidence)
        return [replace(each, items=each.items[::-1], calibration=None) for each in kept]
