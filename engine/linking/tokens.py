"""The words of questions and names, as they are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

_WORD = re.compile(r"(?:\b\w\.){2,}|\w+(?:['’]\w+)*")
_POSSESSIVE = re.compile(r"['’]s?$")

FUNCTION_WORDS = frozenset(
    """
    a about above after all also an and any are as at be because been before being below between both but by can
    could did do does doing done during each few first for from further give had has have having he her here him
    his how i if in into is it its itself just last list main many me more most much my name named names no nor
    not of off on once one only or other our out over own please same she should show so some such tell than that
    the their them then there these they this those through to too two under until up us used very was we were
    what when where which while who whom whose why will with would you your
    """.split()
)
"""Words that a question is built from: they never make a mention on their own, nor are they searched for."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a text: as written, folded for comparison, and where it stands (character offsets)."""

    text: str
    folded: str
    start: int
    end: int


def fold(text: str) -> str:
    """Return the text as names are compared: no accents, no case, underscores opened."""
    decomposed = unicodedata.normalize("NFKD", text.replace("_", " "))
    return "".join(c for c in decomposed if not unicodedata.combining(c)).casefold()


def tokenise(text: str) -> list[Token]:
    """Return the words of a text; a possessive ending is not part of its word, `U.S.` is one word, `us`."""
    tokens = []
    for match in _WORD.finditer(text.replace("_", " ")):
        word = _POSSESSIVE.sub("", match.group())
        if folded := fold(word).replace(".", ""):
            tokens.append(Token(word, folded, match.start(), match.start() + len(word)))
    return tokens


def content_words(tokens: Sequence[Token]) -> list[bool]:
    """Return of each word whether it may be a mention on its own: no function word, but `US` and `the us`."""
    before = ["", *(token.folded for token in tokens)]
    return [
        token.folded not in FUNCTION_WORDS
        or (token.folded == "us" and (token.text != "us" or left in ("the", "in", "of", "from")))
        for token, left in zip(tokens, before, strict=False)
    ]
