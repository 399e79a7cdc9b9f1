"""Turn relations into words, and search them by their vectors.

Every scorer, index and training file takes the words of a relation from here. Those of a path are put together in
`models/text/__init__.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from ...models.text import (
    RelationMeaning,
    RelationWords,
    join_without_repeats,
)
from ...models.text.encoders import FloatArray
from ...models.text.vectors import TextVectors
from ..neo4j.catalogue import LABEL_SEPARATOR, Phrase, RelationInfo, phrases_of, type_words
from ..values import Scored

Ints = npt.NDArray[np.int64]

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


AT_A_TIME = 10_000
"""Texts whose vectors are fetched together; `TextVectors` holds more."""


SHORTLIST_FROM = 300
"""Relations that lead on from a question's paths from which on only the nearest ones are scored."""
SHORTLIST = 150
"""Relations that are scored then."""
APPROXIMATE_FROM = 100_000
"""Texts of relations from which on a search visits one in `PROBED_SHARE` of the index's cells."""
PROBED_SHARE = 8


class RelationIndex:
    """Nearest relations by cosine: that of a relation is its words', or its best phrase's.

    FAISS ranks them, exactly or, from `approximate_from` texts, in cells (IVF); on a GPU if `gpu` and the FAISS that is
    installed allow it. Without FAISS NumPy does. `vectors` keeps what it encodes from run to run, checked by checksum
    and dimension.
    """

    def __init__(
        self,
        relations: Sequence[RelationInfo],
        vectors: TextVectors,
        *,
        gpu: bool = False,
        approximate_from: int = APPROXIMATE_FROM,
    ) -> None:
        self.relations = tuple(relations)
        self.num_searches = 0
        texts = [_texts_of(relation) for relation in relations]
        self._starts = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        self._relation_of = np.repeat(np.arange(len(texts)), np.diff(self._starts))
        self._places = {relation.number: place for place, relation in enumerate(relations)}
        rows = [text for some in texts for text in some]
        parts = [vectors.stack(rows[at : at + AT_A_TIME], lasting=True) for at in range(0, len(rows), AT_A_TIME)]
        self._rows = np.concatenate(parts) if parts else np.zeros((0, vectors.encoder.dimension), dtype=np.float32)
        self._search_rows = row_search(self._rows, gpu=gpu, approximate=len(rows) >= approximate_from)

    def search(self, vectors: FloatArray, top_k: int) -> list[list[Scored[RelationInfo]]]:
        """Return for each vector, (num_queries, dimension), the `top_k` nearest relations with their cosines.

        Ties among them are ordered by the relation's number.
        """
        wanted = min(max(top_k, 0), len(self.relations))
        num_rows = min(2 * wanted, len(self._rows))
        if not wanted or not len(vectors):
            return [[] for _ in vectors]
        while True:
            self.num_searches += 1
            cosines, rows = self._search_rows(vectors, num_rows)
            best = [self._best_of_relations(*each) for each in zip(cosines, rows, strict=True)]
            if num_rows == len(self._rows) or min(map(len, best)) >= wanted:
                return [[Scored(self.relations[place], cosine) for place, cosine in some[:wanted]] for some in best]
            num_rows = min(2 * num_rows, len(self._rows))

    def nearest(self, vectors: FloatArray, top_k: int) -> list[frozenset[str]]:
        """Return for each vector the names of the `top_k` nearest relations."""
        return [frozenset(each.value.name for each in found) for found in self.search(vectors, top_k)]

    def shortlist(self, vector: FloatArray, numbers: Collection[int]) -> frozenset[int]:
        """Return which of these signed catalogue numbers are of the `SHORTLIST` nearest relations among them."""
        known = sorted({self._places[abs(number)] for number in numbers})
        self.num_searches += 1
        rows = np.concatenate([np.arange(self._starts[place], self._starts[place + 1]) for place in known])
        (cosines,), (near,) = row_search(self._rows[rows])(vector[None], len(rows))
        best = self._best_of_relations(cosines, rows[near])
        kept = {self.relations[place].number for place, _ in best[:SHORTLIST]}
        return frozenset(number for number in numbers if abs(number) in kept)

    def vectors(self) -> FloatArray:
        """Return the vectors of the relations' own words, (num_relations, dimension), in the order of `relations`."""
        return self._rows[self._starts[:-1]]

    def _best_of_relations(self, cosines: FloatArray, rows: Ints) -> list[tuple[int, float]]:
        best: dict[int, float] = {}
        for place, cosine in zip(self._relation_of[rows[rows >= 0]].tolist(), cosines.tolist(), strict=False):
            best.setdefault(place, cosine)
        return sorted(best.items(), key=lambda each: (-each[1], self.relations[each[0]].number))


RowSearch = Callable[[FloatArray, int], tuple[FloatArray, Ints]]
"""Returns for each query, (num_queries, dimension), cosines and places of so many rows, the nearest first."""


def row_search(rows: FloatArray, *, gpu: bool = False, approximate: bool = False) -> RowSearch:
    """Return what searches unit vectors, (num_rows, dimension)."""
    if find_spec("faiss") is None:
        return partial(_search_by_numpy, rows)
    import faiss

    on_gpu = gpu and hasattr(faiss, "StandardGpuResources") and faiss.get_num_gpus() > 0
    if not approximate:
        if on_gpu:
            resources = faiss.StandardGpuResources()
            return lambda queries, top_k: faiss.knn_gpu(
                resources, queries, rows, top_k, metric=faiss.METRIC_INNER_PRODUCT
            )
        return lambda queries, top_k: faiss.knn(queries, rows, top_k, faiss.METRIC_INNER_PRODUCT)
    num_cells = max(1, int(len(rows) ** 0.5))
    index: Any = faiss.index_factory(rows.shape[1], f"IVF{num_cells},Flat", faiss.METRIC_INNER_PRODUCT)
    index.train(rows)
    index.add(rows)
    index.nprobe = max(1, num_cells // PROBED_SHARE)
    return faiss.index_cpu_to_all_gpus(index).search if on_gpu else index.search


def _search_by_numpy(rows: FloatArray, queries: FloatArray, top_k: int) -> tuple[FloatArray, Ints]:
    cosines = queries @ rows.T
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :top_k]
    return np.take_along_axis(cosines, order, axis=1), order


def _texts_of(relation: RelationInfo) -> list[str]:
    words = words_of_relation(relation)
    own = join_without_repeats((words.domain, *words.properties, type_words(relation.range)))
    return [own, *dict.fromkeys((*words.meaning.forward, *words.meaning.inverse))]
