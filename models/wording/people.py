"""Phrases by which people ask for common relations, from the shipped lexicon: general English, of no question set."""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from .. import wording
from .english import NOTHING, english


@cache
def lexicon_phrases(label: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return phrases for what a relation of this label leads to, and for what leads to it by the relation.

    Nouns as they are; questions without their topic: "when was {x} born" is "when was born".
    """
    meant = in_english(label)
    entry = english().entry(meant or label)
    if entry is NOTHING:
        return (meant,) if meant else (), ()
    forward = (*((meant,) if meant else ()), *entry.nouns, *map(_bare, entry.asks))
    inverse = (*map(_bare, entry.back), *map(_bare, entry.inverse))
    own = label.lower()
    return tuple(p for p in dict.fromkeys(forward) if p and p != own), tuple(p for p in dict.fromkeys(inverse) if p)


@cache
def in_english(label: str) -> str:
    """Return what a label of another language means, word by word; empty for one that is not wholly known or is
    English.

    A noun that another follows by "of" stays in its place: "fecha de nacimiento" is "date of birth".
    """
    words = [_plain(word) for word in label.split()]
    known = _foreign()
    if not words or any(word not in known for word in words):
        return ""
    meant = " ".join(known[word] for word in words)
    return "" if meant == label.lower() else meant


def _plain(word: str) -> str:
    decomposed = unicodedata.normalize("NFD", word.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


@cache
def _foreign() -> Mapping[str, str]:
    text = files(wording).joinpath("languages.toml").read_text(encoding="utf-8")
    words: dict[str, str] = tomllib.loads(text)["words"]
    return words


def _bare(template: str) -> str:
    return " ".join(template.replace("{x}'s", " ").replace("{x}", " ").replace("{t}", "").split())
