"""Compare names with the words of questions: tokens, initials, adjectives of places, shorter forms of a name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from ...models.words import FUNCTION_WORDS, NEVER_NAMES, SMALL_WORDS, fold

MAX_CHARS = 400
"""What of a name is held against a question; of a longer one its beginning alone."""
_UNSPACED = "\u3041-\u3096\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Hiragana and Han characters, which are written without spaces: each is a word of its own, as in the name index."""
_LETTER = rf"[^\W{_UNSPACED}]"
_WORD = re.compile(rf"(?:\b{_LETTER}\.){{2,}}|[{_UNSPACED}]|{_LETTER}+(?:['’]{_LETTER}+)*")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_POSSESSIVE = re.compile(r"['’]s?$")

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
        """The text to compare: the folded word; a Roman numeral of two letters or more as a number."""
        return NUMBERS[self.folded] if len(self.folded) > 1 and self.folded in NUMBERS else self.folded


def tokenise(text: str) -> list[Token]:
    """Return the words of a text; a possessive ending is not part of its word, `U.S.` is one word, `us`."""
    tokens = []
    for match in _WORD.finditer(text.replace("_", " ")):
        word = _POSSESSIVE.sub("", match.group())
        if folded := fold(word).replace(".", ""):
            tokens.append(Token(word, folded, match.start(), match.start() + len(word)))
    return tokens


@lru_cache(maxsize=4_096)
def split_name(name: str) -> tuple[Token, ...]:
    """Return the words of a name, of a very long name only the first. Recent names are cached."""
    return tuple(tokenise(name[:MAX_CHARS]))


def is_unspaced(word: str) -> bool:
    """Whether a word is one character of a script without spaces between words."""
    return _IS_UNSPACED.fullmatch(word) is not None


def mark_content_words(tokens: Sequence[Token]) -> list[bool]:
    """Return for each word whether it may be a mention on its own: function words may not, except `US` and `the us`."""
    before = ["", *(token.folded for token in tokens)]
    return [
        token.folded not in FUNCTION_WORDS
        or (token.folded == "us" and (token.text != "us" or left in ("the", "in", "of", "from")))
        for token, left in zip(tokens, before, strict=False)
    ]


def mark_question_content(text: str, tokens: Sequence[Token]) -> list[bool]:
    """Return the same for a question, in which a capitalised function word within a sentence may be a name (Them).

    This does not apply to a text without function words in small letters, which capitalises every word, nor to
    articles, prepositions and conjunctions, because names contain them.
    """
    plain = mark_content_words(tokens)
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


MAX_WORDS = 6

_BREAK = re.compile(r"[\x00-&(-/:-@\[-`{-\x7f]+")
_BEFORE_BRACKET = re.compile(r"[^(,]*")


def find_initials(name: str) -> tuple[str, ...]:
    """Return the initials of a search name: of all its words, and of those before its first article or preposition.

    Text after a bracket or a comma does not count. Names have initials if they have two to six words that begin with an
    ASCII letter or digit, the first with a letter.
    """
    before = _BEFORE_BRACKET.match(name)
    words = [word for word in _BREAK.split(before.group() if before else "") if word]
    first_small = next((at for at, word in enumerate(words) if word in SMALL_WORDS), len(words))
    both = (_join_initials([word for word in words if word not in SMALL_WORDS]), _join_initials(words[:first_small]))
    return tuple(dict.fromkeys(filter(None, both)))


def _join_initials(words: list[str]) -> str:
    firsts = "".join(word[0] for word in words)
    fits = 2 <= len(words) <= MAX_WORDS and firsts.isascii() and firsts.isalnum() and firsts[0].isalpha()
    return firsts.upper() if fits else ""


_OF_ADJECTIVES = ("ian", "vian", "ean", "an", "n", "ese", "ish", "tish", "ic", "i")
_OF_PLACES = ("", "a", "e", "i", "o", "y", "ia", "and", "land", "eland", "en", "ey", "al", "on", "us", "es", "as", "um")
_MORE_OF_PLACES = ("ium", "ain", "ica")
SHORTEST = 5
_SHORTEST_STEM = 3


@cache
def find_places(word: str) -> tuple[str, ...]:
    """Return folded words that may name the place of a folded adjective, except the adjective itself."""
    if len(word) < SHORTEST or not word.isalpha():
        return ()
    stems = [word.removesuffix(ending) for ending in _OF_ADJECTIVES if word.endswith(ending)]
    found = [
        stem + ending
        for stem in stems
        if len(stem) >= _SHORTEST_STEM or stem == "ir"
        for ending in (*_OF_PLACES, *_MORE_OF_PLACES)
    ]
    return tuple(place for place in dict.fromkeys([*_read_lands().get(word, ()), *found]) if place != word)


@cache
def _read_lands() -> dict[str, tuple[str, ...]]:
    """Return the country of each language, for names of one word (benchmarks/shipped_tables.py)."""
    lines = (Path(__file__).parent / "lands.tsv").read_text(encoding="utf-8").splitlines()
    return {language: (land,) for language, land in (line.split("\t") for line in lines)}


FormKind = Literal[
    "whole", "unbracketed", "untyped", "outer", "leading", "inverted", "initials", "last", "adjective", "near"
]


class NameForm(NamedTuple):
    """Folded words that may stand for a name, and how they are derived from it."""

    words: tuple[str, ...]
    kind: FormKind


def derive_forms(search_names: Sequence[str], type_words: Collection[str]) -> Iterator[tuple[str, NameForm]]:
    """Yield the names of an entity with their forms, whole names first.

    Of `Anna_Maria_Smith (actress)`: whole; without what stands after a bracket or comma; without a last word that names
    a type (`German_Language`); its first and last word, unless the first is a function word; its leading words, at
    least two, or one that a function word follows; its last word; what stands after "of" before what stands before it
    (US president of `President_of_the_United_States`). Initials are among the search names. In a script that
    parts no words there are no shorter forms but that without brackets.
    """
    several = search_names if len(search_names) > 1 else ()
    short = {letters: name for name in several for letters in find_initials(name)}
    split = [(name, tuple(token.key for token in split_name(name))) for name in search_names]
    for name, words in split:
        if name in short:
            for letters in _spell_initials(name, short[name]):
                yield name, NameForm((letters,), "initials")
        elif words:
            yield name, NameForm(words, "whole")
    for name, words in split:
        if len(words) > 1 and name not in short:
            for form in _derive_shorter_forms(name, words, type_words):
                yield name, form


def _spell_initials(letters: str, name: str) -> tuple[str, ...]:
    """Return initials as they are written, folded: WWII and WW2 for those of World War II."""
    last = split_name(name)[-1].folded
    number = NUMBERS.get(last, last)
    if len(letters) < 3 or number not in ROMANS or letters[-1].lower() != last[0]:
        return (letters.lower(),)
    return letters[:-1].lower() + ROMANS[number], letters[:-1].lower() + number


def _derive_shorter_forms(name: str, words: tuple[str, ...], type_words: Collection[str]) -> Iterator[NameForm]:
    cut = min((at for at in (name.find("("), name.find(",")) if at > 0), default=MAX_CHARS)
    base = tuple(token.key for token in split_name(name[:cut])) if cut < MAX_CHARS else words
    if base and base != words:
        yield NameForm(base, "unbracketed")
    if any(map(is_unspaced, base)):
        return
    if len(base) > 1 and base[-1] in type_words:
        yield NameForm(base[:-1], "untyped")
    if len(base) > 2 and base[0] not in FUNCTION_WORDS:
        yield NameForm((base[0], base[-1]), "outer")
    if "of" in base[1:-1]:
        at = base.index("of", 1)
        owner = base[at + 2 :] if base[at + 1] == "the" else base[at + 1 :]
        if owner:
            yield NameForm((*owner, *base[:at]), "inverted")
            if len(owner) > 1:
                yield NameForm(("".join(word[0] for word in owner), *base[:at]), "inverted")
    for size in range(len(base) - 1, 0, -1):
        if base[size - 1] not in FUNCTION_WORDS and (size > 1 or base[size] in FUNCTION_WORDS):
            yield NameForm(base[:size], "leading")
    if len(base) > 1 and len(base[-1]) > 2:
        yield NameForm(base[-1:], "last")
