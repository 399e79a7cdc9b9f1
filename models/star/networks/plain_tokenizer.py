"""A stored tokenizer read by the library tokenizers alone, without the second that importing transformers takes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tokenizers import Tokenizer

QUESTION = "[QSP]"
PATH = "[PSP]"
END = "[END]"
SPECIAL_TOKENS = (QUESTION, PATH, END)

_FILE = "tokenizer.json"
_CONFIG = "tokenizer_config.json"


class TextTokenizer(Protocol):
    """What scoring asks of a tokenizer, transformers' or a plain one; an id is None where there is no such token."""

    cls_token_id: Any
    bos_token_id: Any
    sep_token_id: Any
    eos_token_id: Any
    pad_token_id: Any
    unk_token_id: Any

    def __call__(self, text: str, *, add_special_tokens: bool, verbose: bool) -> Mapping[str, Any]:
        """Return the ids of a text as ``input_ids``."""
        ...

    def convert_tokens_to_ids(self, token: str) -> Any:
        """Return the id of a token."""
        ...

    def convert_ids_to_tokens(self, ids: list[int]) -> Sequence[str]:
        """Return the tokens of ids."""
        ...


class PlainTokenizer:
    """A `TextTokenizer` over ``tokenizer.json``; which of its tokens are special, ``tokenizer_config.json`` says."""

    def __init__(self, tokenizer: Tokenizer, config: Mapping[str, Any]) -> None:
        self._tokenizer = tokenizer
        names = ("cls", "bos", "sep", "eos", "pad", "unk")
        ids = {name: self.convert_tokens_to_ids(_token(config.get(f"{name}_token"))) for name in names}
        self.cls_token_id, self.bos_token_id = ids["cls"], ids["bos"]
        self.sep_token_id, self.eos_token_id = ids["sep"], ids["eos"]
        self.pad_token_id, self.unk_token_id = ids["pad"], ids["unk"]

    def __call__(self, text: str, *, add_special_tokens: bool, verbose: bool) -> dict[str, list[int]]:  # noqa: ARG002
        """Return the ids of a text as ``input_ids``."""
        return {"input_ids": self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids}

    def convert_tokens_to_ids(self, token: str) -> int | None:
        """Return the id of a token, None where there is none."""
        return self._tokenizer.token_to_id(token)

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        """Return the tokens of ids."""
        return [self._tokenizer.id_to_token(id_) or "" for id_ in ids]


def plain_tokenizer(folder: Path) -> PlainTokenizer | None:
    """Return the tokenizer stored in a folder, whole texts at a time; None where it is not as BERT's are."""
    if not (folder / _FILE).is_file() or not (folder / _CONFIG).is_file():
        return None
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / _FILE))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    plain = PlainTokenizer(tokenizer, json.loads((folder / _CONFIG).read_text(encoding="utf-8")))
    ids = (plain.cls_token_id, plain.sep_token_id, plain.pad_token_id, plain.unk_token_id)
    return None if None in ids else plain


def _token(entry: Any) -> str:
    """Return a token as a configuration names it: a text, or an object with its content."""
    content = entry.get("content") if isinstance(entry, dict) else entry
    return content if isinstance(content, str) else ""
