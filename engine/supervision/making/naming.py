"""Names for the kinds of things that relations lead to: the graph's own types, else the nearest common noun."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from ....models.text_vectors import TextVectors
from ....models.verbalise import RelationWords
from ....models.wording.forms import singular
from ....models.wording.lexicon import english
from ....models.wording.phrases import AskedHop
from ...database.catalogue import Catalogue
from ...relations.words import type_words, words_of_relation
from ...values import Step
from .drawing import DrawnPath

LEAST_COSINE = 0.3
"""Below it no common noun is near enough to what is said of an entity."""
TELLING = 2
"""Relations that only things of one kind have, from which on a thing is taken for one."""
MAX_TOGETHER = 8
"""Relations that leave the same entities, by which a kind of entity is guessed."""


class Naming:
    """Puts hops into the words that questions are made of.

    together: see `Starts`. Where a relation has no domain the kind of its heads is guessed: the common noun that is
    nearest to the words of the relations that leave the same entities.
    """

    def __init__(self, catalogue: Catalogue, together: Mapping[int, Counter[int]], vectors: TextVectors) -> None:
        self._words = {relation.name: words_of_relation(relation) for relation in catalogue.relations}
        self._heads = {
            r.name: _with_synonyms(type_words(r.domain)) or _guessed(r.number, together, catalogue, vectors)
            for r in catalogue.relations
        }
        self._tails = {r.name: _with_synonyms(type_words(r.range)) for r in catalogue.relations}

    def asked(self, path: DrawnPath) -> list[AskedHop]:
        """Return the hops of a path as they are asked about."""
        hops: list[AskedHop] = []
        under_way: list[Step] = []
        for step in path.steps:
            under_way.append(step)
            if not step.to_mediator:
                hops.append(self._hop(under_way))
                under_way = []
        return hops

    def _hop(self, steps: Sequence[Step]) -> AskedHop:
        parts = [self._properties(step) for step in steps]
        properties = tuple(dict.fromkeys(part for each in parts for part in each))
        last = steps[-1]
        reached = self._heads[last.relation] if last.inverse else self._tails[last.relation]
        return AskedHop(properties, last.inverse, reached)

    def _properties(self, step: Step) -> tuple[str, ...]:
        words: RelationWords = self._words[step.relation]
        return words.properties[::-1] if step.inverse else words.properties


def _with_synonyms(type_: str) -> tuple[str, ...]:
    if not type_:
        return ()
    types = english().types
    for names in types.values():
        if type_ in names:
            return tuple(dict.fromkeys((type_, *names)))
    return (type_,)


def _guessed(
    number: int, together: Mapping[int, Counter[int]], catalogue: Catalogue, vectors: TextVectors
) -> tuple[str, ...]:
    """Return the common noun for what a relation leaves, with its synonyms; none where no noun is near.

    Who has a spouse and a profession is a person. A noun that the graph's relations use is what something has, and not
    what it is: people have a religion.
    """
    texts = {r.number: " ".join(words_of_relation(r).properties) for r in catalogue.relations}
    near = [n for n, _ in sorted(together.get(number, Counter()).items(), key=lambda item: (-item[1], item[0]))]
    said = ", ".join(dict.fromkeys(texts[n] for n in [number, *near[:MAX_TOGETHER]] if n in texts))
    types = english().types
    near_words = [{singular(w) for w in texts[n].lower().split()} for n in [number, *near[:MAX_TOGETHER]] if n in texts]
    for type_, telling in english().told_by.items():
        if sum(not telling.isdisjoint(words) for words in near_words) >= TELLING:
            return types[type_]
    used = {singular(word) for text in texts.values() for word in text.lower().split()}
    nouns = {name: " ".join(words[:2]) for name, words in types.items() if used.isdisjoint(words)}
    if not nouns:
        return ()
    vectors.encode([said, *nouns.values()])
    asked = vectors.sentence(said)
    cosines = {name: float(np.dot(vectors.sentence(noun), asked)) for name, noun in nouns.items()}
    best = max(sorted(cosines), key=lambda name: cosines[name])
    return types[best] if cosines[best] >= LEAST_COSINE else ()
