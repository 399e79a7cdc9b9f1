"""What a candidate's second probability is made of: features by hand, and which way each of them counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
import torch
from lodestar.engine.errors import CheckpointError
from lodestar.engine.indexes.entity_index import EntityTypes
from lodestar.engine.linking.full_text import FullTextLinker
from lodestar.engine.linking.reranking import (
    FEATURES,
    RELATION_FEATURES,
    TRAINED_FEATURES,
    LogisticReranker,
    RelationFeatureExtractor,
    compute_features,
    compute_linker_features,
)
from lodestar.engine.linking.trained_reranker import TrainedReranker, make_trained_reranker
from lodestar.engine.neo4j.catalogue import Catalogue
from lodestar.engine.neo4j.graph import NamedEntity
from lodestar.engine.values import Entity, Topic
from lodestar.models.linker.config import LinkedCandidates, LinkerConfig, LinkerDescription
from lodestar.models.linker.training import CandidateScorer, LinkerObjective, linker_figures, read_linker
from lodestar.models.similarity import SimilarityWeights
from lodestar.models.text.vectors import TextVectors
from lodestar.models.text.verbalise import RelationMeaning, RelationWords
from lodestar.models.training.checkpoint import read_weights
from lodestar.models.training.objective import NothingToLearnError, TrainingOptions

from tests.made.every_kind import lesson, teach

NOTHING = np.zeros((1, len(RELATION_FEATURES)))


def topic(probability: float) -> Topic:
    return Topic(Entity("a", "A"), score=probability, features=tuple(float(n) for n in range(21)))


def test_figures_by_hand() -> None:
    """Of two topics the first and the third candidate are right: one of one, and two of two."""
    at_1, at_3, loss = linker_figures(np.array([2.0, 1.0, 0.0]), np.array([True, False, True]), 2)
    assert (at_1, at_3) == (1.0, 1.0)
    assert loss == pytest.approx(math.log1p(math.exp(-2)) + math.log1p(math.e) + math.log(2))
    recalls = linker_figures(np.array([2.0, 1.0]), np.array([False, True]), 5)[:2]
    assert list(recalls) == pytest.approx([0.0, 1 / 3])


def test_a_linker_of_other_features_is_refused() -> None:
    network = CandidateScorer(len(TRAINED_FEATURES), 1)
    same, other = (
        cast(LinkerDescription, SimpleNamespace(features=each)) for each in (TRAINED_FEATURES, TRAINED_FEATURES[::-1])
    )
    assert make_trained_reranker("linker", same, network).description is same
    with pytest.raises(CheckpointError, match="linker was trained on other features than Lodestar has"):
        make_trained_reranker("linker", other, network)


def test_a_linker_looks_at_a_hundred_candidates_at_most() -> None:
    assert LinkerConfig(candidates=100, hidden=1).candidates == 100
    with pytest.raises(ValueError, match="expected 1 to 100 for candidates, found 101"):
        LinkerConfig(candidates=101)


def test_features_by_hand() -> None:
    """1, ln p / (1 − p), then those of the relations; of p = 0.9 and 0.5: ln 9 and 0."""
    relations = np.arange(10.0).reshape(2, 5)
    found = compute_features([topic(0.9), topic(0.5)], relations)
    np.testing.assert_allclose(found, [[1.0, math.log(9), 0, 1, 2, 3, 4], [1.0, 0, 5, 6, 7, 8, 9]])
    assert np.isfinite(compute_features([topic(1.0)], NOTHING)).all()


DIRECTIONS = {"capital": (0.8, 0.6), "river": (0.6, 0.8)}


def direction(text: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(DIRECTIONS.get(text, (1.0, 0.0)))


VECTORS = cast(
    TextVectors,
    SimpleNamespace(
        encode=lambda _: None,
        encode_tokens=lambda _: None,
        sentence=direction,
        tokens=lambda text: direction(text)[None],
    ),
)


def test_a_candidate_whose_best_hop_fits_less_is_below_the_best_of_all() -> None:
    """Cosine, support and kind reached are .8 and .6 each: below by .2 (1 + the weights of support and kind)."""
    words = {number: RelationWords("", (name,)) for number, name in enumerate(DIRECTIONS, 1)}
    kinds = cast(EntityTypes, SimpleNamespace(of=lambda *_: ()))
    some = [
        Topic(Entity(id_, id_), mention="Lima", span=(8, 12), relations=numbers)
        for id_, numbers in (("b", (2,)), ("a", (2, 1)))
    ]
    found, nothing = RelationFeatureExtractor(words, kinds, VECTORS).features(["what is Lima", "what?"], [some, ()])
    assert nothing.shape == (0, 5)
    weights = SimilarityWeights()
    assert found[:, 1] == pytest.approx([-0.2 * (1 + weights.support + weights.type), 0])
    assert found[:, 2] == pytest.approx([math.log(2) / 5, math.log(3) / 5])


@pytest.mark.parametrize(
    ("words", "number", "read", "reached"),
    [
        (RelationWords("", ("river",)), 1, 0.6, 0.6),
        (RelationWords("capital", ("river",)), -1, 1.0, 0.8),
        (RelationWords("", ("river",)), -1, 0.6, 0.25),
        (RelationWords("", ("river",), RelationMeaning(forward=("capital",))), 1, 0.8, 0.6),
    ],
)
def test_a_hop_is_read_in_the_phrase_that_fits_best_and_reaches_a_kind_or_nobody_knows_which(
    words: RelationWords, number: int, read: float, reached: float
) -> None:
    """The texts are held against (1, 0): "river" is .6 of it, "capital" .8, and "river capital" all of it."""
    kinds = cast(EntityTypes, SimpleNamespace(of=lambda *_: ()))
    some = [Topic(Entity("a", "a"), mention="Lima", span=(8, 12), relations=(number,))]
    (found,) = RelationFeatureExtractor({1: words}, kinds, VECTORS).features(["what is Lima"], [some])
    assert found[0, 0] == pytest.approx(read + 0.5 * read + 0.4 * reached)


def test_two_hundred_hops_of_a_candidate_are_looked_at() -> None:
    """S is .6 of each with the words "river" and .8 of the one with "capital": the 200th, or the 201st."""
    kinds = cast(EntityTypes, SimpleNamespace(of=lambda *_: ()))

    def best(place: int) -> float:
        words = {n: RelationWords("", ("capital" if n == place else "river",)) for n in range(1, 202)}
        some = [Topic(Entity("a", "a"), mention="Lima", span=(8, 12), relations=tuple(range(1, 202)))]
        (found,) = RelationFeatureExtractor(words, kinds, VECTORS).features(["what is Lima"], [some])
        return float(found[0, 0])

    weights = SimilarityWeights()
    assert best(200) == pytest.approx(best(201) + 0.2 * (1 + weights.support + weights.type))


@pytest.mark.parametrize(
    ("text", "span", "beside", "within"),
    [
        ("which city is Lima", (14, 18), 1, 1),
        ("which city there is Lima", (20, 24), 0, 1),
        ("is Lima a big city", (3, 7), 0, 1),
        ("is Lima one city", (3, 7), 1, 1),
        ("cities and Lima", (11, 15), 0, 0),
        ("which citys are Lima", (16, 20), 1, 1),
        ("is City Hall Lima", (3, 12), 0, 0),
        ("city Lima", None, 1, 1),
    ],
)
def test_what_a_candidate_is_stands_two_words_from_its_mention_or_anywhere(
    text: str, span: tuple[int, int] | None, beside: int, within: int
) -> None:
    kinds = cast(EntityTypes, SimpleNamespace(of=lambda *_: ("city", "capital city")))
    (found,) = RelationFeatureExtractor({}, kinds, VECTORS).features([text], [[Topic(Entity("a"), span=span)]])
    assert found[0].tolist() == [0, 0, 0, beside, within]


def test_the_weights_of_the_second_probability() -> None:
    """−.63 + .98 · 0 + 1.33 · .5 − 3.01 · .1 + .49 · .4 + .27 − .45 = −.25"""
    found = LogisticReranker().compute_probabilities([topic(0.5)], np.array([[0.5, -0.1, 0.4, 1.0, 1.0]]))
    assert found == pytest.approx([1 / (1 + math.exp(0.25))])


def test_features_of_a_trained_linker_by_hand() -> None:
    """Those of the words without the 1, the log-odds, how far these are below the best, then those of the relations."""
    found = compute_linker_features([topic(0.9), topic(0.5)], np.arange(10.0).reshape(2, 5))
    assert found.shape == (2, len(TRAINED_FEATURES))
    np.testing.assert_allclose(found[:, :20], [range(1, 21)] * 2)
    np.testing.assert_allclose(found[:, 20:], [[math.log(9), 0, *range(5)], [0, -math.log(9), *range(5, 10)]])


@pytest.mark.parametrize("feature", FEATURES[1:5])
def test_a_name_that_fits_and_relations_that_fit_raise_the_probability(feature: str) -> None:
    """The log-odds by words, S of the best hop, how near it is to the best of all, and the number of relations."""
    p = []
    for more in (0, 1):
        relations = NOTHING.copy()
        if feature in RELATION_FEATURES:
            relations[0, RELATION_FEATURES.index(feature)] = more
        score = 0.5 + 0.4 * more * (feature == "log-odds by words")
        p.append(LogisticReranker().compute_probabilities([topic(score)], relations)[0])
    assert p[1] > p[0] + 0.05


@pytest.mark.parametrize(
    ("question", "mentions", "kept"),
    [
        ("Which persons directed a movie?", {"persons": (-1,), "movie": (-1,)}, ["movie"]),
        ("Which persons directed a movie?", {"persons": (-1, 2), "movie": (-1,)}, ["persons", "movie"]),
        ("Which persons directed a movie?", {"persons": (-2,), "movie": (-1,)}, ["persons", "movie"]),
        ("What kind of persons directed a movie?", {"persons": (-1,), "movie": (-1,)}, ["movie"]),
        ("Who are the persons of Heat?", {"persons": (-1,), "Heat": (2,)}, ["persons", "Heat"]),
        ("Which movies are there?", {"movies": (-1,)}, ["movies"]),
    ],
)
def test_the_type_that_is_asked_for_is_no_topic_beside_another(
    question: str, mentions: Mapping[str, tuple[int, ...]], kept: Sequence[str]
) -> None:
    words = {1: RelationWords("", ("type",)), 2: RelationWords("", ("directed",))}
    evidence = RelationFeatureExtractor(words, EntityTypes(Catalogue(())), cast(TextVectors, None))
    topics = [
        Topic(Entity(text), relations=relations, span=(at := question.index(text), at + len(text)))
        for text, relations in mentions.items()
    ]
    assert [topic.entity.id for topic in evidence.leave_out_asked_type(question, topics)] == kept


def test_each_typo_lowers_the_probability() -> None:
    def likely(name: str) -> float:
        (found,) = FullTextLinker().rank("where is liechtenstein", [NamedEntity(Entity("a", name), (name,), 100)])
        assert found.probability is not None
        return found.probability

    without, one, two = (
        math.log(p / (1 - p)) for p in map(likely, ("Liechtenstein", "Liechtenstain", "Leichtenstain"))
    )
    assert without > one + 0.5
    assert one > two + 0.5


def test_a_trained_linker_learns_which_way_a_feature_counts() -> None:
    """Of three features the first is of topics, the second of all others, the third says nothing and does not vary."""
    chance = np.random.default_rng(0)
    is_topic = np.tile([True, False, False], 30)
    noise = 0.3 * chance.standard_normal((90, 2))
    features = np.column_stack([is_topic + noise[:, 0], ~is_topic + noise[:, 1], np.ones(90)]).astype(np.float32)
    data = LinkedCandidates(
        "set", "1" * 64, "2" * 64, tuple(f"q{n}" for n in range(30)), ("yes", "no", "same"), features, is_topic,
        np.arange(31) * 3, np.ones(30, dtype=np.int64),
    )  # fmt: skip
    torch.manual_seed(0)
    objective = LinkerObjective(CandidateScorer(3, 4), [data], [data], LinkerConfig(training=TrainingOptions()))
    network = objective.network
    optimiser = torch.optim.Adam(network.parameters(), lr=0.1)
    for epoch in range(20):
        objective.begin(epoch)
        for step in range(objective.steps_per_epoch):
            optimiser.zero_grad()
            objective.loss(network, step, (0, 1)).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    with torch.no_grad():
        base, yes, no = network(torch.tensor([[0.5, 0.5, 1.0], [1.0, 0.5, 1.0], [0.5, 1.0, 1.0]])).tolist()
    assert yes > base + 0.5 > no + 1
    assert objective.evaluate()["recall_at_1"] == 1


def test_one_set_with_a_topic_among_its_candidates_is_enough_to_learn_from_and_to_choose_by() -> None:
    some = LinkedCandidates(
        "set", "1" * 64, "2" * 64, ("a",), ("one",), np.zeros((2, 1), dtype=np.float32),
        np.array([True, False]), np.array([0, 2]), np.ones(1, dtype=np.int64),
    )  # fmt: skip
    none = replace(some, is_topic=np.array([False, False]))
    assert LinkerObjective(CandidateScorer(1, 1), [none, some], [some, none], LinkerConfig()).steps_per_epoch == 1
    with pytest.raises(NothingToLearnError, match="no question to learn from"):
        LinkerObjective(CandidateScorer(1, 1), [none, none], [some], LinkerConfig())
    with pytest.raises(NothingToLearnError, match="no question to choose by"):
        LinkerObjective(CandidateScorer(1, 1), [some], [none], LinkerConfig())


def test_a_loss_is_the_mean_of_the_candidates_of_the_questions_that_have_any() -> None:
    """The logit of a candidate is its feature, of mean 0 and spread 1. Of three questions of the first set one has a
    topic with 1, one no candidate, and one a candidate with -1 that is no topic. The other set has a topic with -1 and
    a candidate with 1 that is none."""
    some, other = (
        LinkedCandidates(
            "set", "1" * 64, "2" * 64, ids, ("one",), np.array([[first], [-first]], dtype=np.float32),
            np.array([True, False]), np.array(starts), np.ones(len(ids), dtype=np.int64),
        )
        for ids, first, starts in ((("a", "b", "c"), 1.0, [0, 1, 1, 2]), (("d",), -1.0, [0, 2]))
    )  # fmt: skip
    right, wrong = math.log1p(math.exp(-1)), math.log1p(math.e)
    for batch_size, expected in ((1, [right, right, wrong]), (3, [(right + wrong) / 2])):
        network = CandidateScorer(1, 1)
        objective = LinkerObjective(network, [some, other], [some], LinkerConfig(batch_size=batch_size))
        torch.nn.init.ones_(network.linear.weight)
        torch.nn.init.zeros_(network.linear.bias)
        losses = [objective.loss(network, step, (0, 1)).item() for step in range(objective.steps_per_epoch)]
        assert sorted(losses) == pytest.approx(expected)


def test_dev_figures_are_means_of_questions_and_of_candidates() -> None:
    """A linker that knows nothing yet: the first candidate is its first; of three questions one has no candidate."""
    data = LinkedCandidates(
        "set", "1" * 64, "2" * 64, ("a", "b", "c"), ("one",), np.zeros((3, 1), dtype=np.float32),
        np.array([True, False, False]), np.array([0, 2, 2, 3]), np.ones(3, dtype=np.int64),
    )  # fmt: skip
    network = CandidateScorer(1, 1)
    torch.nn.init.zeros_(network.linear.weight)
    torch.nn.init.zeros_(network.linear.bias)
    figures = LinkerObjective(network, [data], [data, data], LinkerConfig()).evaluate()
    assert figures == pytest.approx(
        {
            "recall_at_1": 1 / 3,
            "recall_at_3": 1 / 3,
            "loss": math.log(2),
            "selection_metric": 1 / 3 - 0.1 * math.log(2),
        }
    )


def test_a_trained_linker_comes_back_as_it_was_written(tmp_path: Path) -> None:
    description = teach(lesson("linker"), tmp_path / "linker", TrainingOptions(epochs=2))
    found, network = read_linker(tmp_path / "linker")
    assert found == description
    assert (found.features, found.hidden, found.candidates) == (("name", "degree"), 4, 20)
    assert not network.training
    written = read_weights(tmp_path / "linker" / "mlp")
    assert {name: each.tolist() for name, each in network.state_dict().items()} == {
        name: each.tolist() for name, each in written.items()
    }


def test_a_trained_linker_reads_features_by_their_mean_and_spread() -> None:
    """Two candidates with (1, 5) and (2, 5): mean (1.5, 5), spread (.5, 1 for want of any); w = (2, 7), b = .5."""
    network = CandidateScorer(2, 3)
    network.standardise(torch.tensor([[1.0, 5.0], [2.0, 5.0]]))
    with torch.no_grad():
        network.linear.weight.copy_(torch.tensor([[2.0, 7.0]]))
        network.linear.bias.fill_(0.5)
        assert network(torch.tensor([[4.0, 6.0]])).tolist() == pytest.approx([2 * (4 - 1.5) / 0.5 + 7 * (6 - 5) + 0.5])


def test_a_trained_linkers_probability_is_its_calibrated_logit() -> None:
    """σ(2 · logit − 1); the logit of one weight of 3 on the first feature, which is 1 of `topic`, is 3."""
    network = CandidateScorer(len(TRAINED_FEATURES), 1)
    with torch.no_grad():
        network.linear.weight.zero_()[0, 0] = 3.0
        network.linear.bias.zero_()
    description = cast(LinkerDescription, SimpleNamespace(calibration=(2.0, -1.0)))
    found = TrainedReranker(description, network).compute_probabilities([topic(0.9)], NOTHING)
    assert found == pytest.approx([1 / (1 + math.exp(-(2 * 3 - 1)))])
