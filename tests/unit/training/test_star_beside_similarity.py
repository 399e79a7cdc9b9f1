"""A dual encoder that learns beside the similarity that is trained on nothing, and what its probabilities are fitted on."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lodestar.engine.errors import InputError
from lodestar.engine.retrieval.dual_encoder import star_scorer
from lodestar.engine.retrieval.scoring import PathQuery, SimilarityScorer, mask_mention
from lodestar.engine.training.path_sets import split_mined
from lodestar.engine.training.running import check_disjoint_sets
from lodestar.engine.values import Entity, RelationPath, RelationStep, Topic
from lodestar.models.similarity import PEOPLE
from lodestar.models.star.config import DualOptions, StarConfig
from lodestar.models.star.dual_training import add_similarity
from lodestar.models.star.examples import examples_of, mark_remaining_paths, relations_of
from lodestar.models.star.kind import KIND
from lodestar.models.star.mined import INVERSE, THROUGH, MinedFile, PathTrie, words_of
from lodestar.models.star.scoring import StarModel, read_checkpoint
from lodestar.models.text.encoders import SentenceEncoder
from lodestar.models.text.vectors import TextVectors
from lodestar.models.text.verbalise import RelationMeaning, RelationWords
from lodestar.models.training.description import ModelDescription
from lodestar.models.training.objective import NotBetterError, TrainingOptions
from lodestar.models.training.trainer import check_better, fit_calibration

from tests.made.mined_examples import MINING, REACH, example_set, mined, questions, tiny_encoder
from tests.made.trainings import train_sets


def steps_of(hops: tuple[str, ...]) -> RelationPath:
    parts = [(part, at + 1 < len(hop)) for hop in (h.split(THROUGH) for h in hops) for at, part in enumerate(hop)]
    return RelationPath(tuple(RelationStep(p.removeprefix(INVERSE), p.startswith(INVERSE), via) for p, via in parts))


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> TextVectors:
    return TextVectors(SentenceEncoder(str(tiny_encoder(tmp_path_factory.mktemp("encoder")))))


@pytest.mark.parametrize("reach", [REACH, {"capital": {}, "borders": {}}])
def test_it_is_the_similarity_that_a_search_scores_by(reach: PathTrie, vectors: TextVectors) -> None:
    asked = tuple(replace(each, reach=(reach,)) for each in questions(0, 2))
    examples = add_similarity(examples_of(MinedFile(MINING, asked, "3" * 64)), vectors)
    example = examples.examples[0]
    assert example.similarity is not None
    paths = tuple(steps_of(examples.table.written[path]) for path in example.reachable.paths)
    topic = Topic(Entity(example.topic_ids[0], "Peru"), mention="Peru", matched_name="Peru")
    assert mask_mention(example.text, topic) == example.masked[0]
    first = np.log1p(len(reach))
    branching = tuple(
        first if path.num_hops == 1 else first + np.log1p(len(reach[examples.table.written[number][0]]))
        for path, number in zip(paths, example.reachable.paths, strict=True)
    )
    scorer = SimilarityScorer(words_of(MINING), vectors.encoder, vectors=vectors)
    (scores,) = scorer.score([PathQuery(example.text, (topic,) * len(paths), paths, branching)])
    assert {each.dtype for each in example.similarity} == {np.dtype(np.float32)}
    assert example.similarity[0] == pytest.approx(10 * scores.stop, abs=1e-4)
    assert example.similarity[1] == pytest.approx(10 * scores.extend, abs=1e-4)


def test_without_the_relations_that_lead_to_its_answers() -> None:
    examples = example_set(0, 1)
    example = examples.examples[0]
    left = [
        examples.table.written[path] for path in example.reachable.paths[mark_remaining_paths(example, examples.table)]
    ]
    assert left == [
        ("currency_used",), ("currency_used", "^currency_used"), ("borders",), ("borders", "borders"), ("treaty → ^signed",),
    ]  # fmt: skip
    assert relations_of(("a → ^b", "^c")) == {"a", "b", "c"}


@pytest.mark.parametrize("best", [0.3, 0.5, 0.8])
def test_without_the_relations_of_a_path_that_is_half_right_or_as_right_as_the_best(best: float) -> None:
    examples = example_set(0, 1)
    example = examples.examples[0]
    paths = [examples.table.written[path] for path in example.reachable.paths]
    f1 = np.array([best if path == ("borders",) else 0.0 for path in paths], dtype=np.float32)
    changed = replace(example, f1=f1, positive=np.zeros_like(example.positive))
    left = mark_remaining_paths(changed, examples.table)
    assert left.tolist() == ["borders" not in relations_of(path) for path in paths]


def test_probabilities_are_lower_where_some_have_no_answer() -> None:
    scored = [(3.0, 1.0), (2.0, 1.0), (1.0, 0.0), (0.0, 0.0), (2.5, 0.0)]
    assert fit_calibration(scored) == pytest.approx(fit_calibration(scored, [0.2] * 5))
    answered, all_ = fit_calibration(scored[:4]), fit_calibration(scored)

    def probability(fitted: tuple[float, float], score: float) -> float:
        return 1 / (1 + math.exp(-(fitted[0] * score + fitted[1])))

    assert all(probability(all_, score) < probability(answered, score) for score in (2.0, 2.5, 3.0))


def trained(folder: Path, similarity: float, *, any_graph: bool = False) -> Path:
    encoder = str(tiny_encoder(folder / "encoder"))
    config = StarConfig(
        scorer="similarity",
        encoder=encoder,
        dual=DualOptions(batch_size=3, similarity=similarity),
        dual_training=TrainingOptions(epochs=1),
    )
    train_sets(KIND, config, [mined(folder, 0, 3)], [mined(folder, 3, 5)], folder / "star", any_graph=any_graph)
    return folder / "star"


def test_a_checkpoint_scores_beside_the_similarity_it_learned_beside(tmp_path: Path) -> None:
    checkpoint = read_checkpoint(trained(tmp_path, 0.5))
    assert checkpoint.description.similarity == 0.5
    words = words_of(MINING)

    def vectors_of(description: ModelDescription) -> TextVectors:
        assert description.encoder == str(tmp_path / "encoder")
        return TextVectors(SentenceEncoder(description.encoder))

    paths = tuple(RelationPath((RelationStep(relation),)) for relation in ("capital", "borders"))
    topic = Topic(Entity("p", "Peru"), mention="Peru", matched_name="Peru")
    query = PathQuery("What is the capital of Peru?", (topic, topic), paths, (1.0, 1.0))
    alone = replace(checkpoint, description=replace(checkpoint.description, similarity=0.0))
    by_itself = star_scorer(words, StarModel(alone), vectors_of)
    (own,) = by_itself.score([query])
    assert by_itself.encoding_s == by_itself.model.encoding_s
    for meaning, weights in ((False, None), (True, PEOPLE)):
        told = replace(checkpoint, description=replace(checkpoint.description, meaning=meaning))
        scorer = star_scorer(words, StarModel(told), vectors_of)
        (both,) = scorer.score([query])
        (beside,) = SimilarityScorer(words, SentenceEncoder(str(tmp_path / "encoder")), weights=weights).score([query])
        assert both.stop == pytest.approx(own.stop + 0.5 * 10 * beside.stop, abs=1e-4)
        assert both.extend == pytest.approx(own.extend + 0.5 * 10 * beside.extend, abs=1e-4)
        assert scorer.encoding_s > scorer.model.encoding_s > 0


def test_a_general_checkpoint_says_so(tmp_path: Path) -> None:
    folder = trained(tmp_path, 0.0, any_graph=True)
    assert read_checkpoint(folder).description.any_graph
    card = (folder / "README.md").read_text()
    assert "on any graph" in card
    assert "never seen" in card


def test_nothing_is_learned_by_what_a_relation_is_numbered_or_called(tmp_path: Path) -> None:
    model = StarModel(read_checkpoint(trained(tmp_path, 0.0)))
    words = words_of(MINING)
    renamed = {f"r{number}": words[name] for number, name in enumerate(sorted(words, reverse=True))}
    topic = Topic(Entity("p", "Peru"), mention="Peru", matched_name="Peru")
    scores = [
        star_scorer(known, model, lambda _: pytest.fail("no similarity"))
        .score(
            [
                PathQuery(
                    "Which currency is used in Peru?",
                    (topic,) * len(names),
                    tuple(RelationPath((RelationStep(name),)) for name in names),
                    (0.0,) * len(names),
                )
            ]
        )[0]
        .stop
        for known, names in ((words, sorted(words, reverse=True)), (renamed, list(renamed)))
    ]
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)


def test_one_question_in_eight_of_a_file_is_kept_apart() -> None:
    whole = MinedFile(MINING, tuple(questions()), "3" * 64)
    learn, choose = split_mined(whole)
    assert sorted(q.id for q in (*learn.questions, *choose.questions)) == sorted(q.id for q in whole.questions)
    assert 0 < len(choose.questions) < len(learn.questions)
    assert split_mined(whole) == (learn, choose)
    assert len({whole.sha256, learn.sha256, choose.sha256}) == 3
    check_disjoint_sets([learn], [choose])
    with pytest.raises(InputError, match="to hold out one in eight, found 1: give --dev"):
        split_mined(replace(whole, questions=whole.questions[:1]))


MEANT = replace(
    MINING, meanings={"capital": RelationMeaning(("seat of government", "main city"), ("which country is led from",))}
)


def meant_sets() -> list[MinedFile]:
    return [MinedFile(MEANT, tuple(questions(*some)), sha * 64) for some, sha in (((0, 3), "a"), ((3, 5), "b"))]


def test_a_checkpoint_reads_as_many_phrases_as_it_learned_with_and_an_old_one_none(tmp_path: Path) -> None:
    config = StarConfig(
        encoder=str(tiny_encoder(tmp_path / "encoder")),
        phrases=1,
        dual=DualOptions(batch_size=3, similarity=1.0, meaning=True),
        dual_training=TrainingOptions(epochs=1),
        cross_training=TrainingOptions(epochs=1),
    )
    learn, choose = meant_sets()
    assert examples_of(learn, 1).table.texts[0] == "country capital, seat of government"
    assert examples_of(learn).table.texts[0] == "country capital"
    train_sets(KIND, config, [learn], [choose], tmp_path / "star", keep_worse=True)
    checkpoint = read_checkpoint(tmp_path / "star")
    assert (checkpoint.description.phrases, checkpoint.description.meaning) == (1, True)
    assert "it reads beside its words: 1, and all in" in (tmp_path / "star" / "README.md").read_text()
    words, bare = words_of(MEANT), words_of(MINING)
    first = {**words, "capital": replace(words["capital"], meaning=RelationMeaning(("seat of government",)))}
    topic = Topic(Entity("p", "Peru"), mention="Peru", matched_name="Peru")
    query = PathQuery("What is the main city of Peru?", (topic,), (RelationPath((RelationStep("capital"),)),), (1.0,))

    def scores(known: dict[str, RelationWords], num_phrases: int) -> list[float]:
        told = replace(checkpoint.description, phrases=num_phrases, similarity=0.0)
        scorer = star_scorer(known, StarModel(replace(checkpoint, description=told)), lambda _: pytest.fail("none"))
        pair = (query.question, topic, query.paths[0])
        return [float(scorer.score([query])[0].stop[0]), float(scorer.read([pair])[0])]

    assert scores(words, 1) == pytest.approx(scores(first, 1))
    for one, other in zip(scores(words, 1), scores(bare, 1), strict=True):
        assert one != pytest.approx(other)
    assert scores(words, 0) == pytest.approx(scores(bare, 0))


def test_the_similarity_beside_it_reads_phrases_only_where_it_learned_so(vectors: TextVectors) -> None:
    (learn, _) = meant_sets()
    plain = replace(learn, mining=MINING)
    of_old, of_people = (
        [add_similarity(examples_of(each), vectors, weights).examples[0].similarity for each in (learn, plain)]
        for weights in (None, PEOPLE)
    )
    assert np.array_equal(of_old[0], of_old[1])  # type: ignore[arg-type]
    assert not np.array_equal(of_people[0], of_people[1])  # type: ignore[arg-type]


def test_without_a_similarity_beside_it_there_is_nothing_untrained_to_be_better_than(tmp_path: Path) -> None:
    config = StarConfig(
        scorer="similarity",
        encoder=str(tiny_encoder(tmp_path / "encoder")),
        dual=DualOptions(batch_size=3, similarity=0.0, meaning=True),
        dual_training=TrainingOptions(epochs=1),
    )
    learn, choose = meant_sets()
    assert list(train_sets(KIND, config, [learn], [choose], tmp_path / "star").figures) == ["dual encoder"]


def test_a_checkpoint_that_is_not_better_than_none_is_not_written(tmp_path: Path) -> None:
    found = {"selection_metric": 0.5}
    check_better(found, {"selection_metric": 0.4}, 4)
    with pytest.raises(NotBetterError, match=r"on 4 dev questions the trained scorer has 0\.500, the one without"):
        check_better(found, found, 4)
    config = StarConfig(
        scorer="similarity",
        encoder=str(tiny_encoder(tmp_path / "encoder")),
        dual=DualOptions(batch_size=3, similarity=100.0, meaning=True),  # whatever is learned, the order stays
        dual_training=TrainingOptions(epochs=1),
    )
    learn, choose = meant_sets()
    folder = tmp_path / "star"
    with pytest.raises(NotBetterError):
        train_sets(KIND, config, [learn], [choose], folder)
    assert not (folder / "star.json").exists()
    figures = train_sets(KIND, config, [learn], [choose], folder, keep_worse=True).figures
    assert figures["dual encoder"]["selection_metric"] == figures["without training"]["selection_metric"]
