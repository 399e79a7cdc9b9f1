"""What is mined of a small world: the same questions, paths and negatives as when their hops were still kept as text."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from lodestar.engine.gold_questions import GoldAnswer, GoldPath, GoldQuestion
from lodestar.engine.indexes.relation_index import load_or_build_index
from lodestar.engine.relations.words import words_of_relation
from lodestar.engine.supervision.mining import Miner, MiningOptions, QuestionPaths, TrainingExampleBuilder, counts_of
from lodestar.models.star.mined import MinedFileOrigin, read_mined_file, write_mined_file
from lodestar.models.text.vectors import TextVectors

from tests.fakes.letter_encoder import LetterEncoder
from tests.fakes.memory_graph import MemoryGraph
from tests.made.mined_graphs import catalogue_of, mediating_of
from tests.places import KEPT

WORLD = MemoryGraph(
    [
        ("peru", "capital", "lima"),
        ("peru", "currency", "sol"),
        ("chile", "capital", "santiago"),
        ("brazil", "capital", "brasilia"),
        ("peru", "borders", "chile"),
        ("peru", "borders", "brazil"),
        ("brazil", "borders", "peru"),
        ("chile", "ally", "peru"),
        ("peru", "population", "cvt1"),
        ("cvt1", "number", "people"),
        ("cvt1", "counted by", "cvt2"),
        ("cvt2", "office", "lima"),
        ("lima", "founded", "l1535"),
        ("santiago", "founded", "l1541"),
        ("lima", "twin", "santiago"),
        ("lima", "twin", "lima"),
    ],
    names={id_: id_.title() for id_ in ("peru", "lima", "sol", "chile", "santiago", "brazil", "brasilia", "people")},
    literals={"l1535": "1535", "l1541": "1541"},
    related=("counted by",),
)
QUESTIONS = (
    GoldQuestion("capital", "What is the capital of Peru?", (GoldAnswer("lima"),), ("peru",), num_hops=1),
    GoldQuestion("people", "How many people live in Peru?", (GoldAnswer(None, ("People",)),), (), ("Peru",)),
    GoldQuestion("founded", "When was the capital of Peru founded?", (GoldAnswer(None, ("1535",)),), ("peru",)),
    GoldQuestion(
        "both", "Which capitals have allies and twins?", (GoldAnswer("santiago"), GoldAnswer("lima")), ("chile", "sol")
    ),
    GoldQuestion(
        "written",
        "Where is Lima the capital near Brasilia?",
        (GoldAnswer("brazil"), GoldAnswer("brasilia")),
        ("lima",),
        paths=(GoldPath(("capital", "borders")),),
    ),
    GoldQuestion("nowhere", "Who rules Atlantis?", (GoldAnswer("lima"),), ("atlantis",)),
)


def mined_to(path: Path, folder: Path, options: MiningOptions) -> None:
    catalogue = catalogue_of(WORLD)
    words = {relation.name: words_of_relation(relation) for relation in catalogue.relations}
    found = WORLD.run(Miner(catalogue, mediating_of(WORLD), options).mine(QUESTIONS))
    labeller = TrainingExampleBuilder(
        words, load_or_build_index(folder, catalogue, LetterEncoder()), TextVectors(LetterEncoder()), options
    )
    mined = labeller.label([each for each in found if isinstance(each, QuestionPaths)])
    mining = MinedFileOrigin(
        questions="world",
        questions_sha256="0" * 64,
        graph=catalogue.vocabulary,
        encoder="letters",
        max_hop=options.max_hop,
        relations={name: (word.domain, *word.properties) for name, word in words.items()},
        options={name: value for name, value in asdict(options).items() if name != "max_hop"},
        counts=counts_of(found, mined),
    )
    write_mined_file(path, mining, mined)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("two-hops", MiningOptions(num_negatives=2)),
        ("three-hops", MiningOptions(max_hop=3, num_negatives=3, seed=7)),
        ("cut", MiningOptions(max_hop=2, num_negatives=1, max_paths=5, return_to_topic=True)),
    ],
)
def test_a_mined_file_is_what_it_was(tmp_path: Path, name: str, options: MiningOptions) -> None:
    mined_to(tmp_path / "mined.jsonl", tmp_path, options)
    found, kept = read_mined_file(tmp_path / "mined.jsonl"), read_mined_file(KEPT / f"mined-{name}.jsonl")
    assert found.mining == kept.mining
    for question, before in zip(found.questions, kept.questions, strict=True):
        assert replace(question, paths=()) == replace(before, paths=())
        for path, then in zip(question.paths, before.paths, strict=True):
            assert path.similarity == pytest.approx(then.similarity, abs=1e-6)
            assert replace(path, similarity=0) == replace(then, similarity=0)
