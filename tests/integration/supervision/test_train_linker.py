"""A linker is trained on questions with topics of a real graph, and used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lodestar.engine.api import Engine
from lodestar.engine.errors import CheckpointError, UsageError
from lodestar.engine.settings import Settings
from lodestar.engine.training.link_sets import collect_link_candidates
from lodestar.engine.training.running import training_config
from lodestar.loaders.questions.question_sets import read_questions
from lodestar.models.linker.kind import KIND
from lodestar.models.linker.training import read_linker

from tests.made.trainings import train_in


def questions(path: Path, *asked: tuple[str, str]) -> str:
    rows = [
        {"id": f"{path.stem}-{at}", "question": text, "topic_entities": [topic], "answers": ["m.lima"]}
        for at, (text, topic) in enumerate(asked)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_a_linker_is_trained_and_used(engine: Engine, settings: Settings, tmp_path: Path) -> None:
    train = questions(
        tmp_path / "train.jsonl",
        ("What is the capital of Peru?", "m.peru"),
        ("Which currency is used in Chile?", "m.chile"),
        ("Which countries speak Quechua?", "m.quechua"),
    )
    dev = questions(tmp_path / "dev.jsonl", ("What is the capital of Chile?", "m.chile"))
    config = training_config(KIND, ["training.epochs=60", "training.patience=60", "hidden=4"], seed=1)
    sets = [collect_link_candidates(read_questions(file), engine, config) for file in (train, dev)]
    assert [each.is_topic.sum() for each in sets] == [3, 1]
    out = tmp_path / "linker"
    done = train_in(KIND, config, sets[:1], sets[1:], out)
    assert done.figures["linker"]["recall_at_1"] == 1
    assert train_in(KIND, config, sets[:1], sets[1:], out) == done
    assert sorted(path.name for path in out.iterdir() if path.name != ".lock") == ["README.md", "linker.json", "mlp"]
    assert read_linker(out)[0] == done
    with pytest.raises(UsageError, match="of its questions are in --dataset as well"):
        train_in(KIND, config, sets[:1], sets[:1], tmp_path / "other")
    options = {"linker.kind": "trained", "linker.checkpoint": str(out)}
    with Engine(settings, options=options) as asked:
        (best, *_) = asked.link("Which languages are official in Peru?")
        assert best.entity.id == "m.peru"
        assert 0 < best.score < 1
        assert asked.ask("What is the capital of Peru?").evidence.topics[0].entity.id == "m.peru"
    with pytest.raises(
        UsageError, match="part trained: expected the folder of a checkpoint of kind linker, found none"
    ):
        Engine(settings, options={"linker.kind": "trained"})
    (out / "mlp" / "model.safetensors").write_bytes(b"")
    with Engine(settings, options=options) as broken, pytest.raises(CheckpointError, match="train or fetch"):
        broken.link("Peru")
