"""Build and update the entity index.

Vectors are stored by a hash of their text. So equal texts are encoded once, an update reuses the vectors of the old
index, and an interrupted build continues.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...models.text.encoders import EncoderUnavailableError, FloatArray, SentenceEncoder
from ...models.whole_file import atomic_write, file_sha256
from ..errors import EncoderError, UsageError
from ..neo4j.catalogue import Edition, read_catalogue, read_graph_revision, read_graph_state
from ..neo4j.gateway import Gateway
from ..neo4j.templates import Request, template
from ..progress import Progress, ignore_progress
from ..values import Entity
from ..whole_file import lock_file, translate_storage_errors
from .entity_index import (
    DESCRIPTION,
    ROWS,
    VECTORS,
    EntityIndex,
    EntityIndexMeta,
    EntityTypes,
    entity_text,
    format_index_metadata,
    open_entity_index,
)

if TYPE_CHECKING:
    import faiss


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
    meta = _write_index(folder, index, pa.chunked_array(ids, pa.large_string()), rows, edition, encoder.revision)
    draft.forget()
    return EntityIndexReport(len(rows), num_encoded, meta.vectors_bytes + meta.rows_bytes)


def key_of(text: str) -> int:
    """Return the hash that identifies a text's vector."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


_ROW = np.dtype([("key", "<u8"), ("checksum", "<u8")])


def _checksum(key: int, vector: bytes) -> int:
    """Return the checksum of a vector of the draft (float16, little-endian)."""
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
        """Return the keys without a vector."""
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
        """Delete the draft."""
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
) -> EntityIndexMeta:
    """Write the three files, the description last: until then the old description does not match the sizes."""
    import faiss

    with (
        atomic_write(folder / DESCRIPTION) as description,
        atomic_write(folder / ROWS) as rows,
        atomic_write(folder / VECTORS) as vectors,
    ):
        faiss.write_index(index, str(vectors))
        table = pa.table({"id": ids, "key": pa.array(keys, pa.uint64())})
        with pa.OSFile(str(rows), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        meta = EntityIndexMeta(
            encoder=revision,
            edition=edition,
            num_entities=len(keys),
            vectors_bytes=vectors.stat().st_size,
            rows_bytes=rows.stat().st_size,
            vectors_sha256=file_sha256(vectors),
            rows_sha256=file_sha256(rows),
        )
        description.write_text(format_index_metadata(meta), encoding="utf-8")
    return meta


PAGE = 10_000
MAX_ENTITIES = 1_000_000
"""Larger graphs need --max-entities; docs/linking.md gives time and size."""


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
    state = gateway.fetch(read_graph_state())
    if state.is_empty:
        state.check()
    if state.num_entities > max_entities:
        raise UsageError(
            f"the graph has {state.num_entities:,} entities, and their index takes much time and disk space "
            f"(docs/linking.md): expected at most {max_entities:,}; raise it with --max-entities"
        )
    edition = gateway.fetch(read_graph_revision())
    kinds = EntityTypes(gateway.fetch(read_catalogue()))

    def pages() -> Iterator[list[tuple[str, str]]]:
        after = ""
        while page := gateway.fetch(_read_kinds(after)):
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
