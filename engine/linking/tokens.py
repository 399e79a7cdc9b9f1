"""The words of questions and names, as they are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

MAX_CHARS = 400
"""What of a name is held against a question; of a longer one its beginning alone."""
_UNSPACED = "\u3041-\u3096\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Hiragana and Han characters, which are written without spaces: each is a word of its own, as in the name index."""
_LETTER = rf"[^\W{_UNSPACED}]"
_WORD = re.compile(rf"(?:\b{_LETTER}\.){{2,}}|[{_UNSPACED}]|{_LETTER}+(?:['’]{_LETTER}+)*")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_POSSESSIVE = re.compile(r"['’]s?$")

FUNCTION_WORDS = frozenset(
    """
    a about above after all also an and any are as at be because been before being below between both but by can
    could did do does doing done during each few first for from further give had has have having he her here him
    his how i if in into is it its itself just last list main many me more most much my name named names no nor
    not of off on once one only or other our out over own please s same she should show so some such tell than that
    the their them then there these they this those through to too two under until up us used very was we were
    what when where which while who whom whose why will with would you your
    """.split()
)
"""Words that a question is built from: they never make a mention on their own, nor are they searched for."""


NEVER_NAMES = frozenset(
    """
    a about above after an and as at before below between but by during for from if in into nor of off on or out over so
    than the then through to under until up while with
    """.split()
)
"""Function words that a name has among others."""

_ROMAN = "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx".split()
NUMBERS = {roman: str(number) for number, roman in enumerate(_ROMAN, start=1)}
"""Roman numerals as numbers."""
ROMANS = {number: roman for roman, number in NUMBERS.items()}


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a text: as written, folded for comparison, and where it stands (character offsets)."""

    text: str
    folded: str
    start: int
    end: int

    @property
    def key(self) -> str:
        """What is compared: the folded word, a Roman numeral of two letters or more as a number."""
        return NUMBERS[self.folded] if len(self.folded) > 1 and self.folded in NUMBERS else self.folded


def fold(text: str) -> str:
    """Return the text as names are compared: no accents, no case, underscores opened."""
    if text.isascii():
        return text.replace("_", " ").lower()
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


@lru_cache(maxsize=4_096)
def words_of_name(name: str) -> tuple[Token, ...]:
    """Return the words of a name, of a very long one those of its beginning; the names of late are remembered."""
    return tuple(tokenise(name[:MAX_CHARS]))


def is_unspaced(word: str) -> bool:
    """Whether a word is one character of a script that parts no words."""
    return _IS_UNSPACED.fullmatch(word) is not None


def content_words(tokens: Sequence[Token]) -> list[bool]:
    """Return of each word whether it may be a mention on its own: no function word, but `US` and `the us`."""
    before = ["", *(token.folded for token in tokens)]
    return [
        token.folded not in FUNCTION_WORDS
        or (token.folded == "us" and (token.text != "us" or left in ("the", "in", "of", "from")))
        for token, left in zip(tokens, before, strict=False)
    ]


def content_of(text: str, tokens: Sequence[Token]) -> list[bool]:
    """Return the same for a question, where a function word with a capital within a sentence may be a name, too (Them).

    Not in a text without function words in small letters, which has capitals throughout; articles, prepositions and
    words that join are in names, and none.
    """
    plain = content_words(tokens)
    if not any(token.folded in FUNCTION_WORDS and token.text.islower() for token in tokens):
        return plain
    return [
        is_content
        or (
            len(token.text) > 1
            and token.text[0].isupper()
            and token.folded not in NEVER_NAMES
            and text[: token.start].rstrip()[-1:] not in ("", ".", "?", "!", ":")
        )
        for token, is_content in zip(tokens, plain, strict=True)
    ]
