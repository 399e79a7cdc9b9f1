"""The relation index on disk: whatever happened to its files, the same neighbours are found."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from lodestar.engine.indexes.relation_index import RelationIndex, index_state, load_or_build_index
from lodestar.engine.neo4j.catalogue import Catalogue, Phrase, RelationInfo

from tests.fakes.letter_encoder import LetterEncoder

NAMES = ("location.country.capital", "location.country.currency_used", "people.person.place_of_birth")
CATALOGUE = Catalogue(tuple(RelationInfo(i, name, name, 7) for i, name in enumerate(NAMES, start=1)))
ASKED = "which money do people pay with"
DESCRIBED = Catalogue(
    tuple(
        replace(r, phrases=(Phrase(ASKED), Phrase("who spends", "llm", inverse=True))) if r.number == 2 else r
        for r in CATALOGUE.relations
    )
)
GROWN = Catalogue((*CATALOGUE.relations, RelationInfo(4, "film.film.stock", "film stock", 1)))


def nearest(index: RelationIndex, text: str) -> str:
    return index.search(LetterEncoder().encode([text]), 1)[0][0].value.name


def opened(folder: Path, catalogue: Catalogue = CATALOGUE) -> RelationIndex:
    return load_or_build_index(folder, catalogue, LetterEncoder())


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
    "description bare": lambda folder: (folder / "relations.json").write_text('{"format": 3}'),
    "rows of another kind": changed_meta(rows=[1, 2, 3]),
    "rows missing": changed_meta(rows=[]),
    "rows not a list": changed_meta(rows=7),
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
    assert nearest(grown, "film stock") == "film.film.stock"


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


def test_phrases_find_their_relation_and_are_gone_when_taken_back(tmp_path: Path) -> None:
    plain = opened(tmp_path).search(LetterEncoder().encode([ASKED]), 3)[0]
    assert plain[0].score < 0.999
    described = opened(tmp_path, DESCRIBED)
    assert described.num_encoded == 2
    found = described.search(LetterEncoder().encode([ASKED]), 3)[0]
    assert [found[0].value.number, round(found[0].score, 4)] == [2, 1.0]
    assert sorted(each.value.number for each in found) == [1, 2, 3]
    assert described.nearest(LetterEncoder().encode([ASKED]), 1) == [frozenset({NAMES[1]})]
    assert described.vectors().shape[0] == len(NAMES)
    assert opened(tmp_path).search(LetterEncoder().encode([ASKED]), 3)[0] == plain
