"""The relation index: the nearest relations by their words and phrases, whose vectors are kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lodestar.engine.neo4j.catalogue import Phrase, RelationInfo
from lodestar.engine.relations import RelationIndex
from lodestar.models.text.vectors import TextVectors, VectorStore

from tests.fakes.letter_encoder import LetterEncoder

NAMES = ("location.country.capital", "location.country.currency_used", "people.person.place_of_birth")
RELATIONS = [RelationInfo(i, name, name, 7) for i, name in enumerate(NAMES, start=1)]
ASKED = "which money do people pay with"
SAID = (Phrase(ASKED), Phrase("who spends", "llm", inverse=True))
DESCRIBED = [replace(r, phrases=SAID) if r.number == 2 else r for r in RELATIONS]


def test_a_relation_is_as_near_as_its_best_phrase() -> None:
    asked = LetterEncoder().encode([ASKED, "place of birth"])
    plain = RelationIndex(RELATIONS, TextVectors(LetterEncoder()))
    assert plain.search(asked, 3)[0][0].score < 0.999
    described = RelationIndex(DESCRIBED, TextVectors(LetterEncoder()))
    first, second = described.search(asked, 3)
    assert [first[0].value.number, round(first[0].score, 4)] == [2, 1.0]
    assert sorted(each.value.number for each in first) == [1, 2, 3]
    assert second[0].value.name == NAMES[2]
    assert described.nearest(asked, 1) == [frozenset({NAMES[1]}), frozenset({NAMES[2]})]
    assert (described.vectors() == plain.vectors()).all()


def test_another_run_encodes_only_what_is_new(tmp_path: Path) -> None:
    given = []
    for relations in (RELATIONS, RELATIONS, DESCRIBED):
        encoder, store = LetterEncoder(), VectorStore(tmp_path / "vectors.sqlite")
        RelationIndex(relations, TextVectors(encoder, store=store))
        store.close()
        given.append(sum(encoder.batches) - 1)  # one text tells the dimension
    assert given == [3, 0, 2]
