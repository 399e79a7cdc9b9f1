"""Search entities by the vectors of their names.

The folder holds ``entities.faiss``, ``entities.arrow`` (per row an entity's id and a hash of its text) and
``entities.json`` (encoder, edition of the graph, SHA-256 of both). `entity_building` writes it.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...models.text.encoders import FloatArray, SentenceEncoder
from ...models.text.vectors import TextVectors
from ...models.whole_file import file_sha256
from ..neo4j.catalogue import Catalogue, Edition
from ..relations.words import type_words
from ..values import Entity

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
    vectors_bytes: int
    rows_bytes: int
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


def format_index_metadata(meta: EntityIndexMeta) -> str:
    """Return the text of ``entities.json``."""
    return json.dumps({"format": FORMAT, **asdict(meta)}, indent=2) + "\n"


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
        _log.warning("the entity index in %s is damaged and not used: run `lodestar index entities`", folder)
        return None
    try:
        index = map_index(folder / VECTORS)
        with pa.memory_map(str(folder / ROWS)) as source:
            rows = pa.ipc.open_file(source).read_all()
        if set(rows.column_names) != {"id", "key"} or index.ntotal != rows.num_rows or index.d != encoder.dimension:
            raise ValueError("the files do not fit together")
    except (OSError, RuntimeError, ValueError):
        _log.warning("the entity index in %s cannot be read and is not used: run `lodestar index entities`", folder)
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
    content = {VECTORS: (meta.vectors_bytes, meta.vectors_sha256), ROWS: (meta.rows_bytes, meta.rows_sha256)}
    try:
        return all(
            (folder / name).stat().st_size == size and file_sha256(folder / name) == sha256
            for name, (size, sha256) in content.items()
        )
    except OSError:
        return False
