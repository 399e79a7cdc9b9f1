"""What may be said of relations, and what is refused, each with one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.engine.errors import InputError
from lodestar.engine.neo4j.catalogue import RelationCatalogue, RelationInfo, RelationPhrase
from lodestar.engine.relations import make_words_by_relation
from lodestar.engine.relations.descriptions import read_descriptions

CATALOGUE = RelationCatalogue(
    (RelationInfo(1, "owned_by", "owned by", 9), RelationInfo(2, "mother", "mother", 9), RelationInfo(3, "42", "42", 9))
)


def test_general_english_for_type_is_not_used_where_it_names_a_type_of_the_graph() -> None:
    """Of `type` "category" is meant, unless things of the graph are categories; what a user says stays."""
    type_ = RelationInfo(1, "type", "type", 9, phrases=(RelationPhrase("category of ours"),))
    genre = RelationInfo(2, "genre", "genre", 9)
    part = RelationInfo(3, "PART_OF", "part of", 9, range="Category")
    alone = make_words_by_relation([type_, genre])
    beside = make_words_by_relation([type_, genre, part])
    assert {"category", "kind"} <= set(alone["type"].meaning.forward)
    assert "category" not in beside["type"].meaning.forward
    assert {"category of ours", "kind"} <= set(beside["type"].meaning.forward)
    assert beside["genre"].meaning.forward == alone["genre"].meaning.forward


def test_a_file_says_phrases_of_both_directions_labels_and_descriptions(tmp_path: Path) -> None:
    file = tmp_path / "phrases.tsv"
    file.write_text("# mine\n\nowned_by\twho looks after\tlabel=owner\n^owned_by\twhat belongs to\n42\tanswer\n")
    words = read_descriptions(file, CATALOGUE)
    assert words["owned_by"].label == "owner"
    assert words["owned_by"].phrases == (
        RelationPhrase("who looks after"),
        RelationPhrase("what belongs to", inverse=True),
    )
    assert words["42"].phrases == (RelationPhrase("answer"),)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("owned_by\t<b>who</b>", "without markup"),
        ("owned_by\t{{who}}", "without markup"),
        ("owned_by", "a tab and at least one phrase"),
        ("owned_by\t" + "long " * 60, "at most 200 characters"),
        ("ownedby\twho", "no relation 'ownedby'; nearest: owned_by"),
        ("owned_by\tlabel=", "an empty one"),
    ],
)
def test_a_line_that_cannot_be_one_is_named_by_file_and_number(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "phrases.tsv"
    file.write_text(f"mother\twho bore\n{line}\n")
    with pytest.raises(InputError, match=r"phrases\.tsv:2: ") as found:
        read_descriptions(file, CATALOGUE)
    assert said in str(found.value)
