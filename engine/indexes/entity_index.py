"""Search entities by the vectors of their names.

The folder holds ``entities.faiss``, ``entities.arrow`` (per row an entity's id and a hash of its text) and
``entities.json`` (encoder, edition of the graph, SHA-256 of both).
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...models.text.encoders import EncoderUnavailableError, FloatArray, SentenceEncoder
from ...models.text.vectors import TextVectors
from ...models.whole_file import atomic_write, file_sha256
from ..errors import EncoderError, UsageError
from ..neo4j.catalogue import Catalogue, Edition, read_catalogue, read_graph_revision, read_graph_state
from ..neo4j.connection import Connection
from ..neo4j.gateway import Gateway
from ..neo4j.templates import Request, template
from ..progress import Progress, ignore_progress
from ..relations.words import type_words
from ..settings import Settings
from ..values import Entity
from ..whole_file import lock_file, translate_storage_errors

if TYPE_CHECKING:
    import faiss
    import pyarrow as pa


MAX_KINDS = 2
MAX_NAME_CHARS = 200


class EntityTypes:
    """Types of entities, from the domains and ranges of their relations in the catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._of: Mapping[int, str] = {
            **{relation.number: type_words(relation.domain) for relation in catalogue.relations},
            **{-relation.number: type_words(relation.range) for relation in catalogue.relations},
        }

    def of(self, relations: Sequence[int], most: int = MAX_KINDS) -> tuple[str, ...]:
        """Return the types of an entity, by the number of its relations with that type, then by name.

        relations: catalogue numbers of the relations that leave (n) and enter (-n) the entity.
        """
        found = Counter(kind for number in relations if (kind := self._of.get(number)))
        return tuple(sorted(found, key=lambda kind: (-found[kind], kind))[:most])


def entity_text(entity: Entity, kinds: Sequence[str]) -> str:
    """Return the text of an entity: its name, then its types."""
    return ", ".join((entity.label[:MAX_NAME_CHARS], *kinds))


MAX_SPAN = 4
"""Longest span, in words."""
MAX_SPANS = 64
"""Most spans of a question."""


@dataclass(frozen=True, slots=True)
class NearEntity:
    """An entity near a span of words, from token `start` to before token `end`."""

    id: str
    start: int
    end: int
    cosine: float


class NearestEntitySearch:
    """Search spans of words in an entity index: `top_k` entities for each, with a cosine of at least `least`."""

    def __init__(self, index: EntityIndex, vectors: TextVectors, *, top_k: int = 5, least: float = 0.6) -> None:
        self._index, self._vectors = index, vectors
        self._top_k, self._least = top_k, least

    def find_nearest(self, words: Sequence[str], is_content: Sequence[bool]) -> list[NearEntity]:
        """Return the entities near any span that begins and ends with a content word, each with its nearest span, by
        descending cosine, then by id.
        """
        import numpy as np

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
        found = self._index.search(np.stack([self._vectors.sentence(text) for text in texts]), self._top_k)
        best: dict[str, NearEntity] = {}
        for (start, end), some in zip(spans, found, strict=True):
            for id_, cosine in some:
                if cosine >= self._least and (id_ not in best or cosine > best[id_].cosine):
                    best[id_] = NearEntity(id_, start, end, min(1.0, cosine))
        return sorted(best.values(), key=lambda each: (-each.cosine, each.id))


FORMAT = 1
LEAST_PROBES, PROBED_SHARE = 64, 32
"""Cells that a search visits: at least LEAST_PROBES, or one in PROBED_SHARE of all."""

DESCRIPTION, VECTORS, ROWS = "entities.json", "entities.faiss", "entities.arrow"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EntityIndexMeta:
    """The content of ``entities.json``."""

    encoder: str
    edition: Edition
    num_entities: int
    vectors_sha256: str
    rows_sha256: str


class EntityIndex:
    """Entities whose text is near a mention by cosine. `open_entity_index` opens one."""

    def __init__(self, index: faiss.Index, rows: pa.Table, meta: EntityIndexMeta) -> None:
        self.index = index
        self.rows = rows
        self.meta = meta

    def search(self, vectors: FloatArray, top_k: int) -> list[list[tuple[str, float]]]:
        """Return for each vector, (num_mentions, dimension), the ids and cosines of the `top_k` nearest entities."""
        if not len(vectors) or not self.rows.num_rows:
            return [[] for _ in vectors]
        scores, places = self.index.search(vectors, min(top_k, self.rows.num_rows))
        ids = self.rows["id"]
        return [
            [(ids[place].as_py(), float(score)) for score, place in zip(line, some.tolist(), strict=True) if place >= 0]
            for line, some in zip(scores, places, strict=True)
        ]


def index_folder(settings: Settings, connection: Connection) -> Path:
    """Return the folder of a graph's index: one for each database and encoder."""
    key = hashlib.sha256("\n".join((connection.uri, connection.database, settings.encoder)).encode())
    return settings.home_dir / "indexes" / key.hexdigest()[:16]


def read_meta(folder: Path) -> EntityIndexMeta | None:
    """Return the description of the folder's index; None if there is none or its format is unknown."""
    try:
        content = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        if content.pop("format") != FORMAT:
            return None
        content["edition"] = tuple(content["edition"])
        return EntityIndexMeta(**content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def open_entity_index(folder: Path, encoder: SentenceEncoder) -> EntityIndex | None:
    """Return the index of a folder; None if there is none, if it is of another encoder, or if it is damaged.

    Every file is checked against the hash in the description.
    """
    import faiss
    import pyarrow as pa

    meta = read_meta(folder)
    if meta is None or meta.encoder != encoder.revision:
        return None
    if not _is_sound(folder, meta):
        _log.warning("the entity index in %s is damaged and not used: run `lodestar db index`", folder)
        return None
    try:
        index = map_index(folder / VECTORS)
        with pa.memory_map(str(folder / ROWS)) as source:
            rows = pa.ipc.open_file(source).read_all()
        if set(rows.column_names) != {"id", "key"} or index.ntotal != rows.num_rows or index.d != encoder.dimension:
            raise ValueError("the files do not fit together")
    except (OSError, RuntimeError, ValueError):
        _log.warning("the entity index in %s cannot be read and is not used: run `lodestar db index`", folder)
        return None
    if isinstance(index, faiss.IndexIVF):
        index.nprobe = min(index.nlist, max(LEAST_PROBES, index.nlist // PROBED_SHARE))
    return EntityIndex(index, rows, meta)


def map_index(path: Path) -> faiss.Index:
    """Return a FAISS index that stays on disk and is read during a search."""
    import faiss

    try:
        return faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError:  # an index with cells needs the older flag
        return faiss.read_index(str(path), faiss.IO_FLAG_MMAP)


def _is_sound(folder: Path, meta: EntityIndexMeta) -> bool:
    hashes = {VECTORS: meta.vectors_sha256, ROWS: meta.rows_sha256}
    try:
        return all(file_sha256(folder / name) == sha256 for name, sha256 in hashes.items())
    except OSError:
        return False


Keys = npt.NDArray[np.uint64]

BATCH = 4_096
FLAT_TO = 100_000
"""Largest index that compares every vector; larger ones have cells (IVF)."""
TRAINED_ON = 40
"""Training vectors for each cell."""

Pages = Callable[[], Iterator[list[tuple[str, str]]]]
"""Yields pages of entities: id and text."""


@dataclass(frozen=True, slots=True)
class EntityIndexReport:
    """The number of entities in an index, of texts encoded for it, and its bytes on disk."""

    num_entities: int
    num_encoded: int
    num_bytes: int


def build_entity_index(
    folder: Path,
    pages: Pages,
    num_expected: int,
    edition: Edition,
    encoder: SentenceEncoder,
    *,
    progress: Progress = ignore_progress,
) -> EntityIndexReport:
    """Build the index of all entities that `pages` yields in `folder`, in place of the old one.

    An interrupted build leaves the old index unchanged, and continues on the next call. Raises `OSError` if the folder
    cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    old = open_entity_index(folder, encoder)
    draft = _VectorDraft(
        folder / f"entities-{hashlib.sha256(encoder.revision.encode()).hexdigest()[:12]}.draft", encoder.dimension, old
    )
    import pyarrow as pa

    ids: list[pa.Array] = []
    keys: list[Keys] = []
    num_encoded = done = 0
    for page in pages():
        texts = {key_of(text): text for _, text in page}
        missing = draft.missing(texts)
        for start in range(0, len(missing), BATCH):
            some = missing[start : start + BATCH]
            draft.add(some, encoder.encode([texts[key] for key in some]))
            num_encoded += len(some)
        ids.append(pa.array([id_ for id_, _ in page], pa.large_string()))
        keys.append(np.array([key_of(text) for _, text in page], dtype=np.uint64))
        done += len(page)
        progress("encoding", done, max(num_expected, done))
    rows = np.concatenate(keys) if keys else np.zeros(0, dtype=np.uint64)
    index = _make_index(draft, rows, encoder.dimension, progress)
    _write_index(folder, index, pa.chunked_array(ids, pa.large_string()), rows, edition, encoder.revision)
    draft.forget()
    num_bytes = sum((folder / name).stat().st_size for name in (VECTORS, ROWS))
    return EntityIndexReport(len(rows), num_encoded, num_bytes)


def key_of(text: str) -> int:
    """Return the hash that identifies a text's vector."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


_ROW = np.dtype([("key", "<u8"), ("checksum", "<u8")])


def _checksum(key: int, vector: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(key.to_bytes(8, "little") + vector, digest_size=8).digest(), "little")


class _VectorDraft:
    """Vectors by text hash: those of the old index, and those of a growing draft on disk."""

    def __init__(self, draft: Path, dimension: int, old: EntityIndex | None) -> None:
        self._rows_file, self._vectors_file = draft.with_suffix(".rows"), draft.with_suffix(".vectors")
        self._dimension = dimension
        self._places: dict[int, int] = {}
        """Position of a vector: from 0 in the draft, from −1 downwards in the old index."""
        self._old = old
        if old is not None:
            hashes = np.asarray(old.rows["key"].combine_chunks())
            self._places = {key: -1 - place for place, key in enumerate(hashes.tolist())}
        self._num_drafted = 0
        self._resume()

    def _resume(self) -> None:
        """Read the rows of an interrupted build, up to the first damaged or incomplete one."""
        if not (self._rows_file.exists() and self._vectors_file.exists()):
            return
        rows = np.fromfile(self._rows_file, dtype=_ROW)
        with self._rows_file.open("r+b") as rows_file, self._vectors_file.open("r+b") as vectors_file:
            for key, checksum in rows.tolist():
                if _checksum(key, vectors_file.read(2 * self._dimension)) != checksum:
                    break
                self._places[key] = self._num_drafted
                self._num_drafted += 1
            rows_file.truncate(_ROW.itemsize * self._num_drafted)
            vectors_file.truncate(2 * self._dimension * self._num_drafted)

    def missing(self, keys: dict[int, str]) -> list[int]:
        return [key for key in keys if key not in self._places]

    def add(self, keys: list[int], vectors: FloatArray) -> None:
        """Append vectors to the draft: first the vectors, then their keys, so that no key lacks its vector."""
        data = [vector.tobytes() for vector in vectors.astype(np.float16)]
        with self._vectors_file.open("ab") as file:
            file.write(b"".join(data))
        checksums = [_checksum(key, some) for key, some in zip(keys, data, strict=True)]
        with self._rows_file.open("ab") as file:
            file.write(np.array(list(zip(keys, checksums, strict=True)), dtype=_ROW).tobytes())
        self._places |= {key: self._num_drafted + at for at, key in enumerate(keys)}
        self._num_drafted += len(keys)

    def vectors(self, keys: Keys) -> FloatArray:
        """Return the vectors of these keys, (num_keys, dimension), of unit length up to rounding."""
        places = np.array([self._places[key] for key in keys.tolist()], dtype=np.int64)
        drafted = places >= 0
        parts = []
        if drafted.any():
            mapped = np.memmap(self._vectors_file, np.float16, "r").reshape(-1, self._dimension)
            parts.append((drafted, np.asarray(mapped[places[drafted]], dtype=np.float32)))
        if not drafted.all():
            assert self._old is not None
            parts.append((~drafted, self._old.index.reconstruct_batch(-1 - places[~drafted])))
        found = np.zeros((len(keys), parts[0][1].shape[1]), dtype=np.float32)
        for where, some in parts:
            found[where] = some
        return found

    def prepare(self) -> None:
        """Make the vectors of the old index accessible by position."""
        import faiss

        if self._old is not None and isinstance(self._old.index, faiss.IndexIVF):
            self._old.index.make_direct_map()

    def forget(self) -> None:
        self._rows_file.unlink(missing_ok=True)
        self._vectors_file.unlink(missing_ok=True)


def _make_index(draft: _VectorDraft, keys: Keys, dimension: int, progress: Progress) -> faiss.Index:
    import faiss

    index: faiss.Index

    draft.prepare()
    if len(keys) <= FLAT_TO:
        index = faiss.IndexScalarQuantizer(dimension, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
        num_trained = len(keys)
    else:
        cells = int(4 * len(keys) ** 0.5)
        index = faiss.index_factory(dimension, f"IVF{cells},SQ8", faiss.METRIC_INNER_PRODUCT)
        num_trained = min(len(keys), TRAINED_ON * cells)
    chosen = np.sort(np.random.default_rng(0).choice(len(keys), num_trained, replace=False))
    if len(keys):
        index.train(draft.vectors(keys[chosen]))
    for start in range(0, len(keys), BATCH):
        index.add(draft.vectors(keys[start : start + BATCH]))
        progress("indexing", min(start + BATCH, len(keys)), len(keys))
    return index


def _write_index(
    folder: Path, index: faiss.Index, ids: pa.ChunkedArray, keys: Keys, edition: Edition, revision: str
) -> None:
    """Write the three files, the description last: until then the old description does not match the others."""
    import faiss
    import pyarrow as pa

    with (
        atomic_write(folder / DESCRIPTION) as description,
        atomic_write(folder / ROWS) as rows,
        atomic_write(folder / VECTORS) as vectors,
    ):
        faiss.write_index(index, str(vectors))
        table = pa.table({"id": ids, "key": pa.array(keys, pa.uint64())})
        with pa.OSFile(str(rows), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        meta = EntityIndexMeta(revision, edition, len(keys), file_sha256(vectors), file_sha256(rows))
        content = json.dumps({"format": FORMAT, **asdict(meta)}, indent=2) + "\n"
        description.write_text(content, encoding="utf-8")


PAGE = 10_000
MAX_ENTITIES = 1_000_000
"""Larger graphs need --max-entities; docs/how-it-works.md gives time and size."""


def index_entities(
    gateway: Gateway,
    folder: Path,
    encoder: SentenceEncoder,
    *,
    max_entities: int = MAX_ENTITIES,
    progress: Progress = ignore_progress,
) -> EntityIndexReport:
    """Build or update the entity index of a graph.

    After an interruption the next call continues. Raises `GraphError` for an empty graph, `UsageError` for
    more than `max_entities` entities, `EncoderError` without the encoder, `StorageError` if the folder cannot be
    written.
    """
    state = gateway.run(read_graph_state())
    if state.is_empty:
        state.check()
    if state.num_entities > max_entities:
        raise UsageError(
            f"the graph has {state.num_entities:,} entities, and their index takes much time and disk space "
            f"(docs/how-it-works.md): expected at most {max_entities:,}; raise it with --max-entities"
        )
    edition = gateway.run(read_graph_revision())
    kinds = EntityTypes(gateway.run(read_catalogue()))

    def pages() -> Iterator[list[tuple[str, str]]]:
        after = ""
        while page := gateway.run(_read_kinds(after)):
            after = page[-1][0].id
            yield [(entity.id, entity_text(entity, kinds.of(signature))) for entity, signature in page]

    with translate_storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with lock_file(folder / ".entities.lock", f"another process writes the entity index in {folder}"):
            try:
                return build_entity_index(folder, pages, state.num_entities, edition, encoder, progress=progress)
            except EncoderUnavailableError as error:
                raise EncoderError(str(error)) from error


def _read_kinds(after: str) -> Request[list[tuple[Entity, tuple[int, ...]]]]:
    return Request(
        template("read_entity_kinds"),
        {"after": after, "limit": PAGE},
        lambda rows: [(Entity(id_, name), tuple(signature)) for id_, name, signature in rows],
    )
