"""An entity index of very many names has cells, of which a share is searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import faiss
import pytest
from lodestar.engine.indexes.entity_index import build_entity_index, open_entity_index
from lodestar.models.text.encoders import FloatArray

from tests.fakes.letter_encoder import LetterEncoder

EDITION = (1, None, None, 1, None, 0)
LETTERS = "abcdefghijklmnopqrst"
NAMES = [f"{a}{b}{c}" for a in LETTERS for b in LETTERS for c in LETTERS if a < b < c]


def test_cells_are_searched_and_what_stays_is_not_encoded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lodestar.engine.indexes.entity_index.FLAT_TO", 100)
    encoder = LetterEncoder()

    def pages(names: list[str]) -> Iterator[list[tuple[str, str]]]:
        yield [(f"m.{name}", name) for name in names]

    first = build_entity_index(tmp_path, lambda: pages(NAMES), len(NAMES), EDITION, encoder)
    assert (first.num_entities, first.num_encoded) == (len(NAMES), len(NAMES))
    second = build_entity_index(tmp_path, lambda: pages([*NAMES, "zzz"]), len(NAMES) + 1, EDITION, encoder)
    assert (second.num_entities, second.num_encoded) == (len(NAMES) + 1, 1)
    index = open_entity_index(tmp_path, encoder)
    assert index is not None
    assert isinstance(index.index, faiss.IndexIVF)
    assert 64 <= index.index.nprobe < index.index.nlist
    asked = [*NAMES[::100], "zzz"]
    found = index.search(encoder.encode(asked), 1)
    right = sum(some[0][0] == f"m.{name}" for name, some in zip(asked, found, strict=True))
    assert right >= 0.9 * len(asked)
    assert found[-1][0][0] == "m.zzz"


def test_what_is_damaged_in_a_draft_is_encoded_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lodestar.engine.indexes.entity_index.BATCH", 2)

    class Interrupted(LetterEncoder):
        calls = 0

        def encode(self, texts: Sequence[str]) -> FloatArray:
            self.calls += 1
            if self.calls > 3:
                raise KeyboardInterrupt
            return super().encode(texts)

    page = [(f"m.{name}", name) for name in NAMES[:8]]
    with pytest.raises(KeyboardInterrupt):
        build_entity_index(tmp_path, lambda: iter([page]), len(page), EDITION, Interrupted())
    (vectors,) = tmp_path.glob("*.vectors")
    data = bytearray(vectors.read_bytes())
    data[len(data) // 4 * 3] ^= 1  # in the last of the four drafted
    vectors.write_bytes(data)
    report = build_entity_index(tmp_path, lambda: iter([page]), len(page), EDITION, LetterEncoder())
    assert report.num_encoded == len(page) - 3
    assert not list(tmp_path.glob("*.vectors")) + list(tmp_path.glob("*.rows"))
