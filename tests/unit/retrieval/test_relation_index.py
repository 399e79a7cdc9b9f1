"""The relation index on disk: whatever happened to its files, the same neighbours are found."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from lodestar.engine.indexes.relation_index import RelationIndex, index_state, open_index
from lodestar.engine.neo4j.catalogue import Catalogue, RelationInfo

from tests.letter_encoder import LetterEncoder

NAMES = ("location.country.capital", "location.country.currency_used", "people.person.place_of_birth")
CATALOGUE = Catalogue(tuple(RelationInfo(i, name, name, 7) for i, name in enumerate(NAMES, start=1)))
GROWN = Catalogue((*CATALOGUE.relations, RelationInfo(4, "film.film.director", "director", 1)))


def nearest(index: RelationIndex, text: str) -> str:
    return index.search(LetterEncoder().encode([text]), 1)[0][0].value.name


def opened(folder: Path, catalogue: Catalogue = CATALOGUE) -> RelationIndex:
    return open_index(folder, catalogue, LetterEncoder())


def changed_meta(**changes: object) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        path = folder / "relations.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return change


def flipped_byte(folder: Path) -> None:
    path = folder / "relations.faiss"
    content = bytearray(path.read_bytes())
    content[-20] ^= 0xFF
    path.write_bytes(content)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "vectors cut off": lambda folder: os.truncate(folder / "relations.faiss", 60),
    "vectors empty": lambda folder: os.truncate(folder / "relations.faiss", 0),
    "vectors gone": lambda folder: (folder / "relations.faiss").unlink(),
    "a byte of the vectors flipped": flipped_byte,
    "description cut off": lambda folder: os.truncate(folder / "relations.json", 40),
    "description binary": lambda folder: (folder / "relations.json").write_bytes(b"\xff\xfe\x00"),
    "description a list": lambda folder: (folder / "relations.json").write_text("[]"),
    "description bare": lambda folder: (folder / "relations.json").write_text('{"format": 2}'),
    "rows of another kind": changed_meta(rows=[1, 2, 3]),
    "rows missing": changed_meta(rows=[]),
    "rows not a list, catalogue another": changed_meta(rows=7, fingerprint="x"),
    "an older format": changed_meta(format=1),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_index_is_built_again_without_a_word(tmp_path: Path, damage: str) -> None:
    opened(tmp_path)
    DAMAGE[damage](tmp_path)
    assert not index_state(tmp_path, CATALOGUE, LetterEncoder()).current
    rebuilt = opened(tmp_path)
    assert rebuilt.num_encoded == len(NAMES)
    assert nearest(rebuilt, "currency used") == NAMES[1]
    assert index_state(tmp_path, CATALOGUE, LetterEncoder()).current


def test_a_whole_index_is_read_and_a_grown_catalogue_encodes_only_what_is_new(tmp_path: Path) -> None:
    opened(tmp_path)
    assert opened(tmp_path).num_encoded == 0
    grown = opened(tmp_path, GROWN)
    assert grown.num_encoded == 1
    assert nearest(grown, "film director") == "film.film.director"


def test_writers_at_once_leave_one_whole_index_and_nothing_else(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        for index in pool.map(lambda i: opened(tmp_path, (CATALOGUE, GROWN)[i % 2]), range(40)):
            assert nearest(index, "currency used") == NAMES[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["relations.faiss", "relations.json"]
    assert nearest(opened(tmp_path), "currency used") == NAMES[1]


def test_an_index_that_cannot_be_written_serves_from_memory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "indexes").write_text("a file")
    index = opened(tmp_path / "indexes" / "x")
    assert nearest(index, "currency used") == NAMES[1]
    assert "cannot be written to" in caplog.text
    assert "(Not a directory)" in caplog.text
