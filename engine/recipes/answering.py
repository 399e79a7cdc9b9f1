"""Define the parts that answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar

from ...models.ranges import Range, Share
from ..answering.extractive import ExtractiveAnswerer
from ..errors import UsageError
from ..evidence.calibration import LEAST_PROBABILITY, Calibration
from ..evidence.text import EVIDENCE_TOKENS, Order
from ..resources import GraphResources
from ..stages import Answerer
from .part import AnswererPart, describe_field, option


@dataclass(frozen=True)
class Extractive(AnswererPart):
    """Answers with the ends of the best chain, without a language model."""

    name: ClassVar[str] = "extractive"

    min_probability: Share = option(LEAST_PROBABILITY, "least probability of the best chain for an answer")
    sure_from: Share = option(0.5, "least probability of the best chain for a sure answer")

    def answerer(self, _graph: GraphResources) -> Answerer:
        """Return the answerer."""
        return ExtractiveAnswerer(self.min_probability, self.sure_from)


@dataclass(frozen=True)
class ReaderPart(AnswererPart):
    """Scores every candidate of the evidence by features, and chooses the set, without a language model
    (docs/reading.md)."""

    name: ClassVar[str] = "reader"

    checkpoint: str = option(
        "",
        "folder of a reader of your own; empty for the weights that come with Lodestar",
        source="lodestar train reader",
    )
    min_probability: Share = option(LEAST_PROBABILITY, "below this probability of the first answer there is none")
    sure_from: Share = option(0.5, "below this probability of the first answer it is unsure")
    reads: Annotated[int, Range(0, 1_000)] = option(
        0, "items of a question that it reads; 0 for as many as the checkpoint learned from, or 100"
    )
    any_graph: bool = option(False, "use the checkpoint on a graph that it was not trained on")

    def answerer(self, graph: GraphResources) -> Answerer:
        """Return the answerer; raises `CheckpointError` for a damaged checkpoint, or one of another graph."""
        from ...models.reader.model import READS, shipped_reader
        from ..answering.reader import ReaderAnswerer

        shared = graph.shared
        reader, vectors, reads = shared.get_or_make("reader", shipped_reader), shared.vectors, READS
        if self.checkpoint:
            description, reader = graph.model(self.checkpoint, "reader", any_graph=self.any_graph)
            vectors, reads = shared.vectors_for(description), description.reads
        return ReaderAnswerer(
            reader,
            graph.words,
            vectors,
            min_probability=self.min_probability,
            sure_from=self.sure_from,
            reads=self.reads or reads,
        )


@dataclass(frozen=True)
class LanguageModel(AnswererPart):
    """Answers from the evidence with a language model (docs/llm.md)."""

    name: ClassVar[str] = "llm"

    prompt: str = option("", "file of the prompt; empty for the setting llm_prompt, else the default")
    order: Order = field(
        default="best-first",
        metadata=describe_field(
            "order of the evidence in the prompt: best-first, ascending or lost-in-the-middle",
            source="Path Pooling, section 4.3.3",
        ),
    )

    reads: Annotated[int, Range(0, 1_000)] = option(0, "items of a question that it reads; 0 for as many as top_k")
    tokens: Annotated[int, Range(50, 1_000_000)] = option(
        EVIDENCE_TOKENS,
        "longest evidence of a prompt, in tokens (estimated); half of it if the model's context is too small",
    )
    choose: bool = option(False, "the model may only answer with names of the evidence")
    complete: bool = option(
        True, "whether all ends of a path are answers where it names two of at most 100, or the only one"
    )

    slope: Annotated[float, Range(0.0, 100.0)] = option(
        0.0, "slope of the probability that the first answer is right, 0 if unknown", source="fitted on dev questions"
    )
    intercept: Annotated[float, Range(-100.0, 100.0)] = option(
        0.0, "intercept of that probability", source="fitted on dev questions"
    )
    min_probability: Share = option(0.0, "least such probability for an answer; needs slope")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("min_probability", "intercept"):
            if getattr(self, name) and not self.slope:
                raise UsageError(
                    f"answerer.{name} of a language model needs answerer.slope: fit slope and intercept on dev "
                    "questions"
                )

    def answerer(self, graph: GraphResources) -> Answerer:
        """Return the answerer. Raises `LLMError` if no model is configured, `InputError` for a bad prompt file."""
        from ..answering.llm import LLMAnswerer, load_prompt

        shared = graph.shared
        path = self.prompt or shared.settings.llm_prompt
        prompt = load_prompt(Path(path)) if path else None
        _ = shared.chat
        return LLMAnswerer(
            prompt=prompt,
            order=self.order,
            reads=self.reads,
            max_tokens=self.tokens,
            chooses=self.choose,
            completes=self.complete,
            calibration=Calibration("logit", self.slope, self.intercept) if self.slope else None,
            min_probability=self.min_probability,
        )


@dataclass(frozen=True)
class ClosedBook(AnswererPart):
    """Answers with what a language model knows itself; the evidence is not shown to it."""

    name: ClassVar[str] = "closed-book"

    def answerer(self, graph: GraphResources) -> Answerer:
        """Return the answerer. Raises `LLMError` if no model is configured."""
        from ..answering.integrating import ClosedBookAnswerer

        _ = graph.shared.chat
        return ClosedBookAnswerer()
