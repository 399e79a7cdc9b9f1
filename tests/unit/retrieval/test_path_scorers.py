"""What every `PathScorer` keeps to."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from lodestar.engine.data_model import Entity, RelationPath, RelationStep, Topic
from lodestar.engine.retrieval import PathQuery, PathScorer, PathScores
from lodestar.engine.retrieval.reg_path import GenerativePathScorer
from lodestar.engine.retrieval.similarity import SimilarityScorer
from lodestar.engine.retrieval.star import DualScorer, ShortlistRescorer
from lodestar.models.causal_lm import add_lora, load_language_model
from lodestar.models.reg import PathConfig, PathDescription
from lodestar.models.reg.paths import PathModel
from lodestar.models.star.shipped import ShippedStar
from lodestar.models.text import RelationWords
from lodestar.models.text.encoders import SentenceEncoder
from lodestar.models.text.vectors import TextVectors

from tests.made.tiny_causal_lm import write_tiny_causal_lm
from tests.made.tiny_checkpoint import open_checkpoint, write_tiny_checkpoint

WORDS = {
    "capital": RelationWords("country", ("capital",)),
    "currency_used": RelationWords("country", ("currency used",)),
    "adjoin_s": RelationWords("location", ("borders",)),
    "adjoins": RelationWords("adjoining relationship", ("neighbouring country",)),
}


@cache
def similarity() -> SimilarityScorer:
    return SimilarityScorer(WORDS, TextVectors(SentenceEncoder("all-MiniLM-L6-v2")), shortlist=3)


@cache
def star() -> DualScorer:
    with TemporaryDirectory() as folder:
        return DualScorer(WORDS, open_checkpoint(write_tiny_checkpoint(Path(folder) / "star")))


@cache
def shipped() -> ShortlistRescorer:
    return ShortlistRescorer(WORDS, ShippedStar(), shortlist=8, found=1.0, read=1.0)


@cache
def writer() -> GenerativePathScorer:
    """With as many beams as there can be paths at one place, so that every one is written."""
    with TemporaryDirectory() as folder:
        base = load_language_model(str(write_tiny_causal_lm(Path(folder), num_layers=1)))
    config = PathConfig("tiny")
    description = PathDescription(calibration=(1, 0), config=config, train=(), dev=(), figures={}, model_fingerprint="")
    return GenerativePathScorer(WORDS, PathModel(description, base, add_lora(base, config.lora)), 8)


SCORERS: dict[str, Callable[[], PathScorer]] = {
    "GenerativePathScorer": writer,
    "SimilarityScorer": similarity,
    "DualScorer": star,
}


def topic(name: str) -> Topic:
    return Topic(Entity(name, name), 10, mention=name, matched_name=name)


ONE_HOP = [RelationPath((RelationStep(r, inverse=i),)) for r in ("capital", "currency_used") for i in (False, True)]
TWO_HOPS = [
    RelationPath((RelationStep("capital", inverse=True), RelationStep("currency_used"))),
    RelationPath((RelationStep("adjoin_s", to_mediator=True), RelationStep("adjoins"))),
    RelationPath((RelationStep("capital"), RelationStep("capital", inverse=True))),
]


def query(text: str, paths: list[RelationPath], topics: list[str]) -> PathQuery:
    branching = tuple(0.7 * (path.num_hops - 1) for path in paths)
    return PathQuery(text, tuple(topic(t) for t in topics), tuple(paths), branching)


QUERIES = [
    query("What is the capital of Peru?", ONE_HOP, ["Peru"] * 4),
    query(
        "What is the currency of the country whose capital is Lima?", ONE_HOP + TWO_HOPS, ["Lima"] * 4 + ["Peru"] * 3
    ),
    query("Which countries border Peru?", TWO_HOPS, ["Peru"] * 3),
]


@pytest.fixture(params=sorted(SCORERS))
def scorer(request: pytest.FixtureRequest) -> PathScorer:
    return SCORERS[request.param]()


def close(left: PathScores, right: PathScores) -> None:
    assert left.stop == pytest.approx(right.stop, abs=1e-4)
    assert left.extend == pytest.approx(right.extend, abs=1e-4)


def test_batched_equals_single_and_again_gives_the_same(scorer: PathScorer) -> None:
    together = scorer.score(QUERIES)
    for asked, scores in zip(QUERIES, together, strict=True):
        (alone,) = scorer.score([asked])
        close(scores, alone)
    assert all((a.stop == b.stop).all() for a, b in zip(scorer.score(QUERIES), scorer.score(QUERIES), strict=True))


def test_pairs_read_together_equal_single_and_none_is_none() -> None:
    scorer = shipped()
    pairs = [(q.question, t, path) for q in QUERIES for t, path in zip(q.topics, q.paths, strict=True)]
    together = scorer.read_pairs(pairs)
    assert together.shape == (len(pairs),)
    assert np.isfinite(together).all()
    assert together == pytest.approx(np.concatenate([scorer.read_pairs([pair]) for pair in pairs]), abs=1e-4)
    assert scorer.read_pairs([]).shape == (0,)
