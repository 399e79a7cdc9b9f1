"""The readers by what they do: one to learn, one of a checkpoint, and its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from ...star.networks.backbone import describe_backbone, pretrained_backbone, stored_backbone
from ...training.checkpoint import read_weights, write_weights
from ..config import JointOptions, ReaderDescription, Reads
from .asked import JointReader
from .choosing import ChoosingReader
from .pointing import PointingReader

OF_BACKBONE: dict[Reads, type[PointingReader] | type[ChoosingReader]] = {
    "pointing": PointingReader,
    "choosing": ChoosingReader,
}


def new_reader(options: JointOptions, device: str = "cpu") -> JointReader:
    """Return a reader that is yet to learn; raise `EncoderUnavailableError` or `CausalLMError` without its model."""
    if options.reads == "writing":
        from ...language.lora import load_language_model
        from .writing import WritingReader

        model = load_language_model(options.reader, device=device)
        writer = WritingReader(model, options.lora, options.max_tokens, has_text=options.text)
        if options.checkpointing:
            writer.recompute()
        return writer
    backbone = pretrained_backbone(options.reader)
    if options.checkpointing:
        model_of: Any = backbone.model
        model_of.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return OF_BACKBONE[options.reads](backbone, options.max_tokens, has_text=options.text)


def stored_reader(said: ReaderDescription, folder: Path, device: str = "cpu") -> JointReader:
    """Return the reader whose files are in `folder`; one that writes is its language model, by name, with a LoRA."""
    weights: dict[str, Tensor] = read_weights(folder)
    if said.reads == "writing":
        from ...language.lora import load_language_model, restore_adapter
        from .writing import WritingReader

        writer = WritingReader(
            load_language_model(said.name, device=device, fetch=False), said.lora, said.max_tokens, has_text=said.text
        )
        restore_adapter(writer.language_model, weights)
        return writer.eval()
    reader = OF_BACKBONE[said.reads](stored_backbone(said.name, folder), said.max_tokens, has_text=said.text)
    known = reader.state_dict()
    reader.load_state_dict({name: each for name, each in weights.items() if name in known})
    return reader.eval()


def write_reader(reader: JointReader, part: Path) -> None:
    """Write a reader into the folder of its part."""
    if isinstance(reader, PointingReader | ChoosingReader):
        describe_backbone(reader.backbone, part)
    write_weights(reader.learned(), part)
