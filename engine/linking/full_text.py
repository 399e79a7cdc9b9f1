"""Entity linking over the full-text name index: mentions in a question, and the entities they may mean.

One full-text query per question finds entities that share words with it (typos allowed); here each is held against the
spans of the question, and the score says how well a span and a name agree, how much of the question the span covers,
and, between entities of one name, which is better connected.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rapidfuzz.distance import DamerauLevenshtein

from ..database.graph import NamedEntity, find_entity_candidates
from ..steps import Steps, one
from ..values import EntityCandidate, Question, Scored

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_POSSESSIVE = re.compile(r"['’]s?$")

# Words that a question is built from: they never make a mention on their own, nor are they searched for.
_FUNCTION_WORDS = frozenset(
    """
    a about above after all also an and any are as at be because been before being below between both but by can
    could did do does doing done during each few first for from further give had has have having he her here him
    his how i if in into is it its itself just last list main many me more most much my name named names no nor
    not of off on once one only or other our out over own please same she should show so some such tell than that
    the their them then there these they this those through to too two under until up us used very was we were
    what when where which while who whom whose why will with would you your
    """.split()
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a text: as written, folded for comparison, and where it stands (character offsets)."""

    text: str
    folded: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Match:
    named: NamedEntity
    name: str
    start: int
    """Index of the first token of the mention."""
    end: int
    """Index after the last token."""
    similarity: float
    score: float


def fold(text: str) -> str:
    """Return the text as names are compared: no accents, no case, underscores opened."""
    decomposed = unicodedata.normalize("NFKD", text.replace("_", " "))
    return "".join(c for c in decomposed if not unicodedata.combining(c)).casefold()


def tokenise(text: str) -> list[Token]:
    """Return the words of a text; a possessive ending is not part of its word."""
    tokens = []
    for match in _WORD.finditer(text.replace("_", " ")):
        word = _POSSESSIVE.sub("", match.group())
        if folded := fold(word):
            tokens.append(Token(word, folded, match.start(), match.start() + len(word)))
    return tokens


def full_text_query(text: str) -> str:
    """Return the Lucene query for a question: its words, longer ones with a typo allowed, neighbours as phrases.

    Only word characters are passed on, quoted where Lucene would read an operator, so that no text of a question is
    ever query syntax. A question of function words alone gives a query that finds nothing.
    """
    tokens = tokenise(text)
    words = [" ".join(re.findall(r"\w+", token.folded)) for token in tokens]
    parts: list[str] = []
    for token, word in zip(tokens, words, strict=True):
        if not word or token.folded in _FUNCTION_WORDS:
            continue
        parts += [f'"{word}"^2']
        if len(word) >= 5 and " " not in word:
            parts += [f"{word}~{1 if len(word) < 8 else 2}"]
    for left, right in pairwise(words):
        if left and right and not (left in _FUNCTION_WORDS and right in _FUNCTION_WORDS):
            parts.append(f'"{left} {right}"^3')
    return " ".join(dict.fromkeys(parts)) or '"\u200b"'


@dataclass(frozen=True, slots=True)
class FullTextLinker:
    """Links questions by names and aliases; an id given with the question needs no linking.

    `pool` entities per question are read, at most `top_k` candidates are returned, names that agree less than
    `min_similarity` (1 is equal after folding) are left out.
    """

    pool: int = 100
    top_k: int = 10
    min_similarity: float = 0.8

    def link(self, questions: Sequence[Question]) -> Steps[list[tuple[Scored[EntityCandidate], ...]]]:
        """Return candidates per question, best first; one round trip for the batch."""
        queries = [full_text_query(question.text) for question in questions]
        pools = yield from one(find_entity_candidates(queries, self.pool))
        return [self.rank(question.text, pool) for question, pool in zip(questions, pools, strict=True)]

    def rank(self, text: str, pool: Iterable[NamedEntity]) -> tuple[Scored[EntityCandidate], ...]:
        """Return the candidates among `pool` for the mentions in `text`, best first.

        Mentions do not overlap: of two spans that share a word the better one stays. Ties are broken by id.
        """
        tokens = tokenise(text)
        cased = any(t.text != t.text.lower() for t in tokens[1:])
        matches = [m for named in pool if (m := self._best_match(tokens, named, cased)) is not None]
        matches.sort(key=lambda m: (-m.score, m.named.entity.id))
        spans: list[tuple[int, int]] = []
        kept: list[_Match] = []
        for match in matches:
            span = (match.start, match.end)
            if span in spans:
                kept.append(match)
            elif all(span[1] <= start or end <= span[0] for start, end in spans):
                spans.append(span)
                kept.append(match)
        return tuple(
            Scored(
                EntityCandidate(
                    m.named.entity,
                    text[tokens[m.start].start : tokens[m.end - 1].end],
                    m.name,
                    m.named.degree,
                ),
                m.score,
            )
            for m in kept[: self.top_k]
        )

    def _best_match(self, tokens: Sequence[Token], named: NamedEntity, cased: bool) -> _Match | None:
        best: _Match | None = None
        for name in named.search_names:
            words = tokenise(name)
            if not words:
                continue
            target = " ".join(w.folded for w in words)
            for start in range(len(tokens) - len(words) + 1):
                span = tokens[start : start + len(words)]
                if all(t.folded in _FUNCTION_WORDS for t in span):
                    continue
                similarity = _similarity(" ".join(t.folded for t in span), target, self.min_similarity)
                if similarity < self.min_similarity:
                    continue
                score = mention_score(similarity, span, words, named.degree, cased=cased)
                if best is None or score > best.score:
                    best = _Match(named, name, start, start + len(words), similarity, score)
        return best


def mention_score(
    similarity: float, span: Sequence[Token], name: Sequence[Token], degree: int, *, cased: bool
) -> float:
    """Return the score of a mention in [0, 1]: our own, no paper's.

    score = similarity³ · k · (0.7 + 0.2 · c + 0.1 · d), with k = 0.6 where a capitalised name stands in small letters
    in a question that has capitals elsewhere, else 1; c = 1 − 2^(−content words of the span);
    d = min(1, log₁₀(1 + degree) / 5).
    """
    content = sum(t.folded not in _FUNCTION_WORDS for t in span)
    small = cased and any(n.text[:1].isupper() and s.text.islower() for s, n in zip(span, name, strict=True))
    connected = min(1.0, math.log10(1 + degree) / 5)
    return similarity**3 * (0.6 if small else 1.0) * (0.7 + 0.2 * (1 - 2.0**-content) + 0.1 * connected)


def _similarity(left: str, right: str, cutoff: float) -> float:
    """1 − edit distance / length (transpositions count once); short words must agree to the letter."""
    if left == right:
        return 1.0
    if min(len(left), len(right)) < 4:
        return 0.0
    return DamerauLevenshtein.normalized_similarity(left, right, score_cutoff=cutoff)
