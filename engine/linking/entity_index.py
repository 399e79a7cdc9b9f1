"""Search entities by the vectors of their names.

The folder holds ``entities.faiss``, ``entities.arrow`` (per row an entity's id) and ``entities.json`` (encoder, edition
of the graph, SHA-256 of both). The vectors of names are kept with those of other texts (`SqliteVectorStore`), so that
a build after an interruption or a change encodes only what is new.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...models.atomic_files import atomic_write, compute_file_sha256, make_private_folder
from ...models.placement import count_call
from ...models.text.encoders import FloatArray, SentenceEncoder
from ...models.text.vectors import TextVectors
from ..data_model import Entity
from ..file_access import lock_file, translate_storage_errors
from ..neo4j import Request, load_query
from ..neo4j.catalogue import (
    Edition,
    RelationCatalogue,
    read_catalogue,
    read_graph_edition,
    read_graph_state,
    verbalise_type,
)
from ..neo4j.gateway import Gateway
from ..progress import Progress, ignore_progress
from ..settings import Connection, Settings

if TYPE_CHECKING:
    import faiss
    import pyarrow as pa

    from ..resources import GraphResources

MAX_KINDS = 2
MAX_NAME_CHARS = 200


class EntityTypesFromRelations:
    """Types of entities, from the domains and ranges of their relations in the catalogue."""

    def __init__(self, catalogue: RelationCatalogue) -> None:
        self._of: Mapping[int, str] = {
            **{relation.number: verbalise_type(relation.domain) for relation in catalogue.relations},
            **{-relation.number: verbalise_type(relation.range) for relation in catalogue.relations},
        }

    def of(self, relations: Sequence[int], most: int = MAX_KINDS) -> tuple[str, ...]:
        """Return the types of an entity, by the number of its relations with that type, then by name.

        relations: catalogue numbers of the relations that leave (n) and enter (-n) the entity.
        """
        found = Counter(kind for number in relations if (kind := self._of.get(number)))
        return tuple(sorted(found, key=lambda kind: (-found[kind], kind))[:most])


def _entity_text(entity: Entity, kinds: Sequence[str]) -> str:
    return ", ".join((entity.label[:MAX_NAME_CHARS], *kinds))


MAX_SPAN = 4
"""Longest span, in words."""
MAX_SPANS = 64
"""Most spans of a question."""


@dataclass(frozen=True, slots=True)
class _NearEntity:
    """An entity near a span of words, from token `start` to before token `end`."""

    id: str
    start: int
    end: int
    cosine: float


NEAREST, LEAST_COSINE = 5, 0.6


class NearestEntitySearch:
    """Search spans of words in an entity index: `NEAREST` entities for each, of at least `LEAST_COSINE`."""

    def __init__(self, index: EntityIndex, vectors: TextVectors) -> None:
        self._index, self._vectors = index, vectors

    def find_nearest(self, words: Sequence[str], is_content: Sequence[bool]) -> list[_NearEntity]:
        """Return the entities near any span that begins and ends with a content word, each with its nearest span, by
        descending cosine, then by id.
        """
        spans = [
            (start, end)
            for size in range(1, MAX_SPAN + 1)
            for start in range(len(words) - size + 1)
            if is_content[start] and is_content[(end := start + size) - 1]
        ][:MAX_SPANS]
        if not spans:
            return []
        texts = [" ".join(words[start:end]) for start, end in spans]
        self._vectors.encode(texts)
        found = self._index.search(np.stack([self._vectors.sentence(text) for text in texts]), NEAREST)
        best: dict[str, _NearEntity] = {}
        for (start, end), some in zip(spans, found, strict=True):
            for id_, cosine in some:
                if cosine >= LEAST_COSINE and (id_ not in best or cosine > best[id_].cosine):
                    best[id_] = _NearEntity(id_, start, end, min(1.0, cosine))
        return sorted(best.values(), key=lambda each: (-each.cosine, each.id))


FORMAT = 2
LEAST_PROBES, PROBED_SHARE = 64, 32
"""Cells that a search visits: at least LEAST_PROBES, or one in PROBED_SHARE of all."""

DESCRIPTION, VECTORS, ROWS = "entities.json", "entities.faiss", "entities.arrow"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _EntityIndexMeta:
    encoder: str
    edition: Edition
    num_entities: int
    vectors_sha256: str
    rows_sha256: str


class EntityIndex:
    """Entities whose text is near a mention by cosine. `open_entity_index` opens one."""

    def __init__(self, index: faiss.Index, rows: pa.Table, meta: _EntityIndexMeta) -> None:
        self.index = index
        self.rows = rows
        self.meta = meta

    def search(self, vectors: FloatArray, top_k: int) -> list[list[tuple[str, float]]]:
        """Return for each vector, (num_mentions, dimension), the ids and cosines of the `top_k` nearest entities."""
        if not len(vectors) or not self.rows.num_rows:
            return [[] for _ in vectors]
        count_call("searches")
        scores, places = self.index.search(vectors, min(top_k, self.rows.num_rows))
        ids = self.rows["id"]
        return [
            [(ids[place].as_py(), float(score)) for score, place in zip(line, some.tolist(), strict=True) if place >= 0]
            for line, some in zip(scores, places, strict=True)
        ]


def get_entity_index_folder(settings: Settings, connection: Connection) -> Path:
    key = hashlib.sha256(f"{connection.uri}\n{connection.database}".encode())
    return settings.home_dir / "indexes" / key.hexdigest()[:16]


def open_entity_index(graph: GraphResources) -> EntityIndex | None:
    """Return a graph's index, memory-mapped; None if there is none, or if another encoder made it.

    An index older than the graph's last load is used with a warning. Entities that have since left the graph are
    dropped; new entities are not in it.
    """
    folder = get_entity_index_folder(graph.shared.settings, graph.shared.connection)
    if not (folder / DESCRIPTION).exists():
        return None
    index = read_entity_index(folder, graph.shared.vectors.encoder)
    if index is not None and graph.edition is not None and graph.edition[:4] != index.meta.edition[:4]:
        _log.warning(
            "the graph has changed since its entity index was made: new entities are found by their words alone; "
            "`lodestar db index` adds it"
        )
    return index


def read_index_description(folder: Path) -> _EntityIndexMeta | None:
    """Return the description of the folder's index; None if there is none or its format is unknown."""
    try:
        content = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        if content.pop("format") != FORMAT:
            return None
        content["edition"] = tuple(content["edition"])
        return _EntityIndexMeta(**content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def read_entity_index(folder: Path, encoder: SentenceEncoder) -> EntityIndex | None:
    """Return the index of a folder; None if there is none, if it is of another encoder, or if it is damaged.

    Every file is checked against the hash in the description.
    """
    import faiss

    meta = read_index_description(folder)
    try:
        if meta is None:
            raise ValueError("cannot be read")
        if meta.encoder != encoder.revision:
            raise ValueError(f"was made by the encoder {meta.encoder}, not {encoder.revision},")
        index, rows = _read_files(folder, meta, encoder.dimension)
    except (OSError, RuntimeError, ValueError) as error:
        reason = error if type(error) is ValueError else "cannot be read"
        _log.warning("the entity index in %s %s and is not used: run `lodestar db index`", folder, reason)
        return None
    if isinstance(index, faiss.IndexIVF):
        index.nprobe = min(index.nlist, max(LEAST_PROBES, index.nlist // PROBED_SHARE))
    return EntityIndex(index, rows, meta)


def _read_files(folder: Path, meta: _EntityIndexMeta, dimension: int) -> tuple[faiss.Index, pa.Table]:
    import pyarrow as pa

    hashes = {VECTORS: meta.vectors_sha256, ROWS: meta.rows_sha256}
    if any(compute_file_sha256(folder / name) != sha256 for name, sha256 in hashes.items()):
        raise ValueError("is damaged")
    index = _map_index(folder / VECTORS)
    with pa.memory_map(str(folder / ROWS)) as source:
        rows = pa.ipc.open_file(source).read_all()
    if rows.column_names != ["id"] or index.ntotal != rows.num_rows or index.d != dimension:
        raise ValueError("has files that do not fit together")
    return index, rows


def _map_index(path: Path) -> faiss.Index:
    """Return a FAISS index that stays on disk and is read during a search."""
    import faiss

    try:
        return faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError:  # an index with cells needs the older flag
        return faiss.read_index(str(path), faiss.IO_FLAG_MMAP)


BATCH = 4_096
FLAT_TO = 100_000
"""Largest index that compares every vector; larger ones have cells (IVF)."""
TRAINED_ON = 40
"""Training vectors for each cell."""


@dataclass(frozen=True, slots=True)
class EntityIndexReport:
    """The number of entities in an index, of texts encoded for it, and its bytes on disk."""

    num_entities: int
    num_encoded: int
    num_bytes: int


def _build_entity_index(
    folder: Path,
    ids: Sequence[str],
    texts: Sequence[str],
    edition: Edition,
    vectors: TextVectors,
    *,
    progress: Progress = ignore_progress,
) -> EntityIndexReport:
    """Build the index of these entities, (num_entities,), in `folder`, in place of the old one.

    An interrupted build leaves the old index unchanged. Raises `OSError` if the folder cannot be written.
    """
    import faiss

    before, dimension = vectors.num_encoded, vectors.encoder.dimension
    index: faiss.Index
    if len(ids) <= FLAT_TO:
        index = faiss.IndexScalarQuantizer(dimension, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
        num_trained = len(ids)
    else:
        cells = int(4 * len(ids) ** 0.5)
        index = faiss.index_factory(dimension, f"IVF{cells},SQ8", faiss.METRIC_INNER_PRODUCT)
        num_trained = min(len(ids), TRAINED_ON * cells)
    chosen: list[int] = np.sort(np.random.default_rng(0).choice(len(ids), num_trained, replace=False)).tolist()
    if chosen:
        index.train(np.concatenate(list(_stack(vectors, [texts[place] for place in chosen], progress, "encoding"))))
    for some in _stack(vectors, texts, progress, "indexing"):
        index.add(some)
    _write_index(folder, index, ids, edition, vectors.encoder.revision)
    num_bytes = sum((folder / name).stat().st_size for name in (VECTORS, ROWS))
    return EntityIndexReport(len(ids), vectors.num_encoded - before, num_bytes)


def _stack(vectors: TextVectors, texts: Sequence[str], progress: Progress, doing: str) -> Iterator[FloatArray]:
    for start in range(0, len(texts), BATCH):
        yield vectors.stack(texts[start : start + BATCH], lasting=True)
        progress(doing, min(start + BATCH, len(texts)), len(texts))


def _write_index(folder: Path, index: faiss.Index, ids: Sequence[str], edition: Edition, revision: str) -> None:
    """Write the three files, the description last: until then the old description does not match the others."""
    import faiss
    import pyarrow as pa

    with (
        atomic_write(folder / DESCRIPTION) as description,
        atomic_write(folder / ROWS) as rows,
        atomic_write(folder / VECTORS) as vectors,
    ):
        faiss.write_index(index, str(vectors))
        table = pa.table({"id": pa.array(ids, pa.large_string())})
        with pa.OSFile(str(rows), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        meta = _EntityIndexMeta(revision, edition, len(ids), compute_file_sha256(vectors), compute_file_sha256(rows))
        content = json.dumps({"format": FORMAT, **asdict(meta)}, indent=2) + "\n"
        description.write_text(content, encoding="utf-8")


PAGE = 10_000


def index_entities(
    gateway: Gateway,
    folder: Path,
    vectors: TextVectors,
    *,
    progress: Progress = ignore_progress,
) -> EntityIndexReport:
    """Build or update the entity index of a graph.

    After an interruption the next call continues. Raises `GraphError` for an empty graph, `StorageError` if the folder
    cannot be written.
    """
    state = gateway.run(read_graph_state())
    if state.is_empty:
        state.check()
    edition = gateway.run(read_graph_edition())
    kinds = EntityTypesFromRelations(gateway.run(read_catalogue()))

    ids: list[str] = []
    texts: list[str] = []
    while page := gateway.run(_read_kinds(ids[-1] if ids else "")):
        ids += (entity.id for entity, _ in page)
        texts += (_entity_text(entity, kinds.of(signature)) for entity, signature in page)
        progress("reading", len(ids), max(state.num_entities, len(ids)))
    with translate_storage_errors(folder):
        make_private_folder(folder)
        with lock_file(folder / ".entities.lock", f"another process writes the entity index in {folder}"):
            return _build_entity_index(folder, ids, texts, edition, vectors, progress=progress)


def _read_kinds(after: str) -> Request[list[tuple[Entity, tuple[int, ...]]]]:
    return Request(
        load_query("read_entity_kinds"),
        {"after": after, "limit": PAGE},
        lambda rows: [(Entity(id_, name), tuple(signature)) for id_, name, signature in rows],
    )
