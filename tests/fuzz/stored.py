"""What stays on a disk between runs, changed: runs of `lodestar eval`, and the vectors and indexes of a graph. A run is
read, or `InputError` says in one line that it is not; vectors and indexes are right, or made anew."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from lodestar.engine.errors import InputError, UsageError
from lodestar.engine.evaluation.page import report_page
from lodestar.engine.evaluation.record import Record
from lodestar.engine.evaluation.report import make_report, read_records, read_report, translate_report_errors
from lodestar.engine.evaluation.table import compare_runs, results_table
from lodestar.engine.indexes.entity_index import build_entity_index, open_entity_index
from lodestar.engine.indexes.relation_index import index_state, load_or_build_index
from lodestar.engine.recipes.recipe import Recipe
from lodestar.models.text.vectors import TextVectors, VectorStore

from tests.fakes.letter_encoder import LetterEncoder
from tests.unit.evaluation.test_report import four
from tests.unit.retrieval.test_relation_index import CATALOGUE, NAMES

TEXTS = ("capital", "currency used", "place of birth")
ENTITIES = [("m.peru", "Peru"), ("m.lima", "Lima"), ("m.sol", "Peruvian sol")]
EDITION = (1, "a", "b", 3, None, 0)


def check_runs(data: bytes, folder: Path) -> None:
    """The first byte says what the others are: a report, fields of one as NAME.NAME=JSON one a line, records, fields of
    one record."""
    kind, rest = (data[0] if data else 0) % 4, data[1:]
    report, record = json.dumps(_report()).encode(), json.dumps(_records()[1].as_json()).encode()
    (folder / "report.json").write_bytes([rest, changed(report, rest), report, report][kind])
    (folder / "records.jsonl").write_bytes([record, record, rest, changed(record, rest)][kind] + b"\n")
    try:
        found = read_report(str(folder))
        with translate_report_errors(str(folder)):
            "\n".join(results_table([found])).encode("utf-8", "surrogatepass")
            report_page(found).encode("utf-8", "surrogatepass")
        recipe = found["what"]["recipe"]
    except InputError as error:
        assert kind in (0, 1), error
        check_line(error, folder)
    else:
        try:
            assert Recipe.of(recipe).as_json()
        except (InputError, UsageError) as error:
            assert kind in (0, 1), error
            check_line(error, folder, 3_000)  # it names what there is
    try:
        records = read_records(str(folder))
        if records:
            compare_runs(records, records)
        json.dumps([each.as_json() for each in records], ensure_ascii=False)
    except (InputError, UsageError) as error:
        assert kind in (2, 3), error
        check_line(error, folder)


def check_line(error: Exception, folder: Path, most: int = 500) -> None:
    assert "\n" not in str(error)
    assert len(str(error)) < len(str(folder)) + most, error


def changed(content: bytes, fields: bytes) -> bytes:
    """Return a JSON object with the fields that are one a line, as ``what.topics=2``."""
    said: Any = json.loads(content)
    for line in fields.decode("utf-8", "replace").split("\n"):
        path, _, text = line.partition("=")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        *around, name = path.split(".")
        at = said
        for each in around:
            at = at.get(each) if isinstance(at, dict) else None
        if isinstance(at, dict):
            at[name] = value
    with suppress(ValueError, RecursionError):
        return json.dumps(said).encode()
    return content


@cache
def _report() -> Mapping[str, Any]:
    return make_report(four())


@cache
def _records() -> tuple[Record, ...]:
    return four().records


def check_indexes(data: bytes, folder: Path) -> None:
    """The first byte says what the others are: a store's file, a row of one, the description of an index of entities,
    its rows, its vectors, the description of an index of relations, its vectors. Rows come with the right hash;
    vectors do not, since FAISS trusts what it reads: the hash is what tells that they are what was written."""
    kind, rest = (data[0] if data else 0) % 7, data[1:]
    place = folder / "stored"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(_stored(), place)
    match kind:
        case 0:
            (place / "vectors.sqlite").write_bytes(rest)
        case 1:
            _change_row(place / "vectors.sqlite", rest)
        case 2:
            (place / "entities.json").write_bytes(rest)
        case 3:
            (place / "entities.arrow").write_bytes(rest)
            _sign(place / "entities.json", {"rows_sha256": hashlib.sha256(rest).hexdigest(), "rows_bytes": len(rest)})
        case 4:
            (place / "entities.faiss").write_bytes(rest)
        case 5:
            (place / "relations.json").write_bytes(rest)
        case 6:
            (place / "relations.faiss").write_bytes(rest)
    _check_vectors(place)
    _check_entities(place)
    _check_relations(place)


def _check_vectors(place: Path) -> None:
    encoder = LetterEncoder()
    store = VectorStore(place / "vectors.sqlite")
    try:
        found = TextVectors(encoder, store=store).stack(TEXTS, lasting=True)
    finally:
        store.close()
    np.testing.assert_array_equal(found, encoder.encode(TEXTS))


def _check_entities(place: Path) -> None:
    encoder = LetterEncoder()
    index = open_entity_index(place, encoder)
    if index is not None:
        for found in index.search(encoder.encode(["Lima"]), 2):
            assert all(isinstance(id_, str) for id_, _ in found)
            assert index.meta.edition is not None


def _check_relations(place: Path) -> None:
    encoder = LetterEncoder()
    state = index_state(place, CATALOGUE, encoder)
    assert state.num_relations >= 0
    index = load_or_build_index(place, CATALOGUE, encoder)
    assert index.vectors().shape == (len(NAMES), encoder.dimension)
    assert index.search(encoder.encode(["capital"]), 3)


@cache
def _stored() -> Path:
    """Return a folder with a store of vectors and both indexes."""
    place = Path(mkdtemp(prefix="fuzz-stored-"))
    encoder = LetterEncoder()
    store = VectorStore(place / "vectors.sqlite")
    TextVectors(encoder, store=store).stack(TEXTS, lasting=True)
    store.close()
    build_entity_index(place, lambda: iter([ENTITIES]), len(ENTITIES), EDITION, encoder)
    load_or_build_index(place, CATALOGUE, encoder)
    return place


def _change_row(path: Path, rest: bytes) -> None:
    """Put the first byte's column of all rows to the others."""
    column = ("dimension", "data", "checksum", "key")[rest[0] % 4 if rest else 0]
    value: Any = rest[1:] if len(rest) < 3 or rest[1] & 1 else rest[1:].decode("utf-8", "replace")
    with closing(sqlite3.connect(path)) as connection, suppress(sqlite3.IntegrityError):
        connection.execute(f"UPDATE vectors SET {column} = ?", (value,))
        connection.commit()


def _sign(path: Path, changes: Mapping[str, object]) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")
