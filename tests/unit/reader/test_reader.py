"""The reader: its features by hand, what it learns from made questions, and the answers it gives."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lodestar.engine.answering.candidates import compute_log_odds, find_candidates
from lodestar.engine.answering.reader import (
    WORDS,
    ReaderAnswerer,
    _compute_score,
    encode_questions,
    make_reader_columns,
)
from lodestar.engine.errors import UsageError
from lodestar.engine.evidence.calibration import Calibration
from lodestar.engine.evidence.chain import Chain
from lodestar.engine.evidence.evidence import Answer, Evidence, Kind
from lodestar.engine.evidence.extras import FormResult
from lodestar.engine.relations.words import split_relation_name
from lodestar.engine.values import Entity, Question, Scored, Topic, Triple
from lodestar.models.reader.features import NAMES, SPAN, asks_for_one, way_features
from lodestar.models.reader.fitting import (
    FOLDS,
    ReaderTrainingSet,
    _fit_plan,
    _fit_weights,
    figures,
    fit_logistic_regression,
    fit_reader,
)
from lodestar.models.reader.model import (
    ABSENT,
    ANSWER_FEATURES,
    NameWeights,
    Reader,
    SourceWeights,
    answer_features,
    shipped_reader,
)
from lodestar.models.similarity import UNKNOWN_TYPE
from lodestar.models.text.vectors import TextVectors
from lodestar.models.training.kind import BadCheckpointError
from lodestar.models.whole_file import file_sha256

from tests.fakes.letter_encoder import LetterEncoder
from tests.made.evidence import evidence_of, leads, ranked
from tests.made.trainings import train_sets

FILM, BY, OTHER, YEAR = (Entity(name, name) for name in ("film", "director", "other film", "1999"))
WORDS_OF = {
    name: split_relation_name(name)
    for name in ("directed_by", "year", "seen_by", "cast", "actor", "on", "made", "kind")
}
UNIT = Calibration("logit", of="triple")


def asked(text: str, *scored: tuple[Triple, float]) -> Evidence[Triple]:
    items = tuple(Scored(triple, score) for triple, score in sorted(scored, key=lambda pair: -pair[1]))
    return Evidence(Question(text), (Topic(FILM),), "triple", items, UNIT)


def one_hop() -> Evidence[Triple]:
    """The director is asked for: the other film leads on from there, and is unlikely."""
    return asked(
        "who directed film",
        (Triple(FILM, "directed_by", BY), 3.0),
        (Triple(OTHER, "directed_by", BY), -3.0),
        (Triple(FILM, "year", YEAR), -2.0),
    )


def two_hops() -> Evidence[Triple]:
    """The films of the same director are asked for: each beginning is as likely as the whole."""
    return asked(
        "which films have the director of film",
        (Triple(FILM, "directed_by", BY), 3.0),
        (Triple(OTHER, "directed_by", BY), 2.5),
        (Triple(FILM, "year", YEAR), -2.0),
    )


class WordEncoder(LetterEncoder):
    """Letters of a text, and of each of its words for tokens."""

    def encode_tokens(self, texts: Sequence[str]) -> list[Any]:
        return [(self.encode([text])[0], self.encode(text.split() or [""])) for text in texts]


def vectors() -> TextVectors:
    return TextVectors(WordEncoder())


def readings(evidence: Sequence[Evidence[Triple]], right: Sequence[Entity]) -> ReaderTrainingSet:
    found = find_candidates(evidence)
    columns = make_reader_columns(found, evidence, WORDS_OF, vectors())
    is_right = [right[q] == each for q, each in zip(found.question.tolist(), found.entities, strict=True)]
    return ReaderTrainingSet(
        "made",
        "",
        "",
        tuple(each.question.text for each in evidence),
        tuple(frozenset({str(place)}) for place in range(len(evidence))),
        vectors().stack([each.question.text for each in evidence]),
        found.starts,
        np.array(is_right),
        np.ones(len(evidence), dtype=np.int64),
        tuple(columns),
    )


def trained() -> Reader:
    return fit_reader([readings([one_hop(), two_hops()] * 10, [BY, OTHER] * 10)])


def answerer(reader: Reader, least: float = 0.0) -> ReaderAnswerer:
    return ReaderAnswerer(reader, WORDS_OF, vectors(), min_probability=least, sure_from=0.5)


def test_features_by_hand() -> None:
    evidence = [two_hops()]
    found = find_candidates(evidence)
    ((_, kind, ways),) = make_reader_columns(found, evidence, WORDS_OF, vectors())
    x = {found.entities[row].id: dict(zip(NAMES, values, strict=True)) for row, values in
         zip(ways.candidate.tolist(), way_features(ways), strict=True)}  # fmt: skip
    assert kind == "triple"
    assert {each: x[each]["two"] for each in x} == {"director": 0, "other film": 1, "1999": 0}
    assert x["director"]["chain"] == 3.0
    assert x["other film"]["chain"] == 2.5  # its weakest step
    assert x["other film"]["steady"] == pytest.approx(0.25)
    assert x["other film"]["behind"] == pytest.approx(-0.5)
    assert x["director"]["on"] == x["director"]["on_first"] == pytest.approx(-0.5)
    assert x["other film"]["stops"] == 1
    assert x["1999"]["rank"] == pytest.approx(-np.log(3))
    assert all(x[each]["ends"] == pytest.approx(np.log(2)) for each in x)
    assert set(WORDS) == set(NAMES)


def test_newton_finds_the_log_odds_of_a_share() -> None:
    x = np.array([[0.0], [0.0], [0.0], [0.0], [1.0], [1.0], [1.0], [1.0]])
    y = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0])
    slope, start = fit_logistic_regression(x, y, np.full(8, 1 / 8), 0.0)
    assert (start, start + slope) == pytest.approx((np.log(1 / 3), np.log(3)), abs=1e-4)


def test_it_learns_to_go_on_where_the_best_chain_stops() -> None:
    reader = trained()
    first, second = answerer(reader).answer_batch([one_hop(), two_hops()])
    assert [each.id for each in first.entities] == ["director"]
    assert [each.id for each in second.entities] == ["other film"]
    assert figures(readings([one_hop(), two_hops()], [BY, OTHER]), reader)["f1"] == 1


def test_an_answer_says_why_and_what_it_rests_on() -> None:
    (answer,) = answerer(trained()).answer_batch([two_hops()])
    assert answer.why and answer.why[-1].startswith("ahead of ")
    (item,) = [answer.evidence.items[place] for place in answer.entities[0].evidence]
    assert isinstance(item.value, Chain)
    assert str(item.value.relation_path) == "directed_by → ^directed_by"
    assert answer.confidence is not None and 0 <= answer.confidence <= 1
    assert answer.entities[0].confidence is not None


def test_an_answer_is_explained_by_what_it_has_before_the_next_candidate() -> None:
    """Chains of 3 and 2.5: the difference speaks for the first, not the whole score."""
    evidence = asked(
        "what is the first film", (Triple(FILM, "directed_by", BY), 3.0), (Triple(FILM, "year", YEAR), 2.5)
    )
    weights = np.where([name == "chain" for name in NAMES], 1.0, 0.0)
    (answer,) = answerer(Reader({"triple": SourceWeights(weights, 0.0)}, trained=True)).answer_batch([evidence])
    assert answer.names == ("director",)
    assert answer.why == ("its chain is likely (+0.5)", "ahead of 1999")


@pytest.mark.parametrize(
    ("weights", "reasons"),
    [
        (
            {"rank": 1.0, "chain": 1.0, "behind": 0.6, "last": 0.2},
            ("its chain is among the first (+0.7)", "its chain is likely (+0.5)", "no chain is likelier than its own (+0.3)"),
        ),
        ({"chain": 1.0, "last": 0.12}, ("its chain is likely (+0.5)", "the triple that leads to it is likely (+0.1)")),
        ({"chain": 1.0, "last": 0.08}, ("its chain is likely (+0.5)",)),
    ],
)  # fmt: skip
def test_of_the_reasons_three_are_said_and_none_that_hardly_counts(
    weights: dict[str, float], reasons: tuple[str, ...]
) -> None:
    evidence = asked(
        "what is the first film", (Triple(FILM, "directed_by", BY), 3.0), (Triple(FILM, "year", YEAR), 2.5)
    )
    source = SourceWeights(np.array([weights.get(name, 0.0) for name in NAMES]), 0.0)
    (answer,) = answerer(Reader({"triple": source}, trained=True)).answer_batch([evidence])
    assert answer.why == (*reasons, "ahead of 1999")


def test_a_reason_says_what_the_first_has_less_of() -> None:
    weights = np.array([{"chain": 1.0, "two": -4.0}.get(name, 0.0) for name in NAMES])
    (answer,) = answerer(Reader({"triple": SourceWeights(weights, 0.0)}, trained=True)).answer_batch([two_hops()])
    assert answer.why == ("it is not two hops away (+4.0)", "its chain is likely (+0.5)", "ahead of other film")


def test_ten_chains_of_triples_are_shown() -> None:
    names = [f"r{number:02}" for number in range(11)]
    evidence = asked("which films has film", *((Triple(FILM, name, Entity(name, name)), 5.0) for name in names))
    weights = SourceWeights(np.where([name == "chain" for name in NAMES], 1.0, 0.0), 0.0)
    words = {name: split_relation_name(name) for name in names}
    reading = ReaderAnswerer(
        Reader({"triple": weights}, trained=True), words, vectors(), min_probability=0.0, sure_from=0.5
    )
    (answer,) = reading.answer_batch([evidence])
    assert len(answer.evidence.items) == 10
    assert [entity.evidence for entity in answer.entities] == [*((place,) for place in range(10)), ()]


@pytest.mark.parametrize(("number", "more"), [(9, ""), (10, ""), (11, " and 1 more"), (13, " and 3 more")])
@pytest.mark.parametrize(("score", "said"), [(5.0, ""), (-0.5, "unsure: perhaps ")])
def test_ten_answers_are_named_and_the_others_counted(number: int, more: str, score: float, said: str) -> None:
    ends = [Entity(f"{place}", f"film {place}") for place in range(number)]
    evidence = asked("which films has film", *((Triple(FILM, "directed_by", end), score) for end in ends))
    weights = np.where([name == "chain" for name in NAMES], 1.0, 0.0)
    calibration = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    reader = Reader({"triple": SourceWeights(weights, 0.0)}, calibration=calibration, trained=True)
    (answer,) = answerer(reader).answer_batch([evidence])
    assert len(answer.entities) == number
    assert answer.text == said + ", ".join(answer.names[:10]) + more
    assert answer.unsure is bool(said)


def test_features_of_an_answer_by_hand() -> None:
    evidence = [two_hops()]
    found = find_candidates(evidence)
    weights = np.where([name == "chain" for name in NAMES], 1.0, 0.0)
    reader = Reader({"triple": SourceWeights(weights, 0.0)}, trained=True)
    read = reader.read(make_reader_columns(found, evidence, WORDS_OF, vectors()))
    place = {each.id: row for row, each in enumerate(found.entities)}
    by = dict(zip(ANSWER_FEATURES, answer_features(read, np.argsort(-read.logits)), strict=True))
    assert by == pytest.approx({"logit": 3.0, "lead": 0.5, "two": 0, "three": 0, "ends": np.log(2)})
    film = answer_features(read, np.array([place["other film"], place["1999"]]))
    assert film == pytest.approx([2.5, 4.5, 1, 0, np.log(2)])
    alone = answer_features(read, np.array([place["other film"]]))
    assert alone[1] == SPAN


def test_the_lead_is_before_what_another_chain_leads_to() -> None:
    """A chain of 3 has two ends; the director is of a chain of −1."""
    years = (YEAR, Entity("2000", "2000"))
    evidence = [
        asked("?", *((Triple(FILM, "year", each), 3.0) for each in years), (Triple(FILM, "directed_by", BY), -1.0))
    ]
    found = find_candidates(evidence)
    weights = np.where([name == "chain" for name in NAMES], 1.0, 0.0)
    reader = Reader({"triple": SourceWeights(weights, 0.0)}, trained=True)
    read = reader.read(make_reader_columns(found, evidence, WORDS_OF, vectors()))
    place = {each.id: row for row, each in enumerate(found.entities)}
    for order in (("1999", "2000", "director"), ("2000", "1999", "director")):
        features = answer_features(read, np.array([place[each] for each in order]))
        assert features[:2].tolist() == [3.0, 4.0]


def test_an_answer_two_hops_away_has_a_confidence_of_its_own() -> None:
    by_hops = np.array([1.0, 0.0, -2.0, 0.0, 0.0, 0.5])
    reader = Reader({}, calibration=by_hops, trained=True)
    near, far = (reader.confidence(np.array([1.0, 0.0, two, 0.0, 0.0])) for two in (0.0, 1.0))
    assert (near, far) == pytest.approx((1 / (1 + np.exp(-1.5)), 1 / (1 + np.exp(0.5))))


def test_below_the_least_probability_there_is_no_answer() -> None:
    (answer,) = answerer(trained(), least=1.0).answer_batch([two_hops()])
    assert not answer.found and answer.confidence is not None


def test_a_batch_says_what_single_questions_say() -> None:
    reading = answerer(trained())
    together = reading.answer_batch([one_hop(), two_hops()])
    assert together == [reading.answer_batch([each])[0] for each in (one_hop(), two_hops())]


def test_nothing_found_is_no_answer() -> None:
    (answer,) = answerer(trained()).answer_batch([Evidence(Question("?"), (), "chain", note="nothing is known")])
    assert answer.text == "no answer found: nothing is known"


def test_a_literal_is_an_answer_like_any_entity() -> None:
    value = Entity('"1999"', "1999", is_literal=True)
    evidence = asked("when was film", (Triple(FILM, "year", value), 3.0))
    (answer,) = answerer(trained()).answer_batch([evidence])
    assert [(each.name, each.id) for each in answer.entities] == [("1999", '"1999"')]


def test_a_reader_of_another_recipe_is_refused() -> None:
    other = Reader({"star": SourceWeights(np.zeros(len(NAMES)), 0.0)}, trained=True)
    with pytest.raises(UsageError, match="trained with another recipe"):
        answerer(other).answer_batch([one_hop()])


def test_a_source_that_found_nothing_counts_as_one_without_a_way() -> None:
    weights = SourceWeights(np.zeros(len(NAMES)), 1.0, 0.5)
    reader = Reader({"triple": weights, "star": weights}, trained=True)
    evidence = [one_hop()]
    read = reader.read(make_reader_columns(find_candidates(evidence), evidence, WORDS_OF, vectors()))
    assert read.logits == pytest.approx([0.5 + 0.5 * ABSENT] * 3)


@pytest.mark.parametrize("kind", ["chain", "triple"])
def test_a_source_that_found_nothing_about_no_topic_leaves_the_candidates_of_the_others(kind: Kind) -> None:
    nothing: Evidence[Any] = Evidence(Question("?"), (), kind)
    chains = evidence_of(*ranked(leads("year", YEAR, topic=FILM)))
    evidence = [replace(chains, sources=(("gnn", nothing), ("star", chains)))]
    found = find_candidates(evidence)
    assert found.entities == (YEAR,)
    assert [(each.name, each.candidate.tolist()) for each in found.sources] == [("gnn", []), ("star", [0])]
    columns = ("question", "topic", "hops", "length", "num_ends", "item")
    whole = [getattr(found.sources[0].chains, name) for name in columns]
    whole.append(find_candidates([nothing]).question)
    assert all(np.issubdtype(each.dtype, np.integer) for each in whole), "also where there are none"
    weights = SourceWeights(np.zeros(len(NAMES)), 1.0, 0.5)
    read = Reader({"gnn": weights, "star": weights}, trained=True).read(
        make_reader_columns(found, evidence, WORDS_OF, vectors())
    )
    assert read.logits == pytest.approx([0.5 + 0.5 * ABSENT])


def test_a_source_counts_by_its_name_or_by_its_kind_and_shipped_ones_alike() -> None:
    """Of a reader of your own a source without a way is −6 · share; shipped weights know nothing of what is missing."""
    by_kind, named = (SourceWeights(np.zeros(len(NAMES)), bias, 0.5) for bias in (1.0, 4.0))
    evidence = [one_hop()]
    ((_, _, ways),) = make_reader_columns(find_candidates(evidence), evidence, WORDS_OF, vectors())
    sources = {"triple": by_kind, "star": named}
    for trained, alone, both in ((True, 0.5 * 1.0 + 0.5 * ABSENT, 0.5 * 1.0 + 0.5 * 4.0), (False, 1.0, 2.5)):
        reader = Reader(sources, trained=trained)
        assert reader.read([("gnn", "triple", ways)]).logits == pytest.approx([alone] * 3)
        assert reader.read([("gnn", "triple", ways), ("star", "triple", ways)]).logits == pytest.approx([both] * 3)


def test_the_weights_that_come_with_lodestar_know_both_kinds_of_evidence() -> None:
    shipped = shipped_reader()
    assert set(shipped.sources) == {"chain", "triple"}
    assert json.loads(json.dumps(shipped.as_json()))["features"] == NAMES


def test_weights_are_written_to_five_digits_and_read_if_there_is_one_for_each_feature() -> None:
    third = SourceWeights(np.full(len(NAMES), 1 / 3), 2 / 3)
    written = json.loads(json.dumps(Reader({"triple": third}).as_json()))
    assert written["sources"]["triple"]["weights"] == [0.33333] * len(NAMES)
    assert written["sources"]["triple"]["bias"] == 0.66667
    assert Reader.from_json(written).sources["triple"].weights.tolist() == [0.33333] * len(NAMES)
    del written["sources"]["triple"]["weights"][0]
    with pytest.raises(ValueError, match="weights of each source"):
        Reader.from_json(written)


def test_probabilities_of_a_reader_of_several_sources_add_up_to_what_is_right() -> None:
    """The bias is free, so that over the questions, each of weight 1, Σ (σ(logit) − right) is 0."""
    made = learnable(flipped=0)
    ((_, _, ways),) = made.sources
    some = np.arange(len(ways.candidate)) % 3 > 0
    fewer = {name: getattr(ways, name)[some] for name in ("candidate", "chain", "last", "way", "on")}
    made = replace(made, sources=(("whole", "triple", ways), ("part", "triple", replace(ways, **fewer))))
    logits = _fit_weights([made], 1.0).read(made.sources).logits
    each = 1 / np.repeat(np.diff(made.starts), np.diff(made.starts))
    assert float(each @ (1 / (1 + np.exp(-logits)))) == pytest.approx(float(each @ made.is_right), abs=1e-3)


def test_weights_of_other_features_are_refused() -> None:
    said = shipped_reader().as_json() | {"features": ["chain"]}
    with pytest.raises(ValueError, match="other features"):
        Reader.from_json(said)


@pytest.mark.parametrize(
    ("question", "one"),
    [("what is the first film of Ann", True), ("which films has Ann made", False), ("who is the oldest son", True)],
)
def test_a_question_that_asks_for_one_is_told_by_its_words(question: str, one: bool) -> None:
    assert asks_for_one(question) is one


def test_a_checkpoint_comes_back_as_it_was_written(tmp_path: Path) -> None:
    import torch
    from lodestar.models.reader.kind import KIND, ReaderConfig
    from lodestar.models.training.kind import CheckpointOpenOptions, Inputs
    from lodestar.models.training.trainer import train_model

    made = readings([one_hop(), two_hops()] * 10, [BY, OTHER] * 10)
    inputs = Inputs([made], [made], "cpu", lambda _: vectors())
    description = train_model(KIND, ReaderConfig(encoder="", reads=7), inputs, tmp_path / "reader")
    assert set(description.figures["made"]) == {"f1", "hits_at_1", "ece", "oracle"}
    said, reader = KIND.open(tmp_path / "reader", CheckpointOpenOptions("cpu", torch.float32, lambda _: vectors()))
    assert said.sources == ("triple",) and said.reads == 7
    assert reader.trained
    before, after = trained(), reader
    assert after.sources["triple"].weights == pytest.approx(before.sources["triple"].weights, rel=1e-3, abs=1e-4)
    assert after.calibration == pytest.approx(before.calibration, rel=1e-3, abs=1e-4)
    assert after.plan is not None and before.plan is not None
    for name in ("last", "steps", "length"):
        assert np.array_equal(getattr(after.plan, name), getattr(before.plan, name))
    assert [each.id for each in answerer(after).answer_batch([two_hops()])[0].entities] == ["other film"]


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("weights", (1, len(NAMES) - 1), "of other features"),
        ("weights", (2, len(NAMES)), "of other features"),
        ("features", (), "of other features"),
        ("bias", (1,), "of another number of sources"),
        ("share", (2,), "of another number of sources"),
        ("answers", (len(ANSWER_FEATURES),), "in another way: train it again"),
        ("answers", None, "in another way: train it again"),
    ],
)
def test_a_checkpoint_of_other_weights_is_refused(
    name: str, shape: tuple[int, ...] | None, message: str, tmp_path: Path
) -> None:
    import torch
    from lodestar.models.reader.kind import KIND, ReaderConfig
    from lodestar.models.training.kind import CheckpointOpenOptions
    from safetensors.torch import load_file, save_file

    made = readings([one_hop(), two_hops()], [BY, OTHER])
    train_sets(KIND, ReaderConfig(encoder=""), [made], [made], tmp_path)
    weights, described = tmp_path / "weights" / "model.safetensors", tmp_path / "reader.json"
    columns, said = load_file(weights), json.loads(described.read_text(encoding="utf-8"))
    if name == "features":
        said["features"] = said["features"][::-1]
    else:
        del columns[name]
        columns |= {} if shape is None else {name: torch.zeros(shape)}
    save_file(columns, weights)
    said["files"] = {"weights/model.safetensors": file_sha256(weights)}
    described.write_text(json.dumps(said), encoding="utf-8")
    with pytest.raises(BadCheckpointError, match=message):
        KIND.open(tmp_path, CheckpointOpenOptions("cpu", torch.float32, lambda _: vectors()))


def test_chains_of_triples_by_hand() -> None:
    """film → director → other film; a triple that touches no chain stands for one of no steps, with its best score."""
    far = (Triple(Entity("x", "x"), "year", Entity("y", "y")), -1.0)
    evidence = asked("?", (Triple(FILM, "directed_by", BY), 3.0), (Triple(OTHER, "directed_by", BY), 1.0), far)
    found = find_candidates([evidence])
    (source,) = found.sources
    chains = source.chains
    assert [len(steps) for steps in chains.steps] == [1, 2, 0]
    assert chains.length.tolist() == [1, 2, 0]
    assert chains.hops.tolist() == [1, 2, -1]
    assert chains.score.tolist() == [3.0, 1.0, -1.0]
    assert chains.mean.tolist() == [3.0, 2.0, -1.0]
    assert chains.num_ends.tolist() == [1, 1, 2]
    assert chains.item.tolist() == [-1, -1, -1]
    assert (chains.level.tolist(), chains.path.tolist()) == ([0, 1, -1], [0, 0, -1])
    ways = {found.entities[c].id: chains.length[w] for c, w in zip(source.candidate, source.chain, strict=True)}
    assert ways == {"director": 1, "other film": 2, "x": 0, "y": 0}


def test_scores_that_nobody_can_calibrate_count_by_their_ranks() -> None:
    items = tuple(Scored(leads(f"r{n}", end, topic=FILM), -100.0 - n) for n, end in enumerate((BY, OTHER, YEAR)))
    (source,) = find_candidates([evidence_of(*items)]).sources
    assert source.chains.score == pytest.approx([0.0, -np.log(2), -np.log(3)])


def test_an_answer_from_chains_rests_on_all_that_lead_to_it() -> None:
    chains = (leads("directed_by", BY, topic=FILM), leads("year", YEAR, topic=FILM), leads("seen_by", BY, topic=FILM))
    evidence = evidence_of(*ranked(*chains), text="who directed film", calibration=Calibration("logit"))
    weights = np.where([name == "chain" for name in NAMES], 1.0, 0.0)
    words = WORDS_OF | {"seen_by": split_relation_name("seen_by")}
    reader = Reader({"chain": SourceWeights(weights, 0.0)}, trained=True)
    reading = ReaderAnswerer(reader, words, vectors(), min_probability=0.0, sure_from=0.5)
    (answer,) = reading.answer_batch([evidence])
    assert {each.id: each.evidence for each in answer.entities}["director"] == (0, 2)
    assert answer.evidence.items == evidence.items


def of_two_topics() -> Evidence[Triple]:
    """The director made both films that are named; the year is of a third topic alone."""
    show = Entity("show", "show")
    items = ((FILM, "directed_by", BY), (OTHER, "directed_by", BY), (show, "year", YEAR))
    scored = tuple(Scored(Triple(*triple), 1.0) for triple in items)
    return Evidence(Question("who made both"), (Topic(FILM), Topic(OTHER), Topic(show)), "triple", scored, UNIT)


def test_what_both_topics_lead_to_meets() -> None:
    """Of a candidate the share of the other topics that lead there too: 1 of 3, and none."""
    evidence = [one_hop(), of_two_topics()]
    found = find_candidates(evidence)
    ((_, _, ways),) = make_reader_columns(found, evidence, WORDS_OF, vectors())
    met = way_features(ways)[:, NAMES.index("met")]
    by_entity = {
        found.entities[c].id: value for c, value in zip(ways.candidate, met, strict=True) if found.question[c] == 1
    }
    assert (by_entity["director"], by_entity["1999"]) == (1 / 3, 0.0)
    assert {value for c, value in zip(ways.candidate, met, strict=True) if found.question[c] == 0} == {0.0}


def learnable(flipped: int = -1) -> ReaderTrainingSet:
    """Ten questions; of those at `flipped` modulo the folds the wrong candidates are right."""
    found = readings([one_hop(), two_hops()] * 5, [BY, OTHER] * 5)
    question = np.repeat(np.arange(len(found)), np.diff(found.starts))
    return replace(found, is_right=found.is_right ^ (question % FOLDS == flipped))


@pytest.mark.parametrize("fold", range(FOLDS))
def test_weights_without_a_fold_do_not_know_its_answers(fold: int) -> None:
    start = _fit_weights([learnable()], 1.0)
    one, two = (_fit_weights([each], 1.0, leave_out=fold, start=start) for each in (learnable(), learnable(fold)))
    assert one.sources["triple"].weights.tolist() == two.sources["triple"].weights.tolist()
    with_it = _fit_weights([learnable(fold)], 1.0)
    assert with_it.sources["triple"].weights.tolist() != start.sources["triple"].weights.tolist()


def test_what_a_plan_says_of_a_question_it_has_not_learned_from_it() -> None:
    whole, sets = _fit_plan([learnable()])
    flipped, others = _fit_plan([learnable(0)])
    ((_, _, ways),), ((_, _, changed),) = sets[0].sources, others[0].sources
    of_fold = ways.question % FOLDS == 0
    assert ways.plan[of_fold].tolist() == changed.plan[of_fold].tolist()
    assert ways.plan[~of_fold].tolist() != changed.plan[~of_fold].tolist()
    assert not np.array_equal(whole.steps, flipped.steps)
    question = np.repeat(np.arange(10), np.diff(learnable().starts))
    without, _ = _fit_plan([replace(learnable(), is_right=learnable().is_right & (question % FOLDS != 0))])
    assert ways.plan[of_fold].tolist() == without.score(learnable().vectors, ways)[of_fold].tolist()


def test_each_question_weighs_the_same_however_many_candidates_it_has() -> None:
    """Of a question with one candidate and one with eight wrong ones: with a power of 1 the first is half of the fit."""
    crowd = asked("?", *((Triple(FILM, "year", Entity(f"y{n}", f"y{n}")), 0.0) for n in range(8)))
    alone = asked("?", (Triple(FILM, "year", YEAR), 0.0))
    made = readings([alone, crowd], [YEAR, BY])
    biases = [
        float((way_features(made.sources[0][2]) @ r.sources["triple"].weights + r.sources["triple"].bias).mean())
        for r in (fit_reader([made], learn_paths=False, **power) for power in ({"power": 0.0}, {"power": 1.0}, {}))
    ]
    assert biases[1] > biases[0] + 0.3
    assert biases[2] == biases[1]


def test_shipped_sources_have_a_calibration_each_and_others_that_of_the_reader() -> None:
    own, common = np.arange(6.0), np.ones(6)
    sources = {
        "chain": SourceWeights(np.zeros(len(NAMES)), 0.0, 1.0, own),
        "triple": SourceWeights(np.zeros(len(NAMES)), 0.0),
    }
    said = Reader(sources, calibration=common).as_json()["sources"]
    assert (said["chain"]["calibration"], said["triple"]["calibration"]) == (own.tolist(), common.tolist())


def test_a_plan_learns_from_the_last_hop_and_from_all_hops() -> None:
    """Two questions with vectors of their own; the first wants the path that ends in the second hop's direction."""
    from lodestar.models.reader.plan import fit_plan

    evidence = [two_hops(), Evidence(Question("?"), (Topic(FILM),), "triple", (), UNIT)]
    found = find_candidates(evidence)
    ((_, _, ways),) = make_reader_columns(found, evidence, WORDS_OF, vectors())
    asked_for = np.eye(2, 26, dtype=np.float32)
    right = np.array([float(hops == 2) for hops in ways.hops])
    plan = fit_plan([(asked_for, ways, right)])
    scores = plan.score(asked_for, ways)
    assert scores[right == 1].min() > scores[right == 0].max() + 1
    empty = replace(
        ways,
        path=ways.path[:0],
        hop_vectors=ways.hop_vectors[:0],
        **{name: getattr(ways, name)[:0] for name in ("question", "topic", "hops", "score", "mean", "num_ends")},
    )
    beside = fit_plan([(asked_for[:1], empty, np.zeros(0)), (asked_for, ways, right)])
    assert np.abs(beside.last - plan.last).max() < 1e-6
    at_end = plan.last[0] @ ways.hop_vectors.T
    last = [path[hops - 1] for path, hops in zip(ways.path.tolist(), ways.hops.tolist(), strict=True)]
    assert at_end[last[int(right.argmax())]] > max(
        at_end[hop] for hop, is_right in zip(last, right, strict=True) if not is_right
    )


def test_a_chain_shown_has_its_score_in_the_unit_of_the_evidence() -> None:
    """A logit is 2 · score − 1 there: 3 is the score 2."""
    found = find_candidates([evidence_of(*ranked(leads("year", YEAR, topic=FILM)))])
    (source,) = found.sources
    source = replace(source, chains=replace(source.chains, score=np.array([3.0])))

    def score(calibration: Calibration | None) -> float:
        return _compute_score(source, 0, evidence_of(calibration=calibration))

    assert score(None) == 3
    assert score(Calibration("logit", 2.0, -1.0)) == pytest.approx(2.0)
    assert score(Calibration("logit", 0.0, -1.0)) == 3
    assert score(Calibration("probability")) == pytest.approx(1 / (1 + np.exp(-3)))


def only(*names: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Weights of 1 for these features."""
    return np.array([float(name in names) for name in NAMES])


def choose_answers(reader: Reader, *evidence: Evidence[Any], least: float = 0.0) -> list[Answer]:
    return answerer(reader, least).answer_batch(evidence)


def says(*ends: tuple[Entity, float]) -> Evidence[Chain]:
    """What a language model answers: a chain without steps for each name."""
    items = tuple(Scored(Chain(FILM, (), (end,)), sure) for end, sure in ends)
    return Evidence(Question("?"), (Topic(FILM),), "chain", items, Calibration("probability"))


def three_ends(text: str, *scores: float) -> Evidence[Triple]:
    facts = (Triple(FILM, "directed_by", BY), Triple(FILM, "year", YEAR), Triple(FILM, "seen_by", OTHER))
    return asked(text, *zip(facts, scores, strict=False))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (((BY, 0.9), (YEAR, 0.5)), ("the language model reads it in the evidence (+1.1)", "gnn: its chain is likely (+0.5)")),
        (((BY, 0.5),), ("the language model reads it in the evidence (+4.0)", "gnn: its chain is likely (+0.5)")),
        (((OTHER, 0.3), (YEAR, 0.1)), ("gnn: its chain is likely (+4.0)",)),
    ],
)  # fmt: skip
def test_of_several_sources_each_says_its_part_in_what_was_chosen(
    said: tuple[tuple[Entity, float], ...], why: tuple[str, ...]
) -> None:
    """Log-odds of .9 are 2.2, half of which counts; who is not named has −6, named with .5 the bias 2."""
    found = three_ends("what is the first film", 9.0, 5.0 if len(why) == 1 else 8.5, -9.0)
    evidence = replace(found, sources=(("gnn", found), ("llm", says(*said))))
    weights = {"triple": SourceWeights(only("chain"), 0.0), "llm": SourceWeights(only("chain"), 2.0, 0.5)}
    (answer,) = choose_answers(Reader(weights, trained=True), evidence)
    assert answer.names == ("director",)
    assert answer.why == (*why, "ahead of 1999")


def test_names_of_a_model_add_to_what_they_name_and_take_from_the_rest_of_their_question_alone() -> None:
    named, question = np.array([True, False, False, False]), np.array([0, 0, 1, 1])
    assert NameWeights(3.0, -1.0).score(named, question).tolist() == [3.0, -1.0, 0.0, 0.0]


@pytest.mark.parametrize(("source", "more", "less"), [("llm", 1.0, 0.0), ("closed-book", 3.0, -1.0)])
@pytest.mark.parametrize("own", [True, False])
def test_a_reader_that_did_not_learn_a_models_names_takes_them_as_a_hint(
    source: str, more: float, less: float, own: bool
) -> None:
    """The evidence alone decides where the model names nothing that is there, and how sure the rest is stays."""
    reader = Reader({"triple": SourceWeights(only("chain"), 0.0)}, trained=True) if own else shipped_reader()
    found = three_ends("what is the film", 3.0, 1.0)
    silent, named = (
        replace(found, sources=(("triple", found), (source, says(*ends)))) for ends in ((), ((YEAR, 0.2),))
    )

    def logits(evidence: Evidence[Any]) -> dict[str, float]:
        candidates = find_candidates([evidence])
        columns = make_reader_columns(candidates, [evidence], WORDS_OF, vectors())
        return dict(
            zip([each.label for each in candidates.entities], reader.read(columns).logits.tolist(), strict=True)
        )

    alone, as_before, hinted = map(logits, (found, silent, named))
    assert as_before == alone
    assert hinted["1999"] == pytest.approx(alone["1999"] + more)
    assert hinted["director"] == pytest.approx(alone["director"] + less)
    (answer,) = choose_answers(reader, silent)
    assert answer.confidence == choose_answers(reader, found)[0].confidence


def test_a_hint_is_said_where_it_decides() -> None:
    found = three_ends("what is the first film", 3.0, 2.5)
    reader = Reader({"triple": SourceWeights(only("chain"), 0.0)}, trained=True)
    evidence = replace(found, sources=(("triple", found), ("closed-book", says((YEAR, 0.5)))))
    (answer,) = choose_answers(reader, evidence)
    assert answer.names == ("1999",)
    assert answer.why[0].startswith("the language model names it without the evidence (+")


def test_a_source_that_leads_to_the_first_alone_speaks_for_it_with_all_that_it_has() -> None:
    found, other = three_ends("what is the first film", 3.0, 2.5), three_ends("?", 4.0)
    evidence = replace(found, sources=(("gnn", found), ("star", other)))
    (answer,) = choose_answers(Reader({"triple": SourceWeights(only("chain"), 0.0)}, trained=True), evidence)
    assert answer.why == ("star: its chain is likely (+4.0)", "gnn: its chain is likely (+0.5)", "ahead of 1999")
    (alone,) = choose_answers(Reader({"triple": SourceWeights(only("chain"), 0.0)}, trained=True), three_ends("?", 3.0))
    assert alone.why == ("its chain is likely (+3.0)",)
    (silent,) = choose_answers(Reader({"triple": SourceWeights(only(), 0.0)}, trained=True), three_ends("?", 3.0, 2.0))
    assert silent.why == ()
    assert choose_answers(trained()) == []


def test_what_a_plan_learned_decides_where_nothing_else_counts() -> None:
    reader = replace(trained(), sources={"triple": SourceWeights(only("plan"), 0.0)})
    one, two = choose_answers(reader, one_hop(), two_hops())
    assert (one.names[0], two.names[0]) == ("director", "other film")


def test_a_question_that_a_form_answered_keeps_its_answer() -> None:
    form = FormResult(("how many",), "count", (), total=7, counted=True)
    counted, other = choose_answers(trained(), replace(one_hop(), extras=(form,)), one_hop())
    assert (counted.answerer, counted.number) == ("extractive", 7)
    assert (other.answerer, other.names) == ("reader", ("director",))


def test_where_nothing_leads_on_there_is_no_answer_and_nothing_is_sure() -> None:
    (answer,) = choose_answers(trained(), asked("who directed film"))
    assert answer.text == "no answer found: no path leads on from its entities"
    assert (answer.confidence, answer.evidence.kind) == (0.0, "chain")


def test_what_is_as_sure_as_the_bounds_is_an_answer_and_what_is_less_shows_the_best_chain() -> None:
    """A logit of 0 is a probability of one half."""
    reader = Reader({"triple": SourceWeights(only("chain"), 0.0)}, trained=True)
    (sure,) = choose_answers(reader, three_ends("which", 0.0, -1.0), least=0.5)
    assert (sure.names[0], sure.confidence, sure.unsure) == ("director", 0.5, False)
    (unsure,) = choose_answers(reader, three_ends("which", -0.1, -1.0), least=0.1)
    assert (unsure.names[0], unsure.unsure) == ("director", True)
    (none,) = choose_answers(reader, three_ends("which", -0.1, -1.0, -2.0), least=0.5)
    assert none.text == "no answer found: no path fits the question"
    assert [item.value.ends for item in none.evidence.items] == [(BY,)]  # type: ignore[union-attr]
    assert none.confidence == pytest.approx(1 / (1 + np.exp(0.1)))


def test_candidates_as_likely_are_in_the_order_of_their_ids() -> None:
    ends = [Entity(f"{place:02}", f"film {place}") for place in range(60)]
    mixed = [ends[7 * place % 60] for place in range(60)]
    scored = [
        (Triple(FILM, "directed_by" if int(end.id) % 2 else "year", end), float(int(end.id) % 2)) for end in mixed
    ]
    reader = Reader({"triple": SourceWeights(only("chain"), 5.0)}, trained=True)
    (answer,) = choose_answers(reader, asked("which films has film", *scored))
    assert [each.id for each in answer.entities] == [end.id for end in (*ends[1::2], *ends[::2])]


def test_an_answer_that_no_chain_leads_to_shows_none() -> None:
    """A triple alone names it, or another source than that whose chains are shown."""
    alone = asked("?", (Triple(OTHER, "year", YEAR), 3.0))
    one, other = three_ends("?", 3.0), asked("?", (Triple(FILM, "year", YEAR), 5.0))
    joined = replace(one, items=(*other.items, *one.items), sources=(("star", one), ("gnn", other)))
    for evidence in (alone, joined):
        (answer,) = choose_answers(Reader({"triple": SourceWeights(only("chain"), 0.0)}, trained=True), evidence)
        shown = {each.id: each.evidence for each in answer.entities}
        assert shown["1999"] == ()
        assert [item.value.ends for item in answer.evidence.items] == [(BY,)] * len(shown.keys() & {"director"})  # type: ignore[union-attr]


def test_a_chain_shown_begins_at_its_topic() -> None:
    """The show's year is its third topic's."""
    (answer,) = choose_answers(
        Reader({"triple": SourceWeights(only("one_topic"), 0.0)}, trained=True),
        replace(of_two_topics(), groups=(0, 0, 1)),
    )
    found = {
        item.value.ends[0].id: item.value.topic.id for item in answer.evidence.items if isinstance(item.value, Chain)
    }
    assert found == {"director": "film", "1999": "show"}


def test_hops_are_rows_of_vectors_with_their_direction() -> None:
    """Of a chain the rows of its hops, −1 after the last; the second half of a row is the first, negated where it is
    walked backwards."""
    evidence = [two_hops()]
    ((_, _, ways),) = make_reader_columns(find_candidates(evidence), evidence, WORDS_OF, vectors())
    assert ways.path.tolist() == [[0, -1], [1, -1], [0, 2]]
    assert ways.hop_vectors.shape == (3, 52)
    assert ways.hop_vectors.dtype == np.float32
    there, back = np.split(ways.hop_vectors, 2, axis=1)
    assert np.abs(there).max(axis=1).min() > 0
    assert (back / np.where(there, there, 1)).min(axis=1).tolist() == [0, 0, -1]
    assert (back / np.where(there, there, 1)).max(axis=1).tolist() == [1, 1, 0]


def test_a_question_is_encoded_without_its_topics() -> None:
    topics = (Topic(FILM, mention="movie"), Topic(BY))
    evidence = [Evidence(Question("which year has the movie of director"), topics, "triple"), one_hop()]
    found = encode_questions(evidence, vectors())
    assert found.tolist() == vectors().stack(["which year has the of", "who directed"]).tolist()


def test_a_chain_without_steps_fits_as_nothing_is_known_of_it() -> None:
    loose = asked("who directed film", (Triple(FILM, "directed_by", BY), 3.0), (Triple(OTHER, "year", YEAR), 1.0))
    bare = replace(loose, topics=())
    for evidence, steps in ((loose, [1, 0]), (bare, [0])):
        ((_, _, ways),) = make_reader_columns(find_candidates([evidence]), [evidence], WORDS_OF, vectors())
        assert ways.hops.tolist() == [step or -1 for step in steps]
        assert [bool(fit) for fit in ways.similarity] == [bool(step) for step in steps]
        assert ways.kind[-1] == UNKNOWN_TYPE


def test_chains_of_paths_by_hand() -> None:
    """Of two questions; a record is no candidate, and what leads on from an end is the best chain that begins so."""
    record = Entity("r", None)
    other_film = leads("made", OTHER, record, topic=FILM, via=BY)
    first = evidence_of(
        Scored(leads("on", BY, topic=FILM), 3.0), Scored(other_film, 2.0), Scored(leads("on", YEAR, topic=OTHER), 1.0),
        Scored(leads("made", YEAR, topic=FILM, via=BY), 0.5),
        calibration=Calibration("logit", 2.0, -1.0), topics=(Topic(OTHER), Topic(FILM), Topic(FILM)),
    )  # fmt: skip
    through = evidence_of(
        Scored(leads("kind", YEAR, topic=FILM, via=record), 0.5), calibration=Calibration("probability")
    )
    found = find_candidates([first, evidence_of(), through])
    (source,) = found.sources
    chains = source.chains
    assert found.starts.tolist() == [0, 3, 3, 4]
    assert [each.id for each in found.entities] == ["1999", "director", "other film", "1999"]
    assert found.num_topics.tolist() == [3, 0, 1]
    assert chains.question.tolist() == [0, 0, 0, 0, 2]
    assert chains.topic.tolist() == [1, 1, 0, 1, 0]
    assert chains.hops.tolist() == [1, 2, 1, 2, 1]
    assert chains.length.tolist() == [1, 2, 1, 2, 2]
    assert chains.score.tolist() == chains.mean.tolist() == [5.0, 3.0, 1.0, 0.0, 0.0]
    assert chains.num_ends.tolist() == [1, 1, 1, 1, 1]
    assert chains.item.tolist() == [0, 1, 2, 3, 0]
    assert (set(chains.level.tolist()), set(chains.path.tolist())) == ({-1}, {-1})
    assert (source.candidate.tolist(), source.chain.tolist()) == ([0, 0, 1, 2, 3], [2, 3, 0, 1, 4])
    assert source.last.tolist() == source.way.tolist() == [1.0, 0.0, 5.0, 3.0, 0.0]
    assert source.on.tolist() == [-12.0, -12.0, 3.0, -12.0, -12.0]


def test_log_odds_are_bounded() -> None:
    assert compute_log_odds([0.0, 0.5, 1.0], Calibration("probability")) == pytest.approx([-13.8155, 0.0, 13.8155])
    assert compute_log_odds([-9.0, 2.0, 9.0], Calibration("logit", 2.0, 1.0)).tolist() == [-12.0, 5.0, 12.0]
    assert compute_log_odds([4.0, 3.0], None) == pytest.approx([0.0, -np.log(2)])


def test_topics_of_triples_are_numbered_in_their_question() -> None:
    """The triple of the third topic comes last, after those of the first two; the second question has a record."""
    record = Entity("r", None)
    through = asked("?", (Triple(FILM, "cast", record), 2.0), (Triple(record, "actor", BY), 1.0))
    found = find_candidates([of_two_topics(), through])
    (source,) = found.sources
    chains = source.chains
    rows = {
        (question, topic): (hops, length, score)
        for question, topic, hops, length, score in zip(
            chains.question.tolist(), chains.topic.tolist(), chains.hops.tolist(), chains.length.tolist(),
            chains.score.tolist(), strict=True,
        )
        if length == 1 or question
    }  # fmt: skip
    assert rows == {(0, 0): (1, 1, 1.0), (0, 1): (1, 1, 1.0), (0, 2): (1, 1, 1.0), (1, 0): (1, 2, 1.0)}


def test_a_path_that_says_the_same_twice_fits_as_well_as_one_that_says_it_once() -> None:
    """How long a chain is counts as a feature of its own."""
    evidence = [asked("cast", (Triple(FILM, "cast", BY), 1.0), (Triple(BY, "cast", OTHER), 1.0))]
    ((_, _, ways),) = make_reader_columns(find_candidates(evidence), evidence, WORDS_OF, vectors())
    assert ways.hops.tolist() == [1, 2]
    assert ways.similarity[0] > 1
    assert ways.similarity[1] == pytest.approx(ways.similarity[0])
