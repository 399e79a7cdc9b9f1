"""A graph made of text: what is asked rests on snippets, texts are added and taken back."""

from __future__ import annotations

from pathlib import Path

import neo4j
import pytest
from lodestar import Engine
from lodestar.engine.data_model import Question
from lodestar.engine.evidence.chains_and_triples import collect_snippets
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j.graph_requests import MENTIONED_WITH, read_snippets
from lodestar.engine.settings import Settings
from lodestar.loaders.formats.text import TextSource
from lodestar.loaders.maintaining import unload, verify

from tests.made.graphs import load
from tests.made.pipelines import save_pipeline
from tests.references.snapshot import snapshot

HEADACHE = "Aspirin helps against headache."
REYE = "In children Aspirin may cause Reye syndrome."
FLU = "Children with the flu must not be given Aspirin: Reye syndrome is feared."


@pytest.fixture
def pipeline(tmp_path: Path) -> str:
    return save_pipeline(tmp_path, "Aspirin", "headache", "Reye syndrome", "flu")


def written(path: Path, *texts: str) -> str:
    path.write_text("\n\n".join(texts), encoding="utf-8")
    return str(path)


@pytest.mark.usefixtures("empty_graph")
@pytest.mark.long
def test_texts_are_asked_added_and_taken_back(
    gateway: Gateway, driver: neo4j.Driver, settings: Settings, tmp_path: Path, pipeline: str
) -> None:
    first = TextSource(written(tmp_path / "a.txt", HEADACHE, REYE), pipeline=pipeline, snippet_length=60, overlap=0)
    load(first, gateway)
    alone = snapshot(driver)
    load(first, gateway)
    assert snapshot(driver) == alone

    second = TextSource(written(tmp_path / "b.txt", REYE, FLU), pipeline=pipeline, snippet_length=80, overlap=0)
    report = load(second, gateway, mode="append")
    assert verify(gateway).faults == ()
    pairs = [("aspirin", "reye syndrome"), ("reye syndrome", "aspirin"), ("headache", "flu"), ("aspirin", "gout")]
    assert gateway.run(read_snippets(pairs)) == [(REYE, FLU), (REYE, FLU), (), ()]
    assert gateway.run(read_snippets(pairs, max_snippets=1)) == [(REYE,), (REYE,), (), ()]

    with Engine(settings) as engine:
        asked = Question("What is headache mentioned with?", topic_entities=("headache",))
        evidence = engine.retrieve(asked)
        best = next(rank for rank, item in enumerate(evidence.items) if str(item.value).count(MENTIONED_WITH) == 1)
        (quotes,) = collect_snippets(gateway, [evidence], best + 1)
        assert quotes[best] == (HEADACHE,)

    unload(gateway, str(report.number))
    assert snapshot(driver) == alone
