"""Load rerankers: sentence-transformers' cross-encoders, which read a question and a text together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder


class RerankerUnavailableError(Exception):
    """The model's files are unavailable; the message says why in one line."""


def load_reranker(name: str, device: str | None = None) -> CrossEncoder:
    """Return a cross-encoder by name or path; raise `RerankerUnavailableError`."""
    from sentence_transformers import CrossEncoder

    try:
        encoder: CrossEncoder = CrossEncoder(
            name,
            device=device,
            trust_remote_code=False,
            local_files_only=Path(name).is_dir(),
            model_kwargs={"use_safetensors": True},
        )
    except (OSError, ValueError, KeyError) as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise RerankerUnavailableError(
            f"reranker {name!r} could not be loaded ({reason}): give a folder, or a name that is in the local Hugging "
            "Face cache or on the hub"
        ) from error
    return encoder
