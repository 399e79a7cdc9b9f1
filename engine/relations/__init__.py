"""Turn relations into words, search them by their vectors, and find what kinds of things stand at their ends.

Every scorer, index and training file takes the words of a relation from here. Those of a path are put together in
`models/text/__init__.py`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...models.placement import count_call
from ...models.text import (
    RelationPhrases,
    RelationWords,
    join_without_repeats,
)
from ...models.wording import translate_label
from ...models.wording.answer_kinds import NO_KIND, RelationEndProfile, RelationEndSample, classify_relation_ends
from ..data_model import Scored
from ..neo4j import Request, Row, load_query
from ..neo4j.catalogue import (
    LABEL_SEPARATOR,
    RelationInfo,
    RelationPhrase,
    list_relation_phrases,
    read_catalogue,
    verbalise_type,
)

if TYPE_CHECKING:
    from ...models.text.vectors import TextVectors
    from ..neo4j.gateway import Gateway

FloatArray = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

MAX_PHRASES = 40
"""Of a relation and direction, the best trusted first, that scorers read."""


def collect_relation_words(
    relation: RelationInfo, choose: Callable[[RelationPhrase], bool] = lambda _phrase: True
) -> RelationWords:
    """Return the words of a relation: its label's parts, the type of its domain, and what people ask for it by.

    choose: which of its phrases are used.
    """
    labels = tuple(relation.label.split(LABEL_SEPARATOR))
    phrases = [phrase for phrase in list_relation_phrases(relation) if choose(phrase)]
    forward, inverse = (
        tuple(dict.fromkeys(p.text for p in phrases if p.inverse == way))[:MAX_PHRASES] for way in (False, True)
    )
    return RelationWords(
        verbalise_type(relation.domain), labels, RelationPhrases(forward, inverse, relation.head, relation.tail)
    )


def make_words_by_relation(relations: Sequence[RelationInfo]) -> dict[str, RelationWords]:
    """Return the words of each relation of a graph, by name.

    General English for "type" is not used where it names a type of the graph: "which category" means Category there.
    """
    types = frozenset(verbalise_type(type_) for relation in relations for type_ in (relation.domain, relation.range))

    def is_said(phrase: RelationPhrase) -> bool:
        return phrase.origin != "lexicon" or types.isdisjoint(phrase.text.split())

    found = {relation.name: collect_relation_words(relation) for relation in relations}
    return found | {r.name: collect_relation_words(r, is_said) for r in relations if found[r.name].is_type}


AT_A_TIME = 10_000
"""Texts whose vectors are fetched together; `TextVectors` holds more."""


SHORTLIST_FROM = 300
"""Relations that lead on from a question's paths from which on only the nearest ones are scored."""
SHORTLIST = 150
"""Relations that are scored then."""
APPROXIMATE_FROM = 100_000
"""Texts of relations from which on a search visits one in `PROBED_SHARE` of the index's cells."""
PROBED_SHARE = 8
MOST_ON_GPU = 2_048
"""Rows that FAISS on a GPU finds at most for a query."""


class RelationIndex:
    """Nearest relations by cosine: that of a relation is its words', or its best phrase's.

    FAISS ranks them, exactly or, from `approximate_from` texts, in cells (IVF); on a GPU if `gpu` and the FAISS that is
    installed allow it, but a shortlist exactly there. Without FAISS NumPy does. `vectors` keeps what it encodes from
    run to run, checked by checksum and dimension.
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
        texts = [_texts_of(relation) for relation in relations]
        self._starts = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        self._relation_of = np.repeat(np.arange(len(texts)), np.diff(self._starts))
        self._places = {relation.number: place for place, relation in enumerate(relations)}
        rows = [text for some in texts for text in some]
        parts = [vectors.stack(rows[at : at + AT_A_TIME], lasting=True) for at in range(0, len(rows), AT_A_TIME)]
        self._rows = np.concatenate(parts) if parts else np.zeros((0, vectors.encoder.dimension), dtype=np.float32)
        self._search_rows = make_vector_search(self._rows, gpu=gpu, approximate=len(rows) >= approximate_from)

    def search(
        self, vectors: FloatArray, top_k: int, among: Collection[int] | None = None
    ) -> list[list[Scored[RelationInfo]]]:
        """Return for each vector, (num_queries, dimension), the `top_k` nearest relations with their cosines.

        Ties among them are ordered by the relation's number. among: signed catalogue numbers of those that are ranked.
        """
        places = range(len(self.relations)) if among is None else sorted({self._places[abs(n)] for n in among})
        wanted = min(max(top_k, 0), len(places))
        if not wanted or not len(vectors):
            return [[] for _ in vectors]
        within = None if among is None else np.concatenate([np.arange(*self._starts[p : p + 2]) for p in places])
        most = len(self._rows if within is None else within)
        num_rows = 2 * wanted * most // len(places)  # of twice as many relations, on average
        while True:
            num_rows = min(num_rows, most)
            cosines, rows = self._search_rows(vectors, num_rows, within)
            best = [self._best_of_relations(*each) for each in zip(cosines, rows, strict=True)]
            if num_rows == most or min(map(len, best)) >= wanted:
                return [[Scored(self.relations[place], cosine) for place, cosine in some[:wanted]] for some in best]
            num_rows *= 2

    def nearest(self, vectors: FloatArray, top_k: int) -> list[frozenset[str]]:
        """Return for each vector the names of the `top_k` nearest relations."""
        return [frozenset(each.value.name for each in found) for found in self.search(vectors, top_k)]

    def shortlist(self, vector: FloatArray, numbers: Collection[int]) -> frozenset[int]:
        """Return which of these signed catalogue numbers are of the `SHORTLIST` nearest relations among them."""
        kept = {each.value.number for each in self.search(vector[None], SHORTLIST, numbers)[0]}
        return frozenset(number for number in numbers if abs(number) in kept)

    def vectors(self) -> FloatArray:
        """Return the vectors of the relations' own words, (num_relations, dimension), in the order of `relations`."""
        return self._rows[self._starts[:-1]]

    def _best_of_relations(self, cosines: FloatArray, rows: Ints) -> list[tuple[int, float]]:
        best: dict[int, float] = {}
        for place, cosine in zip(self._relation_of[rows[rows >= 0]].tolist(), cosines.tolist(), strict=False):
            best.setdefault(place, cosine)
        return sorted(best.items(), key=lambda each: (-each[1], self.relations[each[0]].number))


RowSearch = Callable[..., tuple[FloatArray, Ints]]
"""Returns for each query, (num_queries, dimension), cosines and places of so many rows, the nearest first; given rows
`within` as well, of these alone.
"""


def make_vector_search(rows: FloatArray, *, gpu: bool = False, approximate: bool = False) -> RowSearch:
    """Return what searches unit vectors, (num_rows, dimension); searches of FAISS are counted."""
    if find_spec("faiss") is None:
        return partial(_search_by_numpy, rows)
    import faiss

    on_gpu = gpu and hasattr(faiss, "StandardGpuResources") and faiss.get_num_gpus() > 0
    resources: Any = faiss.StandardGpuResources() if on_gpu else None
    turn = Lock()  # threads cannot share them

    def search_exactly(queries: FloatArray, top_k: int, within: Ints | None = None) -> tuple[FloatArray, Ints]:
        count_call("searches")
        among = rows if within is None else rows[within]
        if on_gpu and top_k <= MOST_ON_GPU:
            with turn:
                cosines, places = faiss.knn_gpu(resources, queries, among, top_k, metric=faiss.METRIC_INNER_PRODUCT)
        else:
            cosines, places = faiss.knn(queries, among, top_k, faiss.METRIC_INNER_PRODUCT)
        return cosines, places if within is None else within[places]

    if not approximate:
        return search_exactly
    num_cells = max(1, int(len(rows) ** 0.5))
    index: Any = faiss.index_factory(rows.shape[1], f"IVF{num_cells},Flat", faiss.METRIC_INNER_PRODUCT)
    index.train(rows)
    index.add(rows)
    index.nprobe = max(1, num_cells // PROBED_SHARE)
    whole = faiss.index_cpu_to_all_gpus(index) if on_gpu else index

    def search_cells(queries: FloatArray, top_k: int, within: Ints | None = None) -> tuple[FloatArray, Ints]:
        if within is not None and on_gpu:  # cells on a GPU take no selection
            return search_exactly(queries, top_k, within)
        count_call("searches")
        if within is None:
            return (whole if top_k <= MOST_ON_GPU else index).search(queries, top_k)
        chosen = faiss.SearchParametersIVF(sel=faiss.IDSelectorBatch(within), nprobe=index.nprobe)  # type: ignore[call-arg]
        found = index.search(queries, top_k, params=chosen)
        return search_exactly(queries, top_k, within) if (found[1] < 0).any() else found  # the cells have fewer

    return search_cells


def _search_by_numpy(
    rows: FloatArray, queries: FloatArray, top_k: int, within: Ints | None = None
) -> tuple[FloatArray, Ints]:
    cosines = queries @ (rows if within is None else rows[within]).T
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :top_k]
    return np.take_along_axis(cosines, order, axis=1), order if within is None else within[order]


def _texts_of(relation: RelationInfo) -> list[str]:
    words = collect_relation_words(relation)
    own = join_without_repeats((words.domain, *words.properties, verbalise_type(relation.range)))
    return [own, *dict.fromkeys((*words.meaning.forward, *words.meaning.inverse))]


# What kinds of things stand at the ends of relations, from the graph alone: one pass over a bounded sample of entities
# and literals, then, where these are not all, a bounded number of the relations that the sample rarely contains, one by
# one; of what is added to a graph, only the new relations. Samples are the first by id, so that the same graph has the
# same kinds; of a relation with more than `AMONG` triples they are the first written.

NUM_ENTITIES = 16_000
"""A smaller graph is read whole: each relation looked at by itself is a query to plan, 0.4 s in a cold server."""
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


def _find_end_kinds(
    gateway: Gateway, names: Collection[str] | None = None
) -> dict[str, tuple[RelationEndProfile, RelationEndProfile]]:
    """Return the kinds at head and tail of each relation, by name; of those named, where there are names."""
    relations = gateway.run(read_catalogue()).relations
    ends: defaultdict[int, _End] = defaultdict(_End)
    is_whole = False if names is not None else _sample(gateway, relations, ends)
    wanted = [r for r in relations if names is None or r.name in names]
    rare = [r for r in wanted if min(len(ends[r.number].names), len(ends[-r.number].names)) < min(ENOUGH, r.count)]
    looked_at = [] if is_whole else sorted(rare, key=lambda r: (-r.count, r.number))[:ONE_BY_ONE]
    for relation, rows in zip(looked_at, gateway.run_all([*map(_sample_of, looked_at)]), strict=True):
        head, tail = ends[relation.number], ends[-relation.number] = _End(), _End()
        for head_name, head_signature, tail_name, tail_signature, is_value in rows:
            head.add(head_name, head_signature)
            tail.add(tail_name, tail_signature or (-relation.number,), is_value=is_value)
    own = {r.number: r.label.rpartition(LABEL_SEPARATOR)[2].replace("_", " ") for r in relations}
    labels = {number: translate_label(label) or label for number, label in own.items()}
    types = {r.number: verbalise_type(r.domain) for r in relations} | {
        -r.number: verbalise_type(r.range) for r in relations
    }
    samples = {  # of the relations that were there: another writer may have added some since
        end: RelationEndSample(
            tuple(each.names),
            each.num_values,
            {other: times for other, times in each.others.items() if abs(other) in labels},
        )
        for end, each in ends.items()
        if each.names and abs(end) in labels
    }
    found = classify_relation_ends(samples, labels, types)
    return {r.name: (found.get(r.number, NO_KIND), found.get(-r.number, NO_KIND)) for r in wanted}


def _sample(gateway: Gateway, relations: Sequence[RelationInfo], ends: defaultdict[int, _End]) -> bool:
    numbers = {relation.name: relation.number for relation in relations}
    entities = gateway.run(_rows("sample_entities", limit=NUM_ENTITIES, max_relations=MAX_RELATIONS))
    for name, signature in entities:
        for number in signature:
            ends[number].add(name, signature)
    literals = gateway.run(_rows("sample_literals", limit=NUM_LITERALS, per_literal=RELATIONS_PER_LITERAL, among=AMONG))
    for value, relation in literals:
        if relation in numbers:
            ends[-numbers[relation]].add(value, (-numbers[relation],), is_value=True)
    return len(entities) < NUM_ENTITIES and len(literals) < NUM_LITERALS


def _sample_of(relation: RelationInfo) -> Request[Sequence[Row]]:
    params = {"limit": PER_END, "max_relations": MAX_RELATIONS, "among": AMONG}
    return _rows("sample_relation", {"RELATION": relation.stored_as or relation.name}, relation=relation.name, **params)


def refresh_end_kinds(gateway: Gateway, names: Collection[str] | None = None) -> None:
    """Find the kinds at the ends of all relations, or of those named, and write them into the catalogue."""
    if names is not None and not names:
        return
    kinds = [
        {"name": name}
        | {
            f"{end}_{key}": value
            for end, kind in zip(("head", "tail"), ends, strict=True)
            for key, value in asdict(kind).items()
        }
        for name, ends in _find_end_kinds(gateway, names).items()
    ]
    gateway.run(Request(load_query("set_relation_kinds"), {"kinds": kinds}, lambda _: None))


def _rows(name: str, names: dict[str, str] | None = None, **params: object) -> Request[Sequence[Row]]:
    return Request(load_query(name), params, lambda rows: rows, names or {})
