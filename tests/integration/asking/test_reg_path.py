"""ReG@Path from a real graph to an answer: pools mined and refined, a writer trained, its paths walked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lodestar import Engine
from lodestar.engine.errors import UsageError
from lodestar.engine.evidence.chain import Chain
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion, QuestionSet
from lodestar.engine.neo4j.catalogue import read_catalogue
from lodestar.engine.relations.words import words_of_relations
from lodestar.engine.retrieval.reg_path import RegPath
from lodestar.engine.settings import Settings
from lodestar.engine.supervision.pools import PoolBounds, mine_pool
from lodestar.engine.training import training_config
from lodestar.engine.values import Question
from lodestar.models.mined import PoolFile
from lodestar.models.reg import PATH
from lodestar.models.reg.paths import relation_texts

from tests.made.tiny_causal_lm import write_tiny_causal_lm
from tests.made.trainings import train_in

LEARNED = (
    ("What is the capital of Peru?", "m.peru", "m.lima"),
    ("Which currency is used in Peru?", "m.peru", "m.sol"),
    ("What language is spoken in Peru?", "m.peru", "m.quechua"),
    ("Which country borders Chile?", "m.chile", "m.peru"),
)
CHOSEN = (("What is the capital of Chile?", "m.chile", "m.santiago"),)


def pool_of(engine: Engine, folder: Path, name: str, asked: tuple[tuple[str, str, str], ...]) -> PoolFile:
    questions = tuple(
        GoldQuestion(f"{name}-{place}", text, (GoldAnswer(answer),), (topic,))
        for place, (text, topic, answer) in enumerate(asked)
    )
    sha256 = f"{len(asked)}" * 64
    return mine_pool(QuestionSet(name, "test", sha256, questions), engine, folder / f"{name}.jsonl", PoolBounds())


@pytest.mark.long
def test_paths_are_written_and_walked(settings: Settings, engine: Engine, tmp_path: Path) -> None:
    train, dev = pool_of(engine, tmp_path, "train", LEARNED), pool_of(engine, tmp_path, "dev", CHOSEN)
    model = str(write_tiny_causal_lm(tmp_path / "lm", num_layers=2))
    changes = [f"model={model}", "batch_size=2", "training.learning_rate=0.02", "training.patience=99"]
    config = training_config(PATH, changes, epochs=10)
    folder = tmp_path / "reg"
    texts = relation_texts(words_of_relations(engine.gateway().run(read_catalogue()).relations))
    description = train_in(PATH, config, [train], [dev], folder, vectors=engine.resources.vectors, beside=texts)
    assert description.supervision == "weak"
    with Engine(settings, recipe=RegPath(checkpoint=str(folder)), options={"answerer.min_probability": 0.0}) as asked:
        answer = asked.ask(Question("What is the capital of Chile?", ("m.chile",)))
        questions = [Question(text, (topic,)) for text, topic, _ in (*LEARNED, *CHOSEN)]
        together = asked.retrieve_batch(questions)
        reasons = asked.explain(questions[-1], top_k=1)
        alone = [asked.retrieve(question) for question in questions]
    assert [entity.id for entity in answer.entities] == ["m.santiago"]
    assert reasons.answer == answer
    assert reasons.answer.evidence.stages[-1][0] == "reg-path"
    assert "capital" in reasons.items[0].reading
    assert all(isinstance(item.value, Chain) and item.value.ends for item in answer.evidence.items)
    for left, right in zip(together, alone, strict=True):
        assert [item.value for item in left.items] == [item.value for item in right.items]
        np.testing.assert_allclose([i.score for i in left.items], [i.score for i in right.items], rtol=1e-4, atol=1e-4)
    with pytest.raises(UsageError, match=r"--set reg-path\.checkpoint=FOLDER.*lodestar train reg-path"):
        RegPath().check()
    with pytest.raises(UsageError, match="of its questions are in --dataset as well"):
        train_in(PATH, config, [train], [train], folder, vectors=engine.resources.vectors, beside=texts)
