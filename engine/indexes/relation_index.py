"""Turn the catalogue's relations into words, and search relations by the vectors of their words.

The index is a folder with ``relations.faiss`` and ``relations.json`` (encoder, catalogue fingerprint, the other file's
SHA-256, and per row the relation's number and text). It is rebuilt if the catalogue or the encoder has changed or a
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
from ...models.text.verbalise import Meaning, RelationWords, join_without_repeats
from ...models.whole_file import atomic_write, file_sha256
from ...models.wording.english import lexicon_phrases
from ..neo4j.catalogue import LABEL_SEPARATOR, ORIGINS, Catalogue, Phrase, RelationInfo
from ..neo4j.connection import Connection
from ..settings import Settings
from ..values import Scored

if TYPE_CHECKING:
    import faiss

FORMAT = 2

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
    fingerprint: str
    vectors_sha256: str
    texts: tuple[str, ...]


class RelationIndex:
    """Nearest relations by cosine. `open_index` builds or loads it."""

    def __init__(self, relations: Sequence[RelationInfo], index: faiss.Index, num_encoded: int) -> None:
        self.relations = tuple(relations)
        self.num_encoded = num_encoded
        """How many texts were encoded when the index was opened."""
        self.index = index

    def search(self, vectors: FloatArray, top_k: int) -> list[list[Scored[RelationInfo]]]:
        """Return for each vector, (num_queries, dimension), the `top_k` nearest relations with their cosines.

        Ties are broken by the relation's number.
        """
        if not self.relations or top_k < 1:
            return [[] for _ in vectors]
        scores, rows = self.index.search(vectors, min(top_k, len(self.relations)))
        return [
            sorted(
                (Scored(self.relations[row], float(score)) for score, row in zip(line, places, strict=True)),
                key=lambda s: (-s.score, s.value.number),
            )
            for line, places in zip(scores, rows, strict=True)
        ]

    def nearest(self, vectors: FloatArray, top_k: int) -> list[frozenset[str]]:
        """Return for each vector the names of the `top_k` nearest relations."""
        if not self.relations or top_k < 1:
            return [frozenset() for _ in vectors]
        _, rows = self.index.search(vectors, min(top_k, len(self.relations)))
        return [frozenset(self.relations[row].name for row in line) for line in rows.tolist()]

    def vectors(self) -> FloatArray:
        """Return all vectors, (num_relations, dimension), in the order of `relations`."""
        if not self.relations:
            return np.zeros((0, self.index.d), dtype=np.float32)
        return np.asarray(self.index.reconstruct_n(0, len(self.relations)), dtype=np.float32)


def text_of(relation: RelationInfo) -> str:
    """Return the text that is embedded for a relation: its words, its domain and its range."""
    words = words_of_relation(relation)
    return join_without_repeats((words.domain, *words.properties, type_words(relation.range)))


def index_folder(settings: Settings, connection: Connection) -> Path:
    """Return the folder of a graph's indexes: one for each database and encoder."""
    key = hashlib.sha256("\n".join((connection.uri, connection.database, settings.encoder)).encode())
    return settings.home_dir / "indexes" / key.hexdigest()[:16]


def index_state(folder: Path, catalogue: Catalogue, encoder: SentenceEncoder) -> IndexState:
    """Return whether the index in `folder` exists and is current, without loading the encoder."""
    meta = _read_meta(folder)
    if meta is None:
        return IndexState(present=False, current=False, num_relations=0)
    fits = meta.fingerprint == catalogue.fingerprint and meta.encoder == encoder.revision
    current = fits and len(meta.texts) == len(catalogue.relations) and _is_intact(folder, meta)
    return IndexState(present=True, current=current, num_relations=len(meta.texts))


def open_index(folder: Path, catalogue: Catalogue, encoder: SentenceEncoder, device: str = "cpu") -> RelationIndex:
    """Return the index for the catalogue, read from `folder` if current, else built and stored there.

    device: where it is searched; CUDA needs faiss-gpu.
    """
    opened = _open_index(folder, catalogue, encoder)
    return RelationIndex(opened.relations, _on_device(opened.index, device), opened.num_encoded)


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
    known: dict[str, FloatArray] = {}
    if meta is not None and stored is not None and meta.encoder == encoder.revision:
        if meta.fingerprint == catalogue.fingerprint and len(meta.texts) == len(relations):
            return RelationIndex(relations, stored, num_encoded=0)
        old = np.asarray(stored.reconstruct_n(0, stored.ntotal), dtype=np.float32)
        known = dict(zip(meta.texts, old, strict=True))
    texts = [text_of(relation) for relation in relations]
    missing = list(dict.fromkeys(text for text in texts if text not in known))
    known |= dict(zip(missing, encoder.encode(missing), strict=True))
    dimension = len(known[texts[0]]) if texts else encoder.dimension
    index = faiss.IndexFlatIP(dimension)
    if texts:
        index.add(np.stack([known[text] for text in texts]))
    _write(folder, index, catalogue, encoder, texts)
    return RelationIndex(relations, index, num_encoded=len(missing))


def _read_meta(folder: Path) -> _Meta | None:
    """Return the description on disk; None if it is missing, damaged or of another format."""
    try:
        meta = json.loads((folder / "relations.json").read_text(encoding="utf-8"))
        if meta["format"] != FORMAT:
            return None
        texts = tuple(str(row["text"]) for row in meta["rows"])
        return _Meta(meta["encoder"], meta["fingerprint"], meta["vectors_sha256"], texts)
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
    return index if index.ntotal == len(meta.texts) else None


def _write(
    folder: Path, index: faiss.Index, catalogue: Catalogue, encoder: SentenceEncoder, texts: Sequence[str]
) -> None:
    """Write both files atomically; of several concurrent writers the last one's pair stays.

    A failure is logged, because the index in memory can be used anyway.
    """
    import faiss

    rows = [
        {"number": relation.number, "text": text} for relation, text in zip(catalogue.relations, texts, strict=True)
    ]
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
                "fingerprint": catalogue.fingerprint,
                "vectors_sha256": file_sha256(vectors),
                "rows": rows,
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


MAX_PHRASES = 40
"""Of a relation and direction, the best trusted first, that scorers read."""


def words_of_relation(relation: RelationInfo) -> RelationWords:
    """Return the words of a relation: its label's parts, the type of its domain, and what people ask for it by."""
    labels = tuple(relation.label.split(LABEL_SEPARATOR))
    forward, inverse = (
        tuple(dict.fromkeys(p.text for p in phrases_of(relation) if p.inverse == way))[:MAX_PHRASES]
        for way in (False, True)
    )
    return RelationWords(type_words(relation.domain), labels, Meaning(forward, inverse, relation.head, relation.tail))


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
    if type_ and "://" in type_:
        return ""  # older graphs have IRIs as types
    return (type_ or "").rpartition(".")[2].replace("_", " ").lower()


def words_of_name(name: str) -> RelationWords:
    """Return the words of a relation from its name alone, as in Freebase: ``domain.type.property``.

    A name without dots has no type; a compound one (``a.b.c|d.e.f``) has the type of its first part.
    """
    parts = [part.split(".") for part in name.split("|")]
    first = parts[0]
    return RelationWords(type_words(".".join(first[:-1])), tuple(part[-1].replace("_", " ").lower() for part in parts))
