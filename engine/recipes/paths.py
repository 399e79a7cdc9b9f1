"""The part that has relation paths written by a trained decoder, or by a language model with a LoRA."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ..errors import UsageError
from ..evidence.calibration import Calibration
from ..resources import GraphResources
from ..stages import Retriever
from .part import option
from .searching import Searching
from .triples import check_checkpoint

OF_LANGUAGE_MODEL = "reg-path-lm.json"
"""What a folder has whose checkpoint is a LoRA."""


@dataclass(frozen=True)
class RegPath(Searching):
    """Beam search over relation paths that a trained decoder or language model writes (ReG@Path, docs/reg.md)."""

    name: ClassVar[str] = "reg-path"

    checkpoint: str = option(
        "", "folder of the trained decoder or LoRA (docs/reg.md)", source="lodestar train reg-path"
    )
    model: str = option("", "of a LoRA: where its language model is, by name or folder", source="the checkpoint")
    any_graph: bool = option(False, "use the checkpoint on a graph that it was not trained on")

    def check(self) -> None:
        """Raise `UsageError` without a checkpoint."""
        check_checkpoint(self.name, self.checkpoint, "reg-path")

    def retriever(self, graph: GraphResources) -> Retriever:
        """Return the search; raises `CheckpointError` for a damaged checkpoint, or one of another graph."""
        if (Path(self.checkpoint) / OF_LANGUAGE_MODEL).exists():
            return self._by_language_model(graph)
        from ..retrieval.path_decoder import PathDecoderScorer

        if self.model:
            raise UsageError(f"--set reg-path.model: {self.checkpoint} is no LoRA: leave it out")
        model = graph.path_model(self.checkpoint, any_graph=self.any_graph)
        calibration = Calibration("logit", *model.description.calibration)
        return self._search(graph, PathDecoderScorer(graph.words, model), calibration)

    def _by_language_model(self, graph: GraphResources) -> Retriever:
        from ..retrieval.path_writer import PathWriterScorer

        model = graph.plan_model(self.checkpoint, self.model, any_graph=self.any_graph)
        calibration = Calibration("logit", *model.description.calibration)
        return self._search(graph, PathWriterScorer(graph.words, model, self.beam_width), calibration)
