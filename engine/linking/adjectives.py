"""From an adjective to the place it is of: Canadian to Canada, French to France.

By the endings of English, and by CLDR: a language's name to the land that it is likeliest spoken in. Ours.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_OF_ADJECTIVES = ("ian", "vian", "ean", "an", "n", "ese", "ish", "tish", "ic", "i")
_OF_PLACES = ("", "a", "e", "i", "o", "y", "ia", "and", "land", "eland", "en", "ey", "al", "on", "us", "es", "as", "um")
_MORE_OF_PLACES = ("ium", "ain", "ica")
SHORTEST = 5
_SHORTEST_STEM = 3


@cache
def places_of(word: str) -> tuple[str, ...]:
    """Return the folded words that may name the place of a folded adjective, the adjective's own excepted."""
    if len(word) < SHORTEST or not word.isalpha():
        return ()
    stems = [word.removesuffix(ending) for ending in _OF_ADJECTIVES if word.endswith(ending)]
    found = [
        stem + ending
        for stem in stems
        if len(stem) >= _SHORTEST_STEM or stem == "ir"
        for ending in (*_OF_PLACES, *_MORE_OF_PLACES)
    ]
    return tuple(place for place in dict.fromkeys([*_lands().get(word, ()), *found]) if place != word)


@cache
def _lands() -> dict[str, tuple[str, ...]]:
    """Return the lands of languages, names of one word both (benchmarks/shipped_tables.py)."""
    lines = (Path(__file__).parent / "lands.tsv").read_text(encoding="utf-8").splitlines()
    return {language: (land,) for language, land in (line.split("\t") for line in lines)}
