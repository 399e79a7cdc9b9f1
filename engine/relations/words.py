"""Turn relations into words, search them by their vectors, and find what kinds of things stand at their ends.

Every scorer, index and training file takes the words of a relation from here. Those of a path are put together in
`models/text/verbalise.py`. The kinds come from the graph alone and are stored in the catalogue: one pass over a bounded
sample of entities and literals, then a bounded number of the relations that the sample rarely contains, one by one.
Samples are the first by id, so that the same graph has the same kinds; of a relation with more than `AMONG` triples
they are the first written.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...models.text.encoders import FloatArray
from ...models.text.vectors import TextVectors
from ...models.text.verbalise import (
    RelationMeaning,
    RelationWords,
    join_without_repeats,
)
from ...models.wording.english import lexicon_phrases, translate_label
from ...models.wording.kinds import NO_KIND, EndKind, EndSample, end_kinds
from ..neo4j.catalogue import LABEL_SEPARATOR, ORIGINS, Phrase, RelationInfo, read_catalogue
from ..neo4j.gateway import Gateway
from ..neo4j.templates import Request, Row, template
from ..values import Scored

MAX_PHRASES = 40
"""Of a relation and direction, the best trusted first, that scorers read."""


def words_of_relation(relation: RelationInfo, choose: Callable[[Phrase], bool] = lambda _phrase: True) -> RelationWords:
    """Return the words of a relation: its label's parts, the type of its domain, and what people ask for it by.

    choose: which of its phrases are used.
    """
    labels = tuple(relation.label.split(LABEL_SEPARATOR))
    forward, inverse = (
        tuple(dict.fromkeys(p.text for p in phrases_of(relation) if p.inverse == way and choose(p)))[:MAX_PHRASES]
        for way in (False, True)
    )
    return RelationWords(
        type_words(relation.domain), labels, RelationMeaning(forward, inverse, relation.head, relation.tail)
    )


def words_of_relations(relations: Sequence[RelationInfo]) -> dict[str, RelationWords]:
    """Return the words of each relation of a graph, by name.

    General English for "type" is not used where it names a type of the graph: "which category" means Category there.
    """
    types = frozenset(type_words(type_) for relation in relations for type_ in (relation.domain, relation.range))

    def is_said(phrase: Phrase) -> bool:
        return phrase.origin != "lexicon" or types.isdisjoint(phrase.text.split())

    found = {relation.name: words_of_relation(relation) for relation in relations}
    return found | {r.name: words_of_relation(r, is_said) for r in relations if found[r.name].is_type}


def phrases_of(relation: RelationInfo) -> tuple[Phrase, ...]:
    """Return all phrases of a relation, the best trusted first: its label as the user said it, what is stored with it,
    and what the lexicon has for its label."""
    said = [Phrase(relation.said_label)] if relation.said_label else []
    forward, inverse = lexicon_phrases(relation.shown_label.rpartition(LABEL_SEPARATOR)[2].replace("_", " "))
    found = (
        *said,
        *relation.phrases,
        *(Phrase(text, "lexicon") for text in forward),
        *(Phrase(text, "lexicon", inverse=True) for text in inverse),
    )
    return tuple(sorted(dict.fromkeys(found), key=lambda phrase: ORIGINS.index(phrase.origin)))


def type_words(type_: str | None) -> str:
    """Return the words of a type's last part (`location.country` is "country"); empty for None."""
    return (type_ or "").rpartition(".")[2].replace("_", " ").lower()


def relation_embedding_text(relation: RelationInfo) -> str:
    """Return the text that is embedded for a relation: its words, its domain and its range."""
    words = words_of_relation(relation)
    return join_without_repeats((words.domain, *words.properties, type_words(relation.range)))


NUM_ENTITIES = 6_000
NUM_LITERALS = 8_000
RELATIONS_PER_LITERAL = 20
AMONG = 10_000
"""Triples of a relation, or of a literal, among which those with the first ids are looked for."""
MAX_RELATIONS = 200
"""Relations of an entity that are looked at."""
ENOUGH = 6
"""Things at an end that tell its kind; an end with less of them in the sample is looked at by itself."""
PER_END = 64
ONE_BY_ONE = 40
"""Relations that are looked at by themselves, those with most triples first."""


@dataclass(slots=True)
class _End:
    names: list[str] = field(default_factory=list)
    num_values: int = 0
    others: Counter[int] = field(default_factory=Counter)

    def add(self, name: str, signature: Sequence[int], *, is_value: bool = False) -> None:
        if len(self.names) < PER_END:
            self.names.append(name)
            self.num_values += is_value
            self.others.update(signature)


def find_end_kinds(gateway: Gateway) -> dict[str, tuple[EndKind, EndKind]]:
    """Return the kinds at head and tail of each relation, by name."""
    relations = gateway.run(read_catalogue()).relations
    numbers = {relation.name: relation.number for relation in relations}
    ends: defaultdict[int, _End] = defaultdict(_End)
    for name, signature in gateway.run(_rows("sample_entities", limit=NUM_ENTITIES, max_relations=MAX_RELATIONS)):
        for number in signature:
            ends[number].add(name, signature)
    for value, relation in gateway.run(
        _rows("sample_literals", limit=NUM_LITERALS, per_literal=RELATIONS_PER_LITERAL, among=AMONG)
    ):
        if relation in numbers:
            ends[-numbers[relation]].add(value, (-numbers[relation],), is_value=True)
    rare = [r for r in relations if min(len(ends[r.number].names), len(ends[-r.number].names)) < min(ENOUGH, r.count)]
    for relation in sorted(rare, key=lambda r: (-r.count, r.number))[:ONE_BY_ONE]:
        _look_at(gateway, relation, ends)
    own = {r.number: r.label.rpartition(LABEL_SEPARATOR)[2].replace("_", " ") for r in relations}
    labels = {number: translate_label(label) or label for number, label in own.items()}
    types = {r.number: type_words(r.domain) for r in relations} | {-r.number: type_words(r.range) for r in relations}
    samples = {  # of the relations that were there: another writer may have added some since
        end: EndSample(
            tuple(each.names),
            each.num_values,
            {other: times for other, times in each.others.items() if abs(other) in labels},
        )
        for end, each in ends.items()
        if each.names and abs(end) in labels
    }
    found = end_kinds(samples, labels, types)
    return {r.name: (found.get(r.number, NO_KIND), found.get(-r.number, NO_KIND)) for r in relations}


def _look_at(gateway: Gateway, relation: RelationInfo, ends: defaultdict[int, _End]) -> None:
    head, tail = ends[relation.number], ends[-relation.number] = _End(), _End()
    type_ = relation.stored_as or relation.name
    rows = gateway.run(
        _rows(
            "sample_relation",
            {"RELATION": type_},
            limit=PER_END,
            relation=relation.name,
            max_relations=MAX_RELATIONS,
            among=AMONG,
        )
    )
    for head_name, head_signature, tail_name, tail_signature, is_value in rows:
        head.add(head_name, head_signature)
        tail.add(tail_name, tail_signature or (-relation.number,), is_value=is_value)


def refresh_end_kinds(gateway: Gateway) -> None:
    """Find the kinds at the ends of all relations and write them into the catalogue."""
    kinds = [
        {
            "name": name,
            **{f"head_{key}": value for key, value in _make_row(head).items()},
            **{f"tail_{key}": value for key, value in _make_row(tail).items()},
        }
        for name, (head, tail) in find_end_kinds(gateway).items()
    ]
    gateway.run(Request(template("set_relation_kinds"), {"kinds": kinds}, lambda _: None))


def _make_row(end: EndKind) -> dict[str, object]:
    return {"kind": end.kind, "share": end.share, "words": list(end.words)}


def _rows(name: str, names: dict[str, str] | None = None, **params: object) -> Request[Sequence[Row]]:
    return Request(template(name), params, lambda rows: rows, names or {})


AT_A_TIME = 10_000
"""Texts whose vectors are fetched together; `TextVectors` holds more."""


class RelationIndex:
    """Nearest relations by cosine: that of a relation is its words', or its best phrase's.

    `vectors` keeps what it encodes from run to run.
    """

    def __init__(self, relations: Sequence[RelationInfo], vectors: TextVectors) -> None:
        self.relations = tuple(relations)
        texts = [_texts_of(relation) for relation in relations]
        self._starts = np.cumsum([0, *map(len, texts)], dtype=np.int64)[:-1]
        rows = [text for some in texts for text in some]
        parts = [vectors.stack(rows[at : at + AT_A_TIME], lasting=True) for at in range(0, len(rows), AT_A_TIME)]
        self._rows = np.concatenate(parts) if parts else np.zeros((0, vectors.encoder.dimension), dtype=np.float32)
        self._numbers = np.array([relation.number for relation in relations], dtype=np.int64)

    def search(self, vectors: FloatArray, top_k: int) -> list[list[Scored[RelationInfo]]]:
        """Return for each vector, (num_queries, dimension), the `top_k` nearest relations with their cosines.

        Ties are broken by the relation's number.
        """
        if not self.relations or not len(vectors):
            return [[] for _ in vectors]
        best = np.maximum.reduceat(vectors @ self._rows.T, self._starts, axis=1)
        order = [np.lexsort((self._numbers, -line))[: max(top_k, 0)].tolist() for line in best]
        return [
            [Scored(self.relations[place], float(line[place])) for place in places]
            for line, places in zip(best, order, strict=True)
        ]

    def nearest(self, vectors: FloatArray, top_k: int) -> list[frozenset[str]]:
        """Return for each vector the names of the `top_k` nearest relations."""
        return [frozenset(each.value.name for each in found) for found in self.search(vectors, top_k)]

    def vectors(self) -> FloatArray:
        """Return the vectors of the relations' own words, (num_relations, dimension), in the order of `relations`."""
        return self._rows[self._starts]


def _texts_of(relation: RelationInfo) -> list[str]:
    meaning = words_of_relation(relation).meaning
    return [relation_embedding_text(relation), *dict.fromkeys((*meaning.forward, *meaning.inverse))]
