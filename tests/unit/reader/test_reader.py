"""The reader: its features by hand, what it learns from made questions, and the answers it gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lodestar.engine.answering.candidates import find_candidates
from lodestar.engine.answering.reader import ReaderPart, make_reader_input
from lodestar.engine.data_model import Chain, Entity, Question, Scored, Topic, Triple
from lodestar.engine.errors import UsageError
from lodestar.engine.evidence import Answer, Calibration, Evidence
from lodestar.models.reader import NAMES, Reader, SourceWeights
from lodestar.models.reader.fitting import (
    ReaderTrainingSet,
    compute_reader_figures,
    fit_reader,
)
from lodestar.models.text import RelationWords
from lodestar.models.text.vectors import TextVectors

from tests.fakes.letter_encoder import LetterEncoder
from tests.fakes.memory_graph import MemoryGraph
from tests.made.evidence import evidence_of, leads, ranked
from tests.made.trainings import train_sets

FILM, BY, OTHER, YEAR = (Entity(name, name) for name in ("film", "director", "other film", "1999"))
WORDS_OF = {
    name: RelationWords("", (name.replace("_", " "),))
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


def vectors() -> TextVectors:
    return TextVectors(LetterEncoder())


def readings(evidence: Sequence[Evidence[Triple]], right: Sequence[Entity]) -> ReaderTrainingSet:
    found = find_candidates(MemoryGraph([]), evidence)
    columns = make_reader_input(found, evidence, WORDS_OF, vectors())
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


def read(reader: Reader, *evidence: Evidence[Any]) -> list[Answer]:
    return ReaderPart(min_probability=0.0).answer_batch(MemoryGraph([]), evidence, reader, WORDS_OF, vectors())


def test_it_learns_to_go_on_where_the_best_chain_stops() -> None:
    reader = trained()
    first, second = read(reader, one_hop(), two_hops())
    assert [each.id for each in first.entities] == ["director"]
    assert [each.id for each in second.entities] == ["other film"]
    assert compute_reader_figures(readings([one_hop(), two_hops()], [BY, OTHER]), reader)["f1"] == 1


def test_an_answer_says_what_it_rests_on() -> None:
    (answer,) = read(trained(), two_hops())
    (item,) = [answer.evidence.items[place] for place in answer.entities[0].evidence]
    assert isinstance(item.value, Chain)
    assert str(item.value.relation_path) == "directed_by → ^directed_by"
    assert answer.confidence is not None and 0 <= answer.confidence <= 1
    assert answer.entities[0].confidence is not None


def test_a_reader_of_another_recipe_is_refused() -> None:
    other = Reader({"star": SourceWeights((0.0,) * len(NAMES), 0.0)}, trained=True)
    with pytest.raises(UsageError, match="trained with another recipe"):
        read(other, one_hop())


def test_a_checkpoint_comes_back_as_it_was_written(tmp_path: Path) -> None:
    import torch
    from lodestar.models.kinds import CheckpointOpenOptions
    from lodestar.models.reader.fitting import KIND, ReaderConfig

    made = readings([one_hop(), two_hops()] * 10, [BY, OTHER] * 10)
    description = train_sets(KIND, ReaderConfig(encoder="", reads=7), [made], [made], tmp_path / "reader")
    assert set(description.figures["made"]) == {"f1", "hits_at_1"}
    said, reader = KIND.open(tmp_path / "reader", CheckpointOpenOptions("cpu", torch.float32, lambda _: vectors()))
    assert list(said.sources) == ["triple"] and said.config.reads == 7
    before, after = trained(), reader
    assert after.sources["triple"].weights == pytest.approx(before.sources["triple"].weights, rel=1e-3, abs=1e-4)
    assert after.calibration == pytest.approx(before.calibration, rel=1e-3, abs=1e-4)
    assert after.plan is not None and before.plan is not None
    for name in ("last", "steps", "length"):
        assert np.array_equal(getattr(after.plan, name), getattr(before.plan, name))
    assert [each.id for each in read(after, two_hops())[0].entities] == ["other film"]


def test_chains_of_triples_by_hand() -> None:
    """film → director → other film; a triple that touches no chain stands for one of no steps, with its best score."""
    far = (Triple(Entity("x", "x"), "year", Entity("y", "y")), -1.0)
    evidence = asked("?", (Triple(FILM, "directed_by", BY), 3.0), (Triple(OTHER, "directed_by", BY), 1.0), far)
    found = find_candidates(MemoryGraph([]), [evidence])
    (source,) = found.sources
    chains = source.columns
    assert [len(steps) for steps in source.steps] == [1, 2, 0]
    assert chains.hops.tolist() == [1, 2, -1]
    assert chains.score.tolist() == [3.0, 1.0, -1.0]
    assert chains.last.tolist() == [3.0, 1.0, -1.0, -1.0]
    assert chains.stops.tolist() == [0, 1, 1, 1]
    assert chains.num_ends.tolist() == [1, 1, 2]
    ways = {found.entities[c].id: len(source.steps[w]) for c, w in zip(chains.candidate, chains.chain, strict=True)}
    assert ways == {"director": 1, "other film": 2, "x": 0, "y": 0}


def test_an_answer_from_chains_rests_on_all_that_lead_to_it() -> None:
    chains = (leads("directed_by", BY, topic=FILM), leads("year", YEAR, topic=FILM), leads("seen_by", BY, topic=FILM))
    evidence = evidence_of(*ranked(*chains), text="who directed film", calibration=Calibration("logit"))
    weights = tuple(float(name == "last") for name in NAMES)
    (answer,) = read(Reader({"chain": SourceWeights(weights, 0.0)}, trained=True), evidence)
    assert {each.id: each.evidence for each in answer.entities}["director"] == (0, 2)
    assert answer.evidence.items == evidence.items
