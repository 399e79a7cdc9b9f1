"""The part that has relation paths written by a trained decoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..evidence.calibration import Calibration
from ..resources import GraphResources
from ..stages import Retriever
from .part import option
from .searching import Searching
from .triples import check_checkpoint


@dataclass(frozen=True)
class RegPath(Searching):
    """Beam search over the relation paths that a trained decoder writes (ReG@Path, docs/reg.md)."""

    name: ClassVar[str] = "reg-path"

    checkpoint: str = option("", "folder of the trained decoder (docs/reg.md)", source="lodestar train reg-path")
    any_graph: bool = option(False, "use the checkpoint on a graph that it was not trained on")

    def check(self) -> None:
        """Raise `UsageError` without a checkpoint."""
        check_checkpoint(self.name, self.checkpoint, "reg-path")

    def retriever(self, graph: GraphResources) -> Retriever:
        """Return the search; raises `CheckpointError` for a damaged checkpoint, or one of another graph."""
        from ..retrieval.path_decoder import PathDecoderScorer

        model = graph.path_model(self.checkpoint, any_graph=self.any_graph)
        calibration = Calibration("logit", *model.description.calibration)
        return self._search(graph, PathDecoderScorer(graph.words, model), calibration)
