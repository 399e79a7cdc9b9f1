"""The shorter forms that a name is called by."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple

from .initials import initials
from .tokens import FUNCTION_WORDS, MAX_CHARS, NUMBERS, ROMANS, is_unspaced, words_of_name

FormKind = Literal[
    "whole", "unbracketed", "untyped", "outer", "leading", "inverted", "initials", "last", "adjective", "near"
]


class Form(NamedTuple):
    """Folded words that may stand for a name, and how they come from it."""

    words: tuple[str, ...]
    kind: FormKind


def forms(search_names: Sequence[str], type_words: Collection[str]) -> Iterator[tuple[str, Form]]:
    """Yield the names of an entity with their forms, whole names first.

    Of `Anna_Maria_Smith (actress)`: whole; without what stands after a bracket or comma; without a last word that names
    a type (`German_Language`); its first and last word, unless the first is a function word; its leading words, at
    least two, or one that a function word follows; its last word; what stands after "of" before what stands before it
    (US president of `President_of_the_United_States`). Initials are among the search names. In a script that
    parts no words there are no shorter forms but that without brackets.
    """
    several = search_names if len(search_names) > 1 else ()
    short = {letters: name for name in several for letters in initials(name)}
    split = [(name, tuple(token.key for token in words_of_name(name))) for name in search_names]
    for name, words in split:
        if name in short:
            for letters in _with_number(name, short[name]):
                yield name, Form((letters,), "initials")
        elif words:
            yield name, Form(words, "whole")
    for name, words in split:
        if len(words) > 1 and name not in short:
            for form in _shorter(name, words, type_words):
                yield name, form


def _with_number(letters: str, name: str) -> tuple[str, ...]:
    """Return initials as they are written, folded: WWII and WW2 for those of World War II."""
    last = words_of_name(name)[-1].folded
    number = NUMBERS.get(last, last)
    if len(letters) < 3 or number not in ROMANS or letters[-1].lower() != last[0]:
        return (letters.lower(),)
    return letters[:-1].lower() + ROMANS[number], letters[:-1].lower() + number


def _shorter(name: str, words: tuple[str, ...], type_words: Collection[str]) -> Iterator[Form]:
    cut = min((at for at in (name.find("("), name.find(",")) if at > 0), default=MAX_CHARS)
    base = tuple(token.key for token in words_of_name(name[:cut])) if cut < MAX_CHARS else words
    if base and base != words:
        yield Form(base, "unbracketed")
    if any(map(is_unspaced, base)):
        return
    if len(base) > 1 and base[-1] in type_words:
        yield Form(base[:-1], "untyped")
    if len(base) > 2 and base[0] not in FUNCTION_WORDS:
        yield Form((base[0], base[-1]), "outer")
    if "of" in base[1:-1]:
        at = base.index("of", 1)
        owner = base[at + 2 :] if base[at + 1] == "the" else base[at + 1 :]
        if owner:
            yield Form((*owner, *base[:at]), "inverted")
            if len(owner) > 1:
                yield Form(("".join(word[0] for word in owner), *base[:at]), "inverted")
    for size in range(len(base) - 1, 0, -1):
        if base[size - 1] not in FUNCTION_WORDS and (size > 1 or base[size] in FUNCTION_WORDS):
            yield Form(base[:size], "leading")
    if len(base) > 1 and len(base[-1]) > 2:
        yield Form(base[-1:], "last")
