"""ReG@Path: a decoder whose probabilities are ones, which learns, is taken up, read, and scores what a search offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from lodestar.engine.retrieval.path_decoder import PathDecoderScorer
from lodestar.engine.retrieval.scoring import PathQuery
from lodestar.engine.values import Entity, RelationPath, RelationStep, Topic
from lodestar.models.mined import PoolChain, PooledQuestion, PoolFile, PoolHeader
from lodestar.models.reg_path.config import PathConfig, PathDescription
from lodestar.models.reg_path.kind import KIND
from lodestar.models.reg_path.network import NO_TOKEN, PathDecoder, PathModel, RelationTokens
from lodestar.models.reg_path.training import examples_of, read_path_decoder
from lodestar.models.text.encoders import FloatArray
from lodestar.models.text.vectors import TextVectors
from lodestar.models.text.verbalise import RelationMeaning, RelationWords
from lodestar.models.training.description import BadCheckpointError
from lodestar.models.training.objective import NothingToLearnError, TrainingOptions
from lodestar.models.training.trainer import TrainingCallbacks

from tests.fakes.letter_encoder import LetterEncoder
from tests.made.trainings import Encoding, inputs_of, train_sets

WORDS = {name: RelationWords("", (name,)) for name in ("capital", "currency", "language")}
VOCABULARY = RelationTokens.of(WORDS)
CONFIG = PathConfig(
    hidden=32,
    batch_size=4,
    training=TrainingOptions(epochs=25, head_learning_rate=0.02, weight_decay=0.0, patience=99),
)


def pool(first: int, after: int) -> PoolFile:
    """Questions whose right path the question names, and one of two steps; all relations of the topic are candidates."""
    names = list(WORDS)
    questions = []
    for number in range(first, after):
        asked = names[number % 3]
        steps = (asked, f"^{asked}") if number % 2 else (asked,)
        right = PoolChain("path", "land", steps, ("Land", *("?" for _ in steps)))
        around = tuple(PoolChain("query", "land", (name,), ("Land", "?")) for name in names if (name,) != steps)
        same = "same " if number % 2 else ""
        text = f"which lands have the {same}{asked} of Land?" if same else f"which {asked} has Land?"
        questions.append(PooledQuestion(f"q{number}", text, ("land",), "?", (right, *around), 4))
    header = PoolHeader(f"set {first}", "1" * 64, "2" * 64, counts={"questions": after - first})
    return PoolFile(header, tuple(questions), f"{first:064}")


def train(folder: Path, watcher: TrainingCallbacks | None = None) -> PathDescription:
    return train_sets(
        KIND,
        CONFIG,
        [pool(0, 18)],
        [pool(18, 30)],
        folder,
        encode=LetterEncoder().encode,
        beside=VOCABULARY,
        watcher=watcher,
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    train(folder)
    return folder


def test_probabilities_of_all_paths_add_up() -> None:
    """Of whole paths of up to two tokens and beginnings of two: everything that can be written begins as one of these."""
    torch.manual_seed(0)
    network, tokens = PathDecoder(5, 8), torch.randn(3, 5)
    question = torch.randn(1, 5)
    whole = [NO_TOKEN, NO_TOKEN], *([token, NO_TOKEN] for token in range(3))
    longer = [list(path) for path in product(range(3), repeat=2)]
    with torch.no_grad():
        _, ended = network(question.expand(4, -1), tokens, torch.tensor(whole))
        begun, complete = network(question.expand(9, -1), tokens, torch.tensor(longer))
        alone = network(question, tokens, torch.tensor([[1]]))
    assert float(ended.exp().sum() + begun.exp().sum()) == pytest.approx(1, abs=1e-5)
    assert (complete < begun).all()
    assert float(alone[1]) == pytest.approx(float(ended[2]), abs=1e-6)


def test_tokens_are_relations_in_a_direction() -> None:
    assert VOCABULARY.encode_paths([("capital",), ("^capital", "language")]).tolist() == [[0, NO_TOKEN], [1, 4]]
    assert len(set(VOCABULARY.texts)) == 6
    assert VOCABULARY.knows(("^currency",))
    assert not VOCABULARY.knows(("capital", "treaty"))
    assert VOCABULARY.encode_paths([]).shape == (0, 0)


def test_of_no_path_there_is_no_score_and_words_are_encoded_together(trained: Path) -> None:
    class CountingEncoder(LetterEncoder):
        def encode(self, texts: Sequence[str]) -> FloatArray:
            asked.append(len(texts))
            return super().encode(texts)

    asked: list[int] = []
    model = PathModel(*read_path_decoder(trained), TextVectors(CountingEncoder()))
    tokens = model.tokens(VOCABULARY)
    assert asked == [6]
    for scores in model.score([], VOCABULARY.encode_paths([]), tokens):
        assert scores.shape == (0,)
        assert scores.dtype == np.float32


def test_a_question_counts_with_chains_from_its_topics_of_which_one_is_right() -> None:
    """Chains from elsewhere and from the answer are none of its candidates."""
    (asked,) = pool(1, 2).questions
    right, wrong, *_ = asked.chains
    beside = (
        PoolChain("answer", "land", ("language",), ("Land", "?")),
        PoolChain("path", "sea", ("language",), ("Sea", "?")),
    )
    given = [replace(asked, chains=chains) for chains in ((wrong, right, *beside), (wrong,), beside, ())]
    (example,) = examples_of([replace(pool(1, 2), questions=tuple(given))], VOCABULARY)
    assert (example.paths, example.is_right) == ((wrong.steps, right.steps), (False, True))


def test_what_chose_the_right_paths_is_part_of_what_a_training_is() -> None:
    given = pool(0, 3)
    refined = replace(given, header=replace(given.header, refiner="a judge"))
    training = KIND.train(CONFIG, inputs_of([given, refined], [given], Encoding(LetterEncoder().encode), VOCABULARY))
    assert training.identity == {"supervision": "weak, refined by a judge"}


def test_examples_are_the_chains_that_leave_a_topic_without_its_name() -> None:
    (example, *_) = examples_of([pool(1, 3)], VOCABULARY)
    assert example.masked == "which lands have the same currency of ?"
    assert example.paths[0] == ("currency", "^currency")
    assert example.is_right == (True, False, False, False)


def test_a_chain_over_a_relation_without_words_is_no_example() -> None:
    given = pool(1, 2)
    question = given.questions[0]
    unknown = replace(question.chains[0], steps=("treaty",), names=question.chains[0].names[:2])
    with_it = replace(given, questions=(replace(question, chains=(unknown, *question.chains)), *given.questions[1:]))
    (example, *_) = examples_of([given], VOCABULARY)
    (again, *_) = examples_of([with_it], VOCABULARY)
    assert again.paths == example.paths


def query(text: str, *paths: tuple[str, ...]) -> PathQuery:
    topic = Topic(Entity("land", "Land"), mention="Land")
    steps = [
        tuple(RelationStep(step.removeprefix("^"), inverse=step.startswith("^")) for step in path) for path in paths
    ]
    return PathQuery(text, (topic,) * len(paths), tuple(map(RelationPath, steps)), (0.0,) * len(paths))


def test_the_path_that_a_question_asks_for_is_the_likeliest(trained: Path) -> None:
    description, network = read_path_decoder(trained)
    scorer = PathDecoderScorer(WORDS, PathModel(description, network, TextVectors(LetterEncoder())))
    singles = [(name,) for name in WORDS]
    queries = [query(f"which {name} has Land?", *singles, (name, f"^{name}")) for name in WORDS]
    found = scorer.score(queries)
    assert [int(np.argmax(each.stop)) for each in found] == [0, 1, 2]
    assert all((each.stop <= each.extend).all() for each in found)
    alone = [scorer.score([each])[0] for each in queries]
    for left, right in zip(found, alone, strict=True):
        np.testing.assert_allclose(left.stop, right.stop, atol=1e-5)
    assert description.figures["path decoder"]["first_right"] == 1
    assert description.supervision == "weak"


def test_the_figure_of_a_training_is_the_mean_log_probability_of_right_paths(trained: Path) -> None:
    description, network = read_path_decoder(trained)
    scorer = PathDecoderScorer(WORDS, PathModel(description, network, TextVectors(LetterEncoder())))
    right = [(question.text, question.chains[0].steps) for question in pool(18, 30).questions]
    found = [float(scores.stop[0]) for scores in scorer.score([query(text, path) for text, path in right])]
    assert description.figures["path decoder"]["log_likelihood"] == pytest.approx(sum(found) / len(found), abs=1e-4)


def test_a_training_that_was_stopped_comes_to_the_same(trained: Path, tmp_path: Path) -> None:
    class StoppedError(Exception):
        pass

    def stop(_name: str, epoch: int, done: int, _total: int, _loss: float) -> None:
        if (epoch, done) == (3, 2):
            raise StoppedError

    with pytest.raises(StoppedError):
        train(tmp_path, watcher=TrainingCallbacks(step=stop))
    train(tmp_path)
    weights = [folder / "decoder" / "model.safetensors" for folder in (tmp_path, trained)]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    (tmp_path / "decoder" / "model.safetensors").write_bytes(b"")
    with pytest.raises(BadCheckpointError, match="not the file that was written"):
        read_path_decoder(tmp_path)


def test_questions_without_a_path_teach_nothing(tmp_path: Path) -> None:
    empty = PoolFile(pool(0, 1).header, ())
    for train_on, choose_on, why in ((empty, pool(0, 3), "learn from"), (pool(0, 3), empty, "choose by")):
        with pytest.raises(NothingToLearnError, match=f"no question to {why}"):
            train_sets(
                KIND, CONFIG, [train_on], [choose_on], tmp_path, encode=LetterEncoder().encode, beside=VOCABULARY
            )


def test_tokens_have_as_many_phrases_as_a_checkpoint_reads() -> None:
    words = {**WORDS, "capital": RelationWords("", ("capital",), RelationMeaning(("seat", "main city"), ("led from",)))}
    assert RelationTokens.of(words, 1).texts[:2] == ("capital, seat", "capital, led from backwards")
    assert RelationTokens.of(words).texts == VOCABULARY.texts
    values = {
        "dimension": 8,
        "hidden": 8,
        "calibration": (1.0, 0.0),
        "config": {},
        "train": (),
        "dev": (),
        "figures": {},
    }
    for phrases, texts in ((0, VOCABULARY.texts), (1, RelationTokens.of(words, 1).texts)):
        description = PathDescription(**values, phrases=phrases)  # type: ignore[arg-type]
        encoder = LetterEncoder()
        model = PathModel(description, PathDecoder(encoder.dimension, 8), TextVectors(encoder))
        scorer = PathDecoderScorer(words, model)
        assert scorer._vocabulary.texts == texts
    assert "phrases" not in PathConfig().as_json()
    assert PathConfig(phrases=2).as_json()["phrases"] == 2
