"""Search relations by the vectors of their words and of the phrases by which people ask for them.

The index is a folder with ``relations.faiss`` and ``relations.json`` (encoder, the other file's SHA-256, and per
row the relation's number and text). The first rows are the relations' own words, a row each; phrases
follow. It is rebuilt if a relation, its words or the encoder have changed or a
file is damaged; vectors of unchanged texts are reused.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...models.text.encoders import FloatArray, SentenceEncoder
from ...models.whole_file import atomic_write, file_sha256
from ..neo4j.catalogue import Catalogue, RelationInfo
from ..neo4j.connection import Connection
from ..relations.words import relation_embedding_text, words_of_relation
from ..settings import Settings
from ..values import Scored

if TYPE_CHECKING:
    import faiss

FORMAT = 3

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IndexState:
    """The index on disk, for `doctor`: whether it matches the catalogue and the encoder."""

    present: bool
    current: bool
    num_relations: int


@dataclass(frozen=True, slots=True)
class _Meta:
    """The content of ``relations.json``."""

    encoder: str
    vectors_sha256: str
    rows: list[tuple[int, str]]


class RelationIndex:
    """Nearest relations by cosine. `load_or_build_index` builds or loads it.

    index: rows of unit vectors, the first of each relation its own words'. owners: the place of each row's relation in
    `relations`.
    """

    def __init__(
        self, relations: Sequence[RelationInfo], index: faiss.Index, owners: Sequence[int], num_encoded: int
    ) -> None:
        self.relations = tuple(relations)
        self.num_encoded = num_encoded
        """How many texts were encoded when the index was opened."""
        self.index = index
        self._owners = np.array(owners, dtype=np.int64)

    def search(self, vectors: FloatArray, top_k: int) -> list[list[Scored[RelationInfo]]]:
        """Return for each vector, (num_queries, dimension), the `top_k` nearest relations with their cosines.

        The cosine of a relation is that of its words or of its best phrase. Ties are broken by the relation's number.
        """
        return [
            sorted(
                (Scored(self.relations[place], score) for place, score in best.items()),
                key=lambda s: (-s.score, s.value.number),
            )
            for best in self._best(vectors, top_k)
        ]

    def nearest(self, vectors: FloatArray, top_k: int) -> list[frozenset[str]]:
        """Return for each vector the names of the `top_k` nearest relations."""
        return [frozenset(self.relations[place].name for place in best) for best in self._best(vectors, top_k)]

    def _best(self, vectors: FloatArray, top_k: int) -> list[dict[int, float]]:
        """Return for each vector the places of the nearest relations with their cosines, best first."""
        wanted = min(top_k, len(self.relations))
        if wanted < 1 or not len(vectors):
            return [{} for _ in vectors]
        num_rows = wanted
        while True:  # several rows may be of one relation
            num_rows = min(2 * num_rows, len(self._owners))
            scores, rows = self.index.search(vectors, num_rows)
            owners = self._owners[rows]
            found = [_first_of_each(*line, wanted) for line in zip(owners.tolist(), scores.tolist(), strict=True)]
            if num_rows == len(self._owners) or all(len(best) == wanted for best in found):
                return found

    def vectors(self) -> FloatArray:
        """Return the vectors of the relations' own words, (num_relations, dimension), in the order of `relations`."""
        if not self.relations:
            return np.zeros((0, self.index.d), dtype=np.float32)
        return np.asarray(self.index.reconstruct_n(0, len(self.relations)), dtype=np.float32)


def _first_of_each(owners: Sequence[int], scores: Sequence[float], most: int) -> dict[int, float]:
    best: dict[int, float] = {}
    for owner, score in zip(owners, scores, strict=True):
        if len(best) == most:
            break
        best.setdefault(owner, score)
    return best


def index_folder(settings: Settings, connection: Connection) -> Path:
    """Return the folder of a graph's indexes: one for each database and encoder."""
    key = hashlib.sha256("\n".join((connection.uri, connection.database, settings.encoder)).encode())
    return settings.home_dir / "indexes" / key.hexdigest()[:16]


def index_state(folder: Path, catalogue: Catalogue, encoder: SentenceEncoder) -> IndexState:
    """Return whether the index in `folder` exists and is current, without loading the encoder."""
    meta = _read_meta(folder)
    if meta is None:
        return IndexState(present=False, current=False, num_relations=0)
    fits = meta.encoder == encoder.revision and meta.rows == _rows_of(catalogue.relations)
    num_relations = len({number for number, _ in meta.rows})
    return IndexState(present=True, current=fits and _is_intact(folder, meta), num_relations=num_relations)


def load_or_build_index(
    folder: Path, catalogue: Catalogue, encoder: SentenceEncoder, device: str = "cpu"
) -> RelationIndex:
    """Return the index for the catalogue, read from `folder` if current, else built and stored there.

    device: where it is searched; CUDA needs faiss-gpu.
    """
    opened = _open_index(folder, catalogue, encoder)
    opened.index = _on_device(opened.index, device)
    return opened


def _on_device(index: faiss.Index, device: str) -> faiss.Index:
    import faiss

    if not device.startswith("cuda") or not hasattr(faiss, "StandardGpuResources"):
        return index
    return faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), int(device.partition(":")[2] or 0), index)


def _open_index(folder: Path, catalogue: Catalogue, encoder: SentenceEncoder) -> RelationIndex:
    import faiss

    meta = _read_meta(folder)
    stored = _read_vectors(folder, meta)
    relations = catalogue.relations
    place = {relation.number: at for at, relation in enumerate(relations)}
    rows = _rows_of(relations)
    owners = [place[number] for number, _ in rows]
    known: dict[str, FloatArray] = {}
    if meta is not None and stored is not None and meta.encoder == encoder.revision:
        if meta.rows == rows:
            return RelationIndex(relations, stored, owners, num_encoded=0)
        old = np.asarray(stored.reconstruct_n(0, stored.ntotal), dtype=np.float32)
        known = {text: vector for (_, text), vector in zip(meta.rows, old, strict=True)}
    missing = list(dict.fromkeys(text for _, text in rows if text not in known))
    known |= dict(zip(missing, encoder.encode(missing), strict=True))
    index = faiss.IndexFlatIP(len(known[rows[0][1]]) if rows else encoder.dimension)
    if rows:
        index.add(np.stack([known[text] for _, text in rows]))
    _write(folder, index, encoder, rows)
    return RelationIndex(relations, index, owners, num_encoded=len(missing))


def _rows_of(relations: Sequence[RelationInfo]) -> list[tuple[int, str]]:
    """Return the number and text of each row."""
    meanings = [words_of_relation(relation).meaning for relation in relations]
    phrases = [
        (relation.number, phrase)
        for relation, meaning in zip(relations, meanings, strict=True)
        for phrase in dict.fromkeys((*meaning.forward, *meaning.inverse))
    ]
    return [*((relation.number, relation_embedding_text(relation)) for relation in relations), *phrases]


def _read_meta(folder: Path) -> _Meta | None:
    """Return the description on disk; None if it is missing, damaged or of another format."""
    try:
        meta = json.loads((folder / "relations.json").read_text(encoding="utf-8"))
        if meta["format"] != FORMAT:
            return None
        rows = [(int(row["number"]), str(row["text"])) for row in meta["rows"]]
        return _Meta(meta["encoder"], meta["vectors_sha256"], rows)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _is_intact(folder: Path, meta: _Meta) -> bool:
    """Return whether the vectors on disk have the hash in the description."""
    try:
        return file_sha256(folder / "relations.faiss") == meta.vectors_sha256
    except OSError:
        return False


def _read_vectors(folder: Path, meta: _Meta | None) -> faiss.Index | None:
    """Return the stored index; None if it is missing, damaged or does not match its description."""
    import faiss

    if meta is None or not _is_intact(folder, meta):
        return None
    try:
        index = faiss.read_index(str(folder / "relations.faiss"))
    except RuntimeError:
        return None
    return index if index.ntotal == len(meta.rows) else None


def _write(folder: Path, index: faiss.Index, encoder: SentenceEncoder, rows: Sequence[tuple[int, str]]) -> None:
    """Write both files atomically; of several concurrent writers the last one's pair stays.

    A failure is logged, because the index in memory can be used anyway.
    """
    import faiss

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (
            atomic_write(folder / "relations.json") as description,
            atomic_write(folder / "relations.faiss") as vectors,
        ):
            faiss.write_index(index, str(vectors))
            meta = {
                "format": FORMAT,
                "encoder": encoder.revision,
                "vectors_sha256": file_sha256(vectors),
                "rows": [{"number": number, "text": text} for number, text in rows],
            }
            description.write_text(json.dumps(meta, ensure_ascii=False, indent=0), encoding="utf-8")
    except (OSError, RuntimeError) as error:
        reason = (
            error.strerror if isinstance(error, OSError) and error.strerror else "disk full, or no write permission"
        )
        _log.warning(
            "the relation index cannot be written to %s (%s), so it is rebuilt each time: name another --home",
            folder,
            reason,
        )
