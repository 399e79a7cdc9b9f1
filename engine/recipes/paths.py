"""The part that has relation paths written by a trained decoder, or by a language model with a LoRA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import UsageError
from ..evidence.calibration import Calibration
from ..resources import GraphResources
from ..stages import Retriever
from .part import option
from .searching import Searching

LANGUAGE_MODEL = "reg-path-lm"
"""The kind of a checkpoint that is a LoRA."""


@dataclass(frozen=True)
class RegPath(Searching):
    """Beam search over relation paths that a trained decoder or language model writes (ReG@Path, docs/reg.md)."""

    name: ClassVar[str] = "reg-path"
    kinds: ClassVar[tuple[str, ...]] = ("reg-path", LANGUAGE_MODEL)

    checkpoint: str = option(
        "", "folder of the trained decoder or LoRA (docs/reg.md)", source="lodestar train reg-path"
    )
    model: str = option("", "of a LoRA: where its language model is, by name or folder", source="the checkpoint")
    any_graph: bool = option(False, "use the checkpoint on a graph that it was not trained on")

    def retriever(self, graph: GraphResources) -> Retriever:
        """Return the search; raises `CheckpointError` for a damaged checkpoint, or one of another graph."""
        kind, description = graph.shared.describe(self.checkpoint, *self.kinds)
        calibration = Calibration("logit", *description.calibration)
        is_language_model = kind.name == LANGUAGE_MODEL
        if self.model and not is_language_model:
            raise UsageError(f"--set reg-path.model: {self.checkpoint} is no LoRA: leave it out")
        model = graph.model(self.checkpoint, *self.kinds, any_graph=self.any_graph, language_model=self.model)
        if is_language_model:
            from ..retrieval.path_writer import PathWriterScorer

            return self._search(graph, PathWriterScorer(graph.words, model, self.beam_width), calibration)
        from ..retrieval.path_decoder import PathDecoderScorer

        return self._search(graph, PathDecoderScorer(graph.words, model), calibration)
