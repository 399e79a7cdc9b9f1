"""Find where a question mentions an entity, by comparing the forms of its names with runs of words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import DamerauLevenshtein

from ..neo4j.graph import NamedEntity
from .names import FormKind, Token, derive_forms, find_places, mark_question_content, split_name, tokenise

KINDS: tuple[FormKind, ...] = (
    "whole",
    "unbracketed",
    "untyped",
    "outer",
    "leading",
    "inverted",
    "initials",
    "last",
    "adjective",
    "near",
)
"""What is taken before what, where runs of as many words agree."""
_SHORTEST_TYPO, _LONGEST_TYPO = 4, 100
"""Characters of a name that may have typos."""
MAX_WORDS = 256
"""Words of a question in which entities are looked for; a longer one is read to here."""


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
    """Of whole names with a typo below 1; of a near one the cosine of its text."""


class QuestionWords:
    """The words of a question, and its runs of words by their text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenise(text)[:MAX_WORDS]
        self.is_content = mark_question_content(text, self.tokens)
        self.is_cased = any(token.text != token.text.lower() for token in self.tokens[1:])
        self._keys = tuple(token.key for token in self.tokens)
        self._places: dict[str, list[int]] = {}
        for at, key in enumerate(self._keys):
            self._places.setdefault(key, []).append(at)
        self._runs: dict[int, list[tuple[int, str]]] = {}
        self._adjective: dict[str, int] = {}
        for at, token in enumerate(self.tokens):
            if self.is_content[at] and not (self.is_cased and token.text.islower()):
                for place in find_places(token.folded):
                    self._adjective.setdefault(place, at)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where a run of words stands in the text: its first character, and the one after its last."""
        return self.tokens[start].start, self.tokens[end - 1].end

    def slice_text(self, start: int, end: int) -> str:
        """Return the text of a run of words."""
        first, after = self.span(start, end)
        return self.text[first:after]

    def find(self, words: Sequence[str]) -> int | None:
        """Return where these folded words first stand with a word of content among them."""
        wanted, size = tuple(words), len(words)
        for start in self._places.get(wanted[0], ()):
            if self._keys[start : start + size] == wanted and self.has_content(start, start + size):
                return start
        return None

    def find_adjective(self, words: Sequence[str]) -> int | None:
        """Return where the adjective of a place first stands; in a question with capitals it must have one."""
        return self._adjective.get(words[0]) if len(words) == 1 else None

    def runs(self, size: int) -> list[tuple[int, str]]:
        """Return the runs of `size` folded words that may have typos, each with its position."""
        if size not in self._runs:
            firsts = [at for at in range(len(self.tokens) - size + 1) if self.has_content(at, at + size)]
            written = ((at, " ".join(token.folded for token in self.tokens[at : at + size])) for at in firsts)
            self._runs[size] = [(at, run) for at, run in written if len(run) >= _SHORTEST_TYPO]
        return self._runs[size]

    def has_content(self, start: int, end: int) -> bool:
        """Whether a run has a word of content."""
        return any(self.is_content[start:end])


def find_mention(
    words: QuestionWords, named: NamedEntity, min_similarity: float, type_words: Collection[str] = frozenset()
) -> Mention | None:
    """Return the best mention of an entity, or None: the one with the most words, then the best kind of form. A name
    with a typo comes last."""
    found: list[Mention] = []
    for name, form in derive_forms(named.search_names, type_words):
        if (start := words.find(form.words)) is not None:
            found.append(Mention(named, name, form.kind, start, start + len(form.words), 1.0))
        elif form.kind in ("whole", "unbracketed", "last") and (at := words.find_adjective(form.words)) is not None:
            found.append(Mention(named, name, "adjective", at, at + 1, 1.0))
    if not any(each.kind == "whole" for each in found):
        found += _find_with_typo(words, named, min_similarity)
    return min(found, key=lambda m: (m.start - m.end, m.similarity < 1, KINDS.index(m.kind), m.start), default=None)


def _find_with_typo(words: QuestionWords, named: NamedEntity, min_similarity: float) -> list[Mention]:
    found = []
    for name in named.search_names:
        target = [token.folded for token in split_name(name)]
        joined = " ".join(target)
        if not _SHORTEST_TYPO <= len(joined) <= _LONGEST_TYPO:
            continue
        for start, run in words.runs(len(target)):
            end = start + len(target)
            similarity = DamerauLevenshtein.normalized_similarity(run, joined, score_cutoff=min_similarity)
            if similarity >= min_similarity:
                found.append(Mention(named, name, "whole", start, end, similarity))
    return found


def capitals_differ(words: QuestionWords, found: Mention) -> bool:
    """Whether a capitalised name stands in small letters in a question that has capitals elsewhere."""
    run: Sequence[Token] = words.tokens[found.start : found.end]
    return words.is_cased and found.name[:1].isupper() and any(t.text.islower() for t in run if len(t.text) > 3)
