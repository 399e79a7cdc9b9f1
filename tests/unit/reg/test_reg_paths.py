"""ReG@Path: a LoRA that learns to write paths, and writes none that is not offered."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from lodestar.engine.context import CallCosts
from lodestar.engine.data_model import Entity, RelationPath, RelationStep, Topic
from lodestar.engine.retrieval import PathQuery
from lodestar.engine.retrieval.reg_path import GenerativePathScorer
from lodestar.models.causal_lm import load_language_model
from lodestar.models.kinds import BadCheckpointError, LoraOptions, TrainingOptions
from lodestar.models.mined_files import PoolChain, PooledQuestion, PoolFile, PoolHeader
from lodestar.models.reg import PATH, PathConfig, PathDescription
from lodestar.models.reg.paths import (
    PathModel,
    PathTokenizer,
    RelationPathPrefix,
    compute_path_log_probabilities,
    make_path_examples,
    make_relation_texts,
    read_path_writer,
)
from lodestar.models.text import RelationWords

from tests.made.tiny_causal_lm import write_tiny_causal_lm
from tests.made.trainings import train_sets

WORDS = {name: RelationWords("", (name,)) for name in ("capital", "currency", "currency code", "language")}
VOCABULARY = make_relation_texts(WORDS)
NAMES = ("capital", "currency", "language")


def pool(first: int, after: int) -> PoolFile:
    """Questions whose right path the question names; the other relations of the topic are candidates as well."""
    questions = []
    for number in range(first, after):
        asked = NAMES[number % 3]
        right = PoolChain("path", "land", (asked,), ("Land", "?"))
        others = tuple(PoolChain("query", "land", (name,), ("Land", "?")) for name in NAMES if name != asked)
        questions.append(PooledQuestion(f"q{number}", f"{asked}?", ("land",), "?", (*others, right)))
    header = PoolHeader(f"set {first}", "1" * 64, "2" * 64, counts={"questions": after - first})
    return PoolFile(header, tuple(questions), f"{first:064}")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_causal_lm(tmp_path_factory.mktemp("lm"), num_layers=2)


def config(base: Path) -> PathConfig:
    training = TrainingOptions(epochs=6, learning_rate=0.02, head_learning_rate=0.02, weight_decay=0.0, patience=9)
    return PathConfig(str(base), LoraOptions(rank=8, dropout=0.0), batch_size=3, training=training)


def train(base: Path, folder: Path, **more: Any) -> PathDescription:
    return train_sets(PATH, config(base), [pool(0, 12)], [pool(12, 15)], folder, beside=VOCABULARY, **more)


@pytest.fixture(scope="module")
def trained(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    train(base, folder)
    return folder


@pytest.fixture(scope="module")
def model(trained: Path) -> PathModel:
    return PathModel(*read_path_writer(trained))


def test_probabilities_of_all_tokens_add_up_to_those_of_the_beginning(base: Path) -> None:
    """P(a path) is what is left for its end and for every token that may follow."""
    lm = load_language_model(str(base))
    text = PathTokenizer(lm.tokenizer, VOCABULARY)
    prompt, path = text.prompt("which?", "Land"), text.path(("capital", "^currency"))
    tokens = range(lm.network.config.vocab_size)
    with torch.inference_mode():
        begun, whole = compute_path_log_probabilities(lm.network, [prompt], [path], text.end, text.padding)
        longer, _ = compute_path_log_probabilities(
            lm.network, [prompt] * len(tokens), [(*path, token) for token in tokens], text.end, text.padding
        )
        together, _ = compute_path_log_probabilities(
            lm.network, [prompt, prompt], [path, path[:3]], text.end, text.padding
        )
    assert float(longer.logsumexp(0)) == pytest.approx(float(begun), abs=1e-3)
    assert float(longer[text.end]) == pytest.approx(float(whole), abs=1e-3)
    assert float(together[0]) == pytest.approx(float(begun), abs=1e-3)


def test_only_what_is_offered_is_written_and_its_scores_are_those_of_the_model(model: PathModel) -> None:
    text = model.text(VOCABULARY)
    offered = ("^currency", "currency code", "currency")
    prefixes = [
        RelationPathPrefix("language?", "Land", (), offered),
        RelationPathPrefix("capital?", "Land", ("capital",), ("^capital",)),
    ]
    prefixes += [RelationPathPrefix("capital?", "Land", ("language",), ())]
    found = model.write(prefixes, text, 4)
    assert set(found[0]) <= set(offered)
    assert len(found[0]) > 1
    assert set(found[1]) == {"^capital"}
    assert found[2] == {}
    assert all(of_path < begun < 0 for each in found for begun, of_path in each.values())
    costs = CallCosts()
    with costs.stage("a batch for each token and the end, and one for the score"):
        (step,) = model.write(prefixes[:1], text, 1)[0]
    assert [each.batches for each in costs.costs] == [len(text.step(step)) + 2]


def query(text: str, *paths: tuple[str, ...]) -> PathQuery:
    topic = Topic(Entity("land", "Land"), mention="Land")
    steps = [
        tuple(RelationStep(step.removeprefix("^"), inverse=step.startswith("^")) for step in path) for path in paths
    ]
    return PathQuery(text, (topic,) * len(paths), tuple(map(RelationPath, steps)), (0.0,) * len(paths))


def test_the_path_that_a_question_asks_for_is_learned(model: PathModel) -> None:
    assert model.description.figures["path writer"]["first_right"] == 1
    scorer = GenerativePathScorer(WORDS, model, 2)
    found = scorer.score([query(f"{name}?", *((each,) for each in NAMES)) for name in NAMES])
    assert [int(each.stop.argmax()) for each in found] == [0, 1, 2]
    assert all(1 <= sum(math.isfinite(score) for score in each.stop) < 3 for each in found)
    assert all(((each.stop < each.extend) | (each.stop == -math.inf)).all() for each in found)
    assert scorer.score([query("capital?")])[0].stop.size == 0


def test_the_language_model_is_the_one_of_the_training(trained: Path, base: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    base.rename(moved)
    try:
        with pytest.raises(BadCheckpointError, match="cannot be loaded"):
            read_path_writer(trained)
        assert read_path_writer(trained, str(moved))[0].config.model == str(base)
    finally:
        moved.rename(base)
    other = write_tiny_causal_lm(tmp_path / "other", num_layers=3)
    with pytest.raises(BadCheckpointError, match="is not the one that this LoRA was trained on"):
        read_path_writer(trained, str(other))


def test_a_question_counts_with_chains_from_its_topics_of_which_one_is_right() -> None:
    """Chains from elsewhere, from the answer and over relations without words are none of its candidates."""
    (asked,) = pool(1, 2).questions
    wrong, _, right = asked.chains
    others = (
        PoolChain("answer", "land", ("language",), ("Land", "?")),
        PoolChain("path", "sea", ("language",), ("Sea", "?")),
        PoolChain("query", "land", ("treaty",), ("Land", "?")),
    )
    given = [replace(asked, chains=chains) for chains in ((wrong, right, *others), (wrong,), others, ())]
    (example,) = make_path_examples([replace(pool(1, 2), questions=tuple(given))], VOCABULARY)
    assert (example.paths, example.is_right) == ((wrong.steps, right.steps), (False, True))
