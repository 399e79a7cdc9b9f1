"""The entity index of a real graph: made, brought up to date, taken up, and asked where words name nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from lodestar.engine.api import Engine
from lodestar.engine.linking.entity_index import (
    get_entity_index_folder,
    index_entities,
    read_entity_index,
    read_index_description,
)
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Settings
from lodestar.models.text.encoders import FloatArray, SentenceEncoder
from lodestar.models.text.vectors import SqliteVectorStore, TextVectors

from tests.made.graphs import COUNTRY_NAMES, TripleSource, load

ENCODER = "all-MiniLM-L6-v2"


class Interrupted(SentenceEncoder):
    """Fails after so many texts, as a process that is ended does."""

    left = 5  # the dimension is found by encoding a text

    def encode(self, texts: Sequence[str]) -> FloatArray:
        if self.left < len(texts):
            raise KeyboardInterrupt
        self.left -= len(texts)
        return super().encode(texts)


def vectors_in(folder: Path, kind: type[SentenceEncoder] = SentenceEncoder) -> TextVectors:
    """The vectors of a run, which it keeps in the folder."""
    return TextVectors(kind(ENCODER, device="cpu"), store=SqliteVectorStore(folder / "vectors.sqlite"))


def test_the_index_is_made_and_what_stays_is_not_encoded_again(
    engine: Engine, gateway: Gateway, tmp_path: Path
) -> None:
    assert engine.link("Peru")
    encoder = SentenceEncoder(ENCODER, device="cpu")
    first = index_entities(gateway, tmp_path, vectors_in(tmp_path))
    assert (first.num_entities, first.num_encoded) == (len(COUNTRY_NAMES), len(COUNTRY_NAMES))
    assert index_entities(gateway, tmp_path, vectors_in(tmp_path)).num_encoded == 0
    index = read_entity_index(tmp_path, encoder)
    assert index is not None
    ((best, cosine), *_) = index.search(encoder.encode(["Peru, country"]), 3)[0]
    assert best == "m.peru"
    assert 0.8 < cosine <= 1.01
    names = COUNTRY_NAMES | {"m.bolivia": "Bolivia"}
    load(TripleSource([("m.bolivia", "location.country.currency_used", "m.sol")], names), gateway, mode="append")
    second = index_entities(gateway, tmp_path, vectors_in(tmp_path))
    assert second.num_entities == first.num_entities + 1
    assert 1 <= second.num_encoded <= 2  # Bolivia; and the sol, should its kind be another now


def test_interrupted_it_goes_on_and_the_one_before_is_left(
    engine: Engine, gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert engine.link("Peru")
    monkeypatch.setattr("lodestar.engine.linking.entity_index.BATCH", 2)
    with pytest.raises(KeyboardInterrupt):
        index_entities(gateway, tmp_path, vectors_in(tmp_path, Interrupted))
    assert read_index_description(tmp_path) is None
    encoder = SentenceEncoder(ENCODER, device="cpu")
    report = index_entities(gateway, tmp_path, vectors_in(tmp_path))
    assert report.num_encoded == report.num_entities - 4
    index = read_entity_index(tmp_path, encoder)
    assert index is not None
    assert [some[0][0] for some in index.search(encoder.encode(["Lima", "Quechua"]), 1)] == ["m.lima", "m.quechua"]
    assert sorted(path.name for path in tmp_path.glob("entities*")) == [
        "entities.arrow",
        "entities.faiss",
        "entities.json",
    ]


@pytest.mark.parametrize("fault", ["vectors", "rows", "encoder"])
def test_an_index_that_does_not_fit_is_not_used_and_said(
    gateway: Gateway, tmp_path: Path, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    index_entities(gateway, tmp_path, vectors_in(tmp_path))
    encoder: Any = SentenceEncoder(ENCODER, device="cpu")
    if fault == "encoder":
        encoder = SimpleNamespace(revision="another@1", dimension=768)
    else:
        file = tmp_path / {"vectors": "entities.faiss", "rows": "entities.arrow"}[fault]
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    assert read_entity_index(tmp_path, encoder) is None
    assert "run `lodestar db index`" in caplog.text
    assert fault != "encoder" or ("another@1" in caplog.text and ENCODER in caplog.text)


def test_a_question_whose_words_name_nothing_is_given_near_names(
    engine: Engine, gateway: Gateway, settings: Settings
) -> None:
    text = "Which continent is Andean Latin America on?"
    folder = get_entity_index_folder(settings, gateway.connection)
    try:
        index_entities(gateway, folder, TextVectors(SentenceEncoder(ENCODER, device="cpu")))
        with Engine(settings) as asked:
            found = {each.entity.id: each for each in asked.link(text)}
    finally:
        for path in folder.glob("entities*"):
            path.unlink()
    assert "m.south_america" in found
    assert found["m.south_america"].mention in text
    assert np.isfinite([each.score for each in found.values()]).all()
