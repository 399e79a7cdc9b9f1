"""What people call common relations and kinds of things, from `lexicon.toml`: general English, of no question set."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from .. import wording
from .forms import singular

Kind = Literal["person", "place", "time", "number", "thing"]


@dataclass(frozen=True, slots=True)
class Entry:
    """Other words of a relation: nouns, questions in both directions, noun phrases for what leads to the topic."""

    nouns: tuple[str, ...]
    asks: tuple[str, ...]
    inverse: tuple[str, ...]
    back: tuple[str, ...]


NOTHING = Entry((), (), (), ())


@dataclass(frozen=True, slots=True)
class Lexicon:
    """kinds: of words. types: names of things with their synonyms. relations: entries by a property's text. told_by:
    words of relations that only things of a type have, by its name."""

    kinds: Mapping[str, Kind]
    types: Mapping[str, tuple[str, ...]]
    relations: Mapping[str, Entry]
    told_by: Mapping[str, frozenset[str]]

    def entry(self, text: str) -> Entry:
        """Return the entry of a property: of its text, of its last two words, or of its last word alone."""
        words = text.lower().split()
        for tail in (words, words[-2:], words[-1:]):
            for form in (" ".join(tail), singular(" ".join(tail))):
                if form in self.relations:
                    return self.relations[form]
        return NOTHING

    def kind(self, text: str) -> Kind:
        """Return what sort of thing words name, by the head of the phrase: "place of birth" is a place."""
        words = text.lower().split()
        head = next((words[at - 1] for at, word in enumerate(words) if at and word == "of"), words[-1] if words else "")
        for word in (head, *reversed(words)):
            found = self.kinds.get(word) or self.kinds.get(singular(word))
            if found:
                return found
            if len(word) > 5 and word.endswith(("ist", "ian", "ists", "ians")):
                return "person"
        return "thing"


@cache
def english() -> Lexicon:
    """Return the lexicon."""
    data: dict[str, Any] = tomllib.loads(files(wording).joinpath("lexicon.toml").read_text(encoding="utf-8"))
    relations = {
        name: Entry(*(tuple(entry.get(field, ())) for field in ("nouns", "asks", "inverse", "back")))
        for entry in data["relations"]
        for name in entry["of"]
    }
    told_by = {name: frozenset(words.split()) for name, words in data["told_by"].items()}
    kinds: dict[str, Kind] = {word: kind for kind, words in data["kinds"].items() for word in words.split()}
    return Lexicon(kinds, {name: tuple(words.split()) for name, words in data["types"].items()}, relations, told_by)
