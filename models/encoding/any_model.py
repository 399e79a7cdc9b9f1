"""Any encoder of sentence-transformers, which is imported with PyTorch at first use."""

from __future__ import annotations

import os
from collections.abc import Sequence
from logging import ERROR, getLogger
from pathlib import Path
from typing import Any

import numpy as np

from .bert import Floats
from .plain import unit


class AnyEncoder:
    """A sentence-transformers model by folder or name; raises an error of theirs where there is none."""

    def __init__(self, location: str, *, device: str | None, batch_size: int) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        getLogger("huggingface_hub").setLevel(ERROR)  # without a network it would warn of each retry
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
        """Return for each text its unit vector and those of its tokens; itself where it has none."""
        special = set(self._model.tokenizer.all_special_ids)
        encoded_texts: Any = self._model.encode(
            list(texts), batch_size=self._batch_size, output_value=None, show_progress_bar=False
        )
        encoded = []
        for feature in encoded_texts:
            sentence = unit(feature["sentence_embedding"].float().cpu().numpy())
            ids = feature["input_ids"].tolist()
            kept = [i for i, seen in enumerate(feature["attention_mask"].tolist()) if seen and ids[i] not in special]
            tokens = feature["token_embeddings"].float().cpu().numpy()[kept]
            encoded.append((sentence, unit(tokens) if kept else sentence[None, :]))
        return encoded
