"""Parts that make chains of triples (ReG's structure-aware reorganisation), and that take questions of a form apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..database.chains import ExpansionBounds
from ..evidence.calibration import LEAST_PROBABILITY
from ..evidence.evidence import Kind
from ..reorganising.chaining import ChainExpansion
from ..resources import GraphResources
from ..stages import Linker, Reorganiser, Retriever
from .part import ReorganiserPart, WrapperPart, option


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


@dataclass(frozen=True)
class Forms(WrapperPart):
    """Takes questions of a form (how many, both, not, the most, …) apart, and combines their parts (docs/forms.md)."""

    name: ClassVar[str] = "forms"

    least: float = option(
        LEAST_PROBABILITY, "below this probability no path is taken for a part of a question", least=0, most=1
    )

    def wrap(self, retriever: Retriever, linker: Linker, graph: GraphResources) -> Retriever:
        """Return the retriever that asks another one part by part."""
        from ..forms.forming import Forming

        return Forming(retriever, linker, graph.catalogue.stored_as, least=self.least)
