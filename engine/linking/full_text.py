"""Entity linking over the full-text name index: mentions in a question, and the entities they may mean.

One full-text query per question finds entities that share words with it (typos allowed); here each is held against the
words of the question (`mentions`), and weighed against the others (`likelihood`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..database.graph import NamedEntity, find_entity_candidates
from ..steps import Steps, one
from ..values import EntityCandidate, Question, Scored
from .likelihood import probabilities
from .mentions import Words, mention
from .tokens import FUNCTION_WORDS, content_words, tokenise


def full_text_query(text: str) -> str:
    """Return the Lucene query for a question: its words, longer ones with a typo allowed, neighbours as phrases.

    Only word characters are passed on, quoted where Lucene would read an operator, so that no text of a question is
    ever query syntax. A question of function words alone gives a query that finds nothing.
    """
    tokens = tokenise(text)
    words = [" ".join(re.findall(r"\w+", token.folded)) for token in tokens]
    parts: list[str] = []
    for is_content, word in zip(content_words(tokens), words, strict=True):
        if not word or not is_content:
            continue
        parts += [f'"{word}"^2']
        if len(word) >= 5 and " " not in word:
            parts += [f"{word}~{1 if len(word) < 8 else 2}"]
    for left, right in pairwise(words):
        if left and right and not (left in FUNCTION_WORDS and right in FUNCTION_WORDS):
            parts.append(f'"{left} {right}"^3')
    return " ".join(dict.fromkeys(parts)) or '"\u200b"'


@dataclass(frozen=True, slots=True)
class FullTextLinker:
    """Links questions by names and aliases; an id given with the question needs no linking.

    `pool` entities per question are read, at most `top_k` candidates are returned, names that agree less than
    `min_similarity` (1 is equal after folding) are left out. `type_words` name types of things in the graph: "film"
    in small letters is rarely what a question is about.
    """

    pool: int = 100
    top_k: int = 10
    min_similarity: float = 0.8
    type_words: Collection[str] = frozenset()

    def link(self, questions: Sequence[Question]) -> Steps[list[tuple[Scored[EntityCandidate], ...]]]:
        """Return candidates per question with their probabilities, best first; one round trip for the batch."""
        queries = [full_text_query(question.text) for question in questions]
        pools = yield from one(find_entity_candidates(queries, self.pool))
        return [self.rank(question.text, pool) for question, pool in zip(questions, pools, strict=True)]

    def rank(self, text: str, pool: Iterable[NamedEntity]) -> tuple[Scored[EntityCandidate], ...]:
        """Return the candidates among `pool` for the mentions in `text`, best first; equal ones by id."""
        words = Words(text)
        found = [m for named in pool if (m := mention(words, named, self.min_similarity, self.type_words)) is not None]
        likely = sorted(
            zip(probabilities(words, found, self.type_words).tolist(), found, strict=True),
            key=lambda pair: (-pair[0], pair[1].named.entity.id),
        )
        return tuple(
            Scored(
                EntityCandidate(m.named.entity, words.written(m.start, m.end), m.name, m.named.degree, probability),
                probability,
            )
            for probability, m in likely[: self.top_k]
        )
