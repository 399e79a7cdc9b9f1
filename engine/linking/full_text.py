"""Entity linking over the full-text name index: mentions in a question, and the entities they may mean.

One full-text query per question finds entities that share words with it (typos allowed); here each is held against the
words of the question (`mentions`), and weighed against the others (`likelihood`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ...models.words import FUNCTION_WORDS
from ..indexes.entity_index import NearestEntities
from ..neo4j.graph import NamedEntity, NameQuery, find_entity_candidates, read_search_names
from ..steps import Steps, one
from ..values import Question, Topic
from .deciding import Logistic, Weighing
from .likelihood import features, probabilities
from .mentions import MAX_WORDS, Mention, Words, mention
from .names import NUMBERS, ROMANS, Token, content_of, is_unspaced, places_of, tokenise
from .relation_evidence import Floats, RelationEvidence

_NUMBERED = re.compile(rf"([a-z]{{2,5}}?)([1-9]|1\d|20|{'|'.join(sorted(NUMBERS, key=len, reverse=True))})")
MAX_CLAUSES = 400
"""Of a Lucene query, which refuses more than 1,024."""


WORD_QUERIES = 24
"""Words of a question that are also looked for alone, and pairs of neighbours."""
READ = 200
"""Entities with such a word or pair of which the ones with the most triples are looked at, too."""
_JOINING = (".", ":", "·")
NOTHING = '"\u200b"'
"""A query that finds nothing."""


def full_text_queries(text: str, pool: int, per_word: int) -> list[NameQuery]:
    """Return the Lucene queries for a question, with how many entities each is to give.

    The first has all words, longer ones with a typo allowed, and neighbours as phrases. The others have one word each,
    so that no long name which shares many words with the question crowds out a short one that shares the one that
    matters, and each two neighbours of content. Only word characters are passed on, quoted where Lucene would read an
    operator, so that no text of a question is ever query syntax. A question of function words alone gives a query that
    finds nothing; one of very many words asks for the first `MAX_CLAUSES` of what is to be asked for, each word before
    its typos and neighbours.
    """
    tokens = tokenise(text)[:MAX_WORDS]
    words = [" ".join(re.findall(r"\w+", token.folded)) for token in tokens]
    written = [
        f"{word}'s" if text[token.end : token.end + 2].lower() in ("'s", "’s") else _other_number(word)
        for token, word in zip(tokens, words, strict=True)
    ]
    is_content = content_of(text, tokens)
    alone = [
        list(filter(None, (word, other)))
        for content, word, other in zip(is_content, words, written, strict=True)
        if word and content and not is_unspaced(word)
    ]
    parts = [f'"{word}"^2' for some in alone for word in some]
    for (left, other_left), (right, other_right) in pairwise(zip(words, written, strict=True)):
        if left and right and not (left in FUNCTION_WORDS and right in FUNCTION_WORDS):
            parts.append(f'"{left} {right}"^3')
            written_else = ((other_left, right), (left, other_right))
            parts += [f'"{first} {second}"^3' for first, second in written_else if first and second]
    for content, word in zip(is_content, words, strict=True):
        if content and len(word) >= 5 and " " not in word:
            parts.append(f"{word}~{1 if len(word) < 8 else 2}")
    joined = [f'"{run}"' for run in _joined(text, tokens)]
    parts = [*(f"{run}^3" for run in joined), *parts]
    whole = " ".join(list(dict.fromkeys(parts))[:MAX_CLAUSES]) or NOTHING
    singles = [" ".join(f'"{word}"' for word in (*some, *places_of(some[0]))) for some in alone[:WORD_QUERIES]]
    pairs = [
        f'"{left} {right}"'
        for (left, is_left), (right, is_right) in pairwise(zip(words, is_content, strict=True))
        if left and right and is_left and is_right
    ][:WORD_QUERIES]
    others = dict.fromkeys([*joined[:WORD_QUERIES], *singles, *pairs])
    return [NameQuery(whole, pool), *(NameQuery(query, per_word, READ) for query in others if query != whole)]


def _joined(text: str, tokens: Sequence[Token]) -> list[str]:
    """Return the runs of words that a point or colon alone joins, which the name index has as one: will.i.am."""
    runs: list[tuple[int, int]] = []
    for left, right in pairwise(tokens):
        if text[left.end : right.start] in _JOINING and not (is_unspaced(left.text) or is_unspaced(right.text)):
            first = runs.pop()[0] if runs and runs[-1][1] == left.end else left.start
            runs.append((first, right.end))
    return list(dict.fromkeys(text[first:after].replace("_", " ").lower() for first, after in runs))


def _other_number(word: str) -> str:
    """Return how a number is written otherwise, or the initials of a name that ends in one: II and 2, WWI of WW2."""
    if word in ROMANS:
        return ROMANS[word]
    if len(word) > 1 and word in NUMBERS:
        return NUMBERS[word]
    found = _NUMBERED.fullmatch(word)
    return found[1] + ROMANS.get(found[2], found[2])[0] if found else ""


@dataclass(frozen=True, slots=True)
class FullTextLinker:
    """Links questions by names and aliases; an id given with the question needs no linking.

    `pool` entities per question are read and `per_word` for each word of it; at most `top_k` candidates are returned,
    names that agree less than `min_similarity` (1 is equal after folding) are left out. `type_words` name types of
    things in the graph: "film" in small letters is rarely what a question is about. With `evidence`, `considered` of
    the candidates are weighed again by the relations at them, once these are known. With `nearest`, a question whose
    likeliest candidate is less so than `nearest_below` is given entities with names that are near to its words.
    """

    pool: int = 100
    per_word: int = 10
    top_k: int = 10
    min_similarity: float = 0.8
    type_words: Collection[str] = frozenset()
    evidence: RelationEvidence | None = None
    weighing: Weighing = field(default_factory=Logistic)
    considered: int = 20
    nearest: NearestEntities | None = None
    nearest_below: float = 0.3

    def link(self, questions: Sequence[Question]) -> Steps[list[tuple[Topic, ...]]]:
        """Return candidates per question with their probabilities, best first; one round trip for the batch, and one
        more where the entity index is asked."""
        found = yield from self.mentioned([question.text for question in questions])
        return [self._ranked(words, some) for words, some in found]

    def mentioned(self, texts: Sequence[str]) -> Steps[list[tuple[Words, list[Mention]]]]:
        """Return the words of each text with all that they may mean."""
        pools = yield from one(find_entity_candidates([self.queries(text) for text in texts]))
        every = [Words(text) for text in texts]
        found = [self._mentions(words, pool) for words, pool in zip(every, pools, strict=True)]
        if self.nearest is not None:
            near = {
                at: self.nearest.near([token.folded for token in words.tokens], words.is_content)
                for at, words in enumerate(every)
                if self._best(words, found[at]) < self.nearest_below
            }
            ids = list(dict.fromkeys(each.id for some in near.values() for each in some))
            named = (yield from one(read_search_names(ids))) if ids else {}
            for at, some in near.items():
                known = {each.named.entity.id for each in found[at]}
                found[at] += [
                    Mention(named[n.id], named[n.id].entity.label, "near", n.start, n.end, n.cosine)
                    for n in some
                    if n.id in named and n.id not in known
                ]
        return list(zip(every, found, strict=True))

    def queries(self, text: str) -> list[NameQuery]:
        """Return the full-text queries for a question, with how many entities each is to give."""
        return full_text_queries(text, self.pool, self.per_word)

    def rank(self, text: str, pool: Iterable[NamedEntity]) -> tuple[Topic, ...]:
        """Return the candidates among `pool` for the mentions in `text`, best first; equal ones by id."""
        words = Words(text)
        return self._ranked(words, self._mentions(words, pool))

    def _mentions(self, words: Words, pool: Iterable[NamedEntity]) -> list[Mention]:
        found = (mention(words, named, self.min_similarity, self.type_words) for named in pool)
        return [each for each in found if each is not None]

    def _best(self, words: Words, found: Sequence[Mention]) -> float:
        return float(max(probabilities(features(words, found, self.type_words)), default=0.0))

    def _ranked(self, words: Words, found: Sequence[Mention]) -> tuple[Topic, ...]:
        x = features(words, found, self.type_words)
        likely = sorted(
            zip(probabilities(x).tolist(), found, x.tolist(), strict=True),
            key=lambda each: (-each[0], each[1].named.entity.id),
        )
        return tuple(
            candidate(words, m, probability, row)
            for probability, m, row in likely[: self.considered if self.evidence else self.top_k]
        )

    def decide(self, questions: Sequence[Question], found: Sequence[Sequence[Topic]]) -> list[list[Topic]]:
        """Return the candidates of each question with their probabilities by words and relations, best first."""
        if self.evidence is None:
            return [list(some) for some in found]
        texts = [question.text for question in questions]
        relations = self.evidence.features(texts, found)
        return [self._decided(some, x) for some, x in zip(found, relations, strict=True)]

    def _decided(self, some: Sequence[Topic], relations: Floats) -> list[Topic]:
        assert self.evidence is not None
        if not some:
            return []
        likely = self.weighing.probabilities(some, relations).tolist()
        weighed = [
            replace(each, score=p, probability=p, kind=self.evidence.kind(each))
            for p, each in zip(likely, some, strict=True)
        ]
        return sorted(weighed, key=lambda each: (-each.score, each.entity.id))[: self.top_k]


def candidate(words: Words, found: Mention, probability: float | None = None, row: Sequence[float] = ()) -> Topic:
    """Return a mention as the candidate that it is; `row` are its features."""
    return Topic(
        found.named.entity,
        found.named.degree,
        score=probability or 0.0,
        mention=words.written(found.start, found.end),
        matched_name=found.name,
        probability=probability,
        span=words.span(found.start, found.end),
        features=tuple(row),
    )
