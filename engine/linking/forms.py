"""The shorter forms that a name is called by."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple

from .initials import initials
from .tokens import FUNCTION_WORDS, tokenise

FormKind = Literal["whole", "unbracketed", "untyped", "outer", "leading", "initials", "last"]


class Form(NamedTuple):
    """Folded words that may stand for a name, and how they come from it."""

    words: tuple[str, ...]
    kind: FormKind


def forms(search_names: Sequence[str], type_words: Collection[str]) -> Iterator[tuple[str, Form]]:
    """Yield the names of an entity with their forms, whole names first.

    Of `Anna_Maria_Smith (actress)`: whole; without what stands after a bracket or comma; without a last word that names
    a type (`German_Language`); its first and last word, unless the first is a function word; its leading words, at
    least two, or one that a function word follows; its last word. Initials are among the search names.
    """
    short = {letters for name in search_names for letters in initials(name)}
    split = [(name, tuple(token.folded for token in tokenise(name))) for name in search_names]
    for name, words in split:
        if words:
            yield name, Form(words, "initials" if name in short else "whole")
    for name, words in split:
        if len(words) > 1 and name not in short:
            for form in _shorter(name, words, type_words):
                yield name, form


def _shorter(name: str, words: tuple[str, ...], type_words: Collection[str]) -> Iterator[Form]:
    cut = min((at for at in (name.find("("), name.find(",")) if at > 0), default=len(name))
    base = tuple(token.folded for token in tokenise(name[:cut]))
    if base and base != words:
        yield Form(base, "unbracketed")
    if len(base) > 1 and base[-1] in type_words:
        yield Form(base[:-1], "untyped")
    if len(base) > 2 and base[0] not in FUNCTION_WORDS:
        yield Form((base[0], base[-1]), "outer")
    for size in range(len(base) - 1, 0, -1):
        if base[size - 1] not in FUNCTION_WORDS and (size > 1 or base[size] in FUNCTION_WORDS):
            yield Form(base[:size], "leading")
    if len(base) > 1 and len(base[-1]) > 2:
        yield Form(base[-1:], "last")
