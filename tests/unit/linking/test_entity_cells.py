"""An entity index of very many names has cells, of which a share is searched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from lodestar.engine.indexes.entity_index import build_entity_index
from lodestar.models.text.encoders import FloatArray

from tests.fakes.letter_encoder import LetterEncoder

EDITION = (1, None, None, 1, None, 0)
LETTERS = "abcdefghijklmnopqrst"
NAMES = [f"{a}{b}{c}" for a in LETTERS for b in LETTERS for c in LETTERS if a < b < c]


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
