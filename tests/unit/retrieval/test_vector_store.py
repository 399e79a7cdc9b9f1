"""Vectors that are kept from one run to the next: those of the graph's words, and never a question's."""

from __future__ import annotations

import logging
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
from lodestar.models.text.encoders import FloatArray, SentenceEncoder
from lodestar.models.text.vectors import SqliteVectorStore, TextVectors


class CountingEncoder(SentenceEncoder):
    """Vectors of lengths; it remembers what it was given."""

    @cached_property
    def dimension(self) -> int:
        return 3

    def __init__(self) -> None:
        super().__init__("counting")
        self.given: list[str] = []

    def encode(self, texts: Sequence[str]) -> FloatArray:
        self.given += texts
        return np.array([[len(text), 1, 2] for text in texts], dtype=np.float32)

    def encode_tokens(self, texts: Sequence[str]) -> list[tuple[FloatArray, FloatArray]]:
        sentences = self.encode(texts)
        return [
            (vector, np.array([[len(word), 0, 1] for word in text.split() or [""]], dtype=np.float32))
            for vector, text in zip(sentences, texts, strict=True)
        ]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteVectorStore]:
    opened = SqliteVectorStore(tmp_path / "home" / "vectors" / "one.sqlite")
    yield opened
    opened.close()


def test_another_run_encodes_what_is_new_alone(store: SqliteVectorStore) -> None:
    first = TextVectors(CountingEncoder(), store=store)
    first.encode(["Peru", "Lima"], lasting=True)
    first.encode_tokens(["has capital"], lasting=True)
    encoder = CountingEncoder()
    again = TextVectors(encoder, store=SqliteVectorStore(store.path))
    asked = ["Lima", "Quito", "Peru"]
    np.testing.assert_array_equal(again.stack(asked, lasting=True), first.stack(asked))
    assert encoder.given == ["Quito"]
    again.encode_tokens(["has capital"], lasting=True)
    assert encoder.given == ["Quito"]
    assert (again.tokens("has capital") == first.tokens("has capital")).all()


def test_questions_are_not_kept_and_no_text_can_be_read(store: SqliteVectorStore) -> None:
    vectors = TextVectors(CountingEncoder(), store=store)
    vectors.encode(["Who is my doctor?"])
    vectors.encode_tokens(["Who is my doctor?"])
    vectors.sentence("and my lawyer?")
    vectors.stack(["or my dentist?"])
    assert store.get(["Who is my doctor?", "and my lawyer?", "or my dentist?"], 3) == {}
    vectors.encode(["Peru Peru Peru"], lasting=True)
    store.close()
    assert all(b"Peru" not in path.read_bytes() for path in store.path.parent.iterdir())
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600


def test_what_is_no_store_is_left_and_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "notes.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE notes (text TEXT)")
    other.close()
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(b"not a database" * 1_000)
    for wrong in (path, damaged, tmp_path / "notes.sqlite" / "under a file.sqlite"):
        caplog.clear()
        before = wrong.read_bytes() if wrong.is_file() else b""
        with caplog.at_level(logging.WARNING):
            vectors = TextVectors(CountingEncoder(), store=SqliteVectorStore(wrong))
            assert vectors.stack(["Peru", "Lima"], lasting=True).shape == (2, 3)
            vectors.encode(["Quito"], lasting=True)
        assert len(caplog.messages) == 1
        assert str(wrong) in caplog.text
        assert (wrong.read_bytes() if wrong.is_file() else b"") == before


@pytest.mark.parametrize(
    "damage",
    [
        "data = zeroblob(0)",
        "data = randomblob(12)",
        "data = (SELECT data FROM vectors WHERE data <> v.data)",
        "dimension = 1",
        "checksum = randomblob(8)",
    ],
)
def test_a_damaged_row_is_encoded_and_written_again(damage: str, store: SqliteVectorStore) -> None:
    TextVectors(CountingEncoder(), store=store).encode(["Peru", "Lima is"], lasting=True)
    with sqlite3.connect(store.path, isolation_level=None) as other:
        other.execute(f"UPDATE vectors AS v SET {damage} WHERE rowid = 1")
    other.close()
    for expected in (["Peru"], []):
        encoder = CountingEncoder()
        found = TextVectors(encoder, store=store).stack(["Peru", "Lima is"], lasting=True)
        assert found.tolist() == [[4, 1, 2], [7, 1, 2]]
        assert encoder.given == expected


def test_encoders_have_their_own_digests(tmp_path: Path) -> None:
    """Of three million bytes those of every 11,718th place are looked at."""
    folders = [tmp_path / name for name in ("one", "same", "other", "late")]
    for folder in folders:
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        (folder / "model.safetensors").write_bytes(bytes(3_000_000))
    for folder, place in zip(folders[2:], (0, 250 * 11_718), strict=True):
        with (folder / "model.safetensors").open("r+b") as file:
            file.seek(place)
            file.write(b"trained")
    one, same, other, late = (SentenceEncoder(str(folder)).weights_digest for folder in folders)
    assert one == same
    assert len({one, other, late}) == 3
    assert SentenceEncoder("somebody/a-model-on-the-hub").weights_digest is None
