"""The concepts that GLiNER recognises (Zaratiana et al., 2024): entities of any types, which are named by words.

It reads a number of words and drops the rest without an error, and its encoder a number of word pieces. So what is
longer is cut in two, at the end of a sentence where there is one, until each part is read whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ....engine.errors import InputError, UsageError
from ...batches import in_batches
from ...message_text import shown

LABELS = (
    "person",
    "organization",
    "location",
    "event",
    "work",
    "product",
    "disease",
    "symptom",
    "drug",
    "organism",
    "chemical",
    "method",
)
"""Types of entities that are looked for by default. Ours."""
THRESHOLD = 0.5
"""GLiNER's own."""

_WORD = re.compile(r"\w+(?:[-_]\w+)*|\S")
"""What GLiNER counts as words."""
_MAX_WORDS = 384
_MAX_PIECES = 512
_SNIPPETS_AT_ONCE = 16
_FILES = ["*.json", "*.safetensors", "*.model", "*.txt"]


class GlinerConcepts:
    """Entities by a GLiNER model, in a folder or by name. labels: the types that are looked for.

    Raises `UsageError` where GLiNER is not installed or the model cannot be had.
    """

    learns = False

    def __init__(self, name: str, labels: Sequence[str] = LABELS) -> None:
        self._labels = list(labels)
        self._model = _loaded(name)
        config = self._model.config
        self._max_words = int(getattr(config, "max_len", _MAX_WORDS))
        tokenizer = getattr(getattr(self._model, "data_processor", None), "transformer_tokenizer", None)
        self._tokenizer: Any = tokenizer
        longest = int(getattr(tokenizer, "model_max_length", _MAX_PIECES) or _MAX_PIECES)
        self._max_pieces = min(longest, _MAX_PIECES) - self._pieces(" ".join(self._labels)) - 2 * len(self._labels) - 2
        if self._max_pieces < 1:
            raise UsageError(f"--labels: expected as few as {name} reads beside a text, found {len(self._labels)}")
        self.options: Mapping[str, str] = {"gliner": name, "labels": ", ".join(self._labels)}

    def learn(self, snippets: Iterable[str]) -> None:
        """Nothing is to be learned."""

    def find(self, snippets: Iterable[str]) -> Iterator[list[str]]:
        """Yield the entities of each snippet."""
        for some in in_batches(snippets, _SNIPPETS_AT_ONCE):
            parts = [list(self.windows(snippet)) for snippet in some]
            texts = [text for each in parts for text in each]
            found = iter(self._model.inference(texts, self._labels, threshold=THRESHOLD) if texts else [])
            for each in parts:
                yield [str(entity["text"]) for _ in each for entity in next(found)]

    def windows(self, text: str) -> Iterator[str]:
        """Yield a text in parts that are read whole."""
        if self._is_read_whole(text) or len(text) <= 1:
            if text.strip():
                yield text
            return
        cut = _middle(text)
        yield from self.windows(text[:cut])
        yield from self.windows(text[cut:])

    def _is_read_whole(self, text: str) -> bool:
        return len(_WORD.findall(text)) <= self._max_words and self._pieces(text) <= self._max_pieces

    def _pieces(self, text: str) -> int:
        """Return the word pieces of a text; where no tokenizer tells, as many as it has characters, by three."""
        if self._tokenizer is None:
            return len(text) // 3
        return len(self._tokenizer(text, add_special_tokens=False)["input_ids"])


def _middle(text: str) -> int:
    """Return where to cut: the end of a sentence, else a blank, nearest to the middle of the middle half."""
    quarter = len(text) // 4
    for pattern in (r"[.!?]\s", r"\s"):
        ends = [match.end() for match in re.finditer(pattern, text) if quarter < match.end() <= 3 * quarter]
        if ends:
            return min(ends, key=lambda end: abs(end - len(text) // 2))
    return max(1, len(text) // 2)


def _loaded(name: str) -> Any:
    try:
        from gliner import GLiNER  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise UsageError("--gliner needs GLiNER, which is not installed: pip install gliner") from error
    try:
        folder = Path(name) if Path(name).is_dir() else Path(_fetched(name))
        if not any(folder.glob("*.safetensors")):
            raise InputError(f"--gliner {name}: expected weights as safetensors, found none")
        return GLiNER.from_pretrained(str(folder), local_files_only=True)
    except InputError:
        raise
    except Exception as error:  # whatever the hub, GLiNER and its encoder may raise
        raise UsageError(
            f"--gliner {name}: cannot be loaded ({shown(str(error))[:200]}): give a folder, or a name that is in the "
            "local Hugging Face cache or on the hub"
        ) from error


def _fetched(name: str) -> str:
    from huggingface_hub import snapshot_download

    return str(snapshot_download(name, allow_patterns=_FILES))
