"""What a checkpoint says of its reader."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from ...training.options import LoraOptions
from ..config import Reads


@dataclass(frozen=True, slots=True)
class ReaderDescription:
    """A reader. name: of its model before it was trained. width: of its embeddings. inner: of the bridge. token,
    text: what it is given. num_triples: given to it, 0 for five for each hop that is predicted. share: of the best
    candidate's probability, what another needs to be an answer as well. reads: what it does. lora: of one that
    writes."""

    name: str
    width: Annotated[int, Field(ge=1, le=65_536)]
    inner: Annotated[int, Field(ge=1, le=65_536)]
    token: bool
    text: bool
    num_triples: Annotated[int, Field(ge=0, le=1_000)]
    max_tokens: Annotated[int, Field(ge=16, le=8_192)]
    share: Annotated[float, Field(ge=0.0, le=1.0)]
    reads: Reads = "pointing"
    lora: LoraOptions = field(default_factory=LoraOptions)
