"""Open the readers that were trained with GRIL."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..star.backbone import open_pretrained, open_stored_backbone, write_backbone_description
from ..training.checkpoint import read_weights, write_weights
from .choosing import MultipleChoiceReader, PointingReader
from .config import GrilDescription, GrilReaderDescription, JointOptions, Reads
from .passages import JointReader, Passage
from .reader_training import is_answer
from .writing import GenerativeReader, WrittenReply

OF_BACKBONE: dict[Reads, type[PointingReader] | type[MultipleChoiceReader]] = {
    "pointing": PointingReader,
    "choosing": MultipleChoiceReader,
}


def new_reader(options: JointOptions, device: str = "cpu") -> JointReader:
    """Return an untrained reader; raise `EncoderUnavailableError` or `CausalLMError` if its model is unavailable."""
    if options.reads == "writing":
        from ..language.lora import load_language_model
        from .writing import GenerativeReader

        model = load_language_model(options.reader, device=device)
        writer = GenerativeReader(model, options.lora, options.max_tokens, has_text=options.text)
        if options.checkpointing:
            writer.recompute()
        return writer
    backbone = open_pretrained(options.reader)
    if options.checkpointing:
        model_of: Any = backbone.model
        model_of.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return OF_BACKBONE[options.reads](backbone, options.max_tokens, has_text=options.text)


def open_reader(description: GrilReaderDescription, folder: Path, device: str = "cpu") -> JointReader:
    """Return the reader stored in `folder`; a writing reader is its language model, by name, with a LoRA."""
    weights: dict[str, Tensor] = read_weights(folder)
    if description.reads == "writing":
        from ..language.lora import load_language_model, restore_adapter
        from .writing import GenerativeReader

        writer = GenerativeReader(
            load_language_model(description.name, device=device, fetch=False),
            description.lora,
            description.max_tokens,
            has_text=description.text,
        )
        restore_adapter(writer.language_model, weights)
        return writer.eval()
    reader = OF_BACKBONE[description.reads](
        open_stored_backbone(description.name, folder), description.max_tokens, has_text=description.text
    )
    reader.load_state_dict(weights)
    return reader.eval()


def write_reader(reader: JointReader, part: Path) -> None:
    """Write a reader into the folder of its part."""
    if isinstance(reader, PointingReader | MultipleChoiceReader):
        write_backbone_description(reader.backbone, part)
    write_weights(reader.trained_weights(), part)


Tokens = Sequence[Sequence[float]]
"""Graph tokens, one per passage; ignored by a reader that takes none."""


class ReaderModel:
    """Answers with a checkpoint; threads take turns. `description.reads` says which of the three methods works."""

    def __init__(self, description: GrilDescription, reader: JointReader) -> None:
        assert description.reader is not None
        self.description: GrilReaderDescription = description.reader
        self._reader = reader
        self._turn = threading.RLock()

    def read(
        self, passages: Sequence[Passage], tokens: Tokens
    ) -> list[tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]]:
        """Return, for each passage, the probability of each candidate, and which are answers."""
        if not passages:
            return []
        assert isinstance(self._reader, PointingReader)
        with self._turn, torch.no_grad():
            pointed = self._reader(passages, self._tensor(tokens))
        probabilities, question_of = pointed.probabilities.cpu().numpy(), pointed.question_of.cpu().numpy()
        each = [probabilities[question_of == number] for number in range(len(passages))]
        return [(scores, is_answer(scores, self.description.share)) for scores in each]

    def choose(
        self, passages: Sequence[Passage], options: Sequence[Sequence[str]], tokens: Tokens
    ) -> list[npt.NDArray[np.float32]]:
        """Return, for each passage, the probability of each of its options; every passage has options."""
        if not passages:
            return []
        assert isinstance(self._reader, MultipleChoiceReader)
        with self._turn, torch.no_grad():
            found: list[Tensor] = self._reader(passages, options, self._tensor(tokens))
        return [each.exp().cpu().numpy() for each in found]

    def write(self, passages: Sequence[Passage], tokens: Tokens) -> list[WrittenReply]:
        """Return the text written for each passage."""
        if not passages:
            return []
        assert isinstance(self._reader, GenerativeReader)
        with self._turn:
            return self._reader.replies(passages, self._tensor(tokens))

    def _tensor(self, tokens: Tokens) -> Tensor | None:
        if not self.description.token:
            return None
        return torch.tensor(tokens).to(self._reader.pretrained_parameters()[0].device)
