"""The part that makes chains of triples: ReG's structure-aware reorganisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..database.chains import ExpansionBounds
from ..evidence.evidence import Kind
from ..reorganising.chaining import ChainExpansion
from ..resources import GraphResources
from ..stages import Reorganiser
from .part import ReorganiserPart, option


@dataclass(frozen=True)
class Reorganise(ReorganiserPart):
    """Expands triples to chains from the topics, merged where they lead to several answers or meet (docs/reg.md)."""

    name: ClassVar[str] = "reorganise"
    takes: ClassVar[Kind] = "triple"
    gives: ClassVar[Kind] = "chain"

    max_length: int = option(4, "longest chain, in triples (ReG's L)", least=1, most=8)
    turning: bool = option(True, "a chain may change between walking along relations and against them")
    join: bool = option(True, "chains of several topics that meet stand together", source="ReG, appendix D.4.2")
    keep: int = option(1_000, "best chains kept of a question", least=1)
    max_chains: int = option(5_000, "chains of one length from one topic, before they are merged", least=1)
    in_database: bool = option(False, "expand the chains in the database, over the retrieved relationships")

    def reorganiser(self, _graph: GraphResources) -> Reorganiser:
        """Return the expansion."""
        bounds = ExpansionBounds(self.max_length, self.max_chains, self.turning)
        return ChainExpansion(bounds, self.keep, self.join, self.in_database)
