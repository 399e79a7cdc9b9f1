"""Where a question mentions an entity: the best agreement of one of its names' forms with a run of words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import DamerauLevenshtein

from ..database.graph import NamedEntity
from .forms import FormKind, forms
from .tokens import Token, content_words, tokenise

KINDS: tuple[FormKind, ...] = ("whole", "unbracketed", "untyped", "outer", "leading", "initials", "last")
"""What is taken before what, where runs of as many words agree."""
_SHORTEST_TYPO = 4


@dataclass(frozen=True, slots=True)
class Mention:
    """A run of words that may mean an entity."""

    named: NamedEntity
    name: str
    """The name whose form agrees."""
    kind: FormKind
    start: int
    """Index of the first token."""
    end: int
    """Index after the last token."""
    similarity: float
    """Of whole names with a typo below 1."""


class Words:
    """The words of a question, and its runs of words by their text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenise(text)
        self.is_content = content_words(self.tokens)
        self.is_cased = any(token.text != token.text.lower() for token in self.tokens[1:])
        self._first: dict[str, int] = {}
        for at, token in reversed(list(enumerate(self.tokens))):
            self._first[token.folded] = at

    def written(self, start: int, end: int) -> str:
        """Return a run of words as it is written."""
        return self.text[self.tokens[start].start : self.tokens[end - 1].end]

    def find(self, words: Sequence[str]) -> int | None:
        """Return where these folded words first stand with a word of content among them."""
        if words[0] not in self._first:
            return None
        for start in range(self._first[words[0]], len(self.tokens) - len(words) + 1):
            run = self.tokens[start : start + len(words)]
            if all(token.folded == word for token, word in zip(run, words, strict=True)) and self.has_content(
                start, start + len(words)
            ):
                return start
        return None

    def has_content(self, start: int, end: int) -> bool:
        """Whether a run has a word of content."""
        return any(self.is_content[start:end])


def mention(
    words: Words, named: NamedEntity, min_similarity: float, type_words: Collection[str] = frozenset()
) -> Mention | None:
    """Return the best mention of an entity: of the most words, then by the kind of the form, then a whole name with a
    typo; None where nothing agrees."""
    found: list[Mention] = []
    for name, form in forms(named.search_names, type_words):
        if (start := words.find(form.words)) is not None:
            found.append(Mention(named, name, form.kind, start, start + len(form.words), 1.0))
    if not any(each.kind == "whole" for each in found):
        found += _with_typo(words, named, min_similarity)
    return min(found, key=lambda m: (m.start - m.end, m.similarity < 1, KINDS.index(m.kind), m.start), default=None)


def _with_typo(words: Words, named: NamedEntity, min_similarity: float) -> list[Mention]:
    found = []
    for name in named.search_names:
        target = [token.folded for token in tokenise(name)]
        joined = " ".join(target)
        if len(joined) < _SHORTEST_TYPO:
            continue
        for start in range(len(words.tokens) - len(target) + 1):
            end = start + len(target)
            run = " ".join(token.folded for token in words.tokens[start:end])
            if len(run) < _SHORTEST_TYPO or not words.has_content(start, end):
                continue
            similarity = DamerauLevenshtein.normalized_similarity(run, joined, score_cutoff=min_similarity)
            if similarity >= min_similarity and target:
                found.append(Mention(named, name, "whole", start, end, similarity))
    return found


def capitals_differ(words: Words, found: Mention) -> bool:
    """Whether a capitalised name stands in small letters in a question that has capitals elsewhere."""
    run: Sequence[Token] = words.tokens[found.start : found.end]
    return words.is_cased and found.name[:1].isupper() and any(t.text.islower() for t in run if len(t.text) > 3)
