"""What may be said of relations, and what is refused, each with one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.engine.errors import InputError, UsageError
from lodestar.engine.neo4j.catalogue import Catalogue, Phrase, RelationInfo
from lodestar.engine.relations.describing import find_ambiguous_phrases, read_descriptions, words_of
from lodestar.engine.relations.words import phrases_of, split_relation_name, words_of_relation, words_of_relations
from lodestar.models.wording.english import lexicon_phrases, translate_label

CATALOGUE = Catalogue(
    (RelationInfo(1, "owned_by", "owned by", 9), RelationInfo(2, "mother", "mother", 9), RelationInfo(3, "42", "42", 9))
)


def test_general_english_for_type_is_not_used_where_it_names_a_type_of_the_graph() -> None:
    """Of `type` "category" is meant, unless things of the graph are categories; what a user says stays."""
    type_ = RelationInfo(1, "type", "type", 9, phrases=(Phrase("category of ours"),))
    genre = RelationInfo(2, "genre", "genre", 9)
    part = RelationInfo(3, "PART_OF", "part of", 9, range="Category")
    alone = words_of_relations([type_, genre])
    beside = words_of_relations([type_, genre, part])
    assert {"category", "kind"} <= set(alone["type"].meaning.forward)
    assert "category" not in beside["type"].meaning.forward
    assert {"category of ours", "kind"} <= set(beside["type"].meaning.forward)
    assert beside["genre"].meaning.forward == alone["genre"].meaning.forward


def test_a_file_says_phrases_of_both_directions_labels_and_descriptions(tmp_path: Path) -> None:
    file = tmp_path / "phrases.tsv"
    file.write_text("# mine\n\nowned_by\twho looks after\tlabel=owner\n^owned_by\twhat belongs to\n42\tanswer\n")
    words = read_descriptions(file, CATALOGUE)
    assert words["owned_by"].label == "owner"
    assert words["owned_by"].phrases == (Phrase("who looks after"), Phrase("what belongs to", inverse=True))
    assert words["42"].phrases == (Phrase("answer"),)


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


def test_a_hundred_thousand_phrases_of_a_file_are_read_and_more_than_twice_that_refused(tmp_path: Path) -> None:
    file = tmp_path / "phrases.tsv"
    file.write_text("".join(f"owned_by\twho {n}\n" for n in range(100_000)))
    assert len(read_descriptions(file, CATALOGUE)["owned_by"].phrases) == 100_000
    file.write_text("owned_by" + "\twho" * 200_001 + "\n")
    with pytest.raises(InputError, match="at most 200,000 phrases"):
        read_descriptions(file, CATALOGUE)


def test_another_language_is_as_good_as_english() -> None:
    words = words_of(CATALOGUE, [("owned_by", ["wem gehört", "誰の"])])
    assert [phrase.text for phrase in words["owned_by"].phrases] == ["wem gehört", "誰の"]


def test_a_relation_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="no relation"):
        words_of(CATALOGUE, [("nothing_like_it", ["who"])])


def test_a_phrase_of_two_relations_collides() -> None:
    one = RelationInfo(1, "a", "a", 1, phrases=(Phrase("who made"),))
    two = RelationInfo(2, "b", "b", 1, phrases=(Phrase("Who made", inverse=True),))
    (found,) = find_ambiguous_phrases([one, two])
    assert found.phrase == "who made"
    assert found.relations == ("a", "^b")


def test_the_best_trusted_come_first() -> None:
    relation = RelationInfo(1, "owned_by", "owned by", 1, phrases=(Phrase("x", "llm"), Phrase("y", "user")))
    origins = [phrase.origin for phrase in phrases_of(relation)]
    assert origins[:2] == ["user", "llm"]
    assert set(origins[2:]) == {"lexicon"}
    assert words_of_relation(relation).meaning.forward[0] == "y"


def test_names_of_other_languages_are_read_word_by_word() -> None:
    assert translate_label("fecha de nacimiento") == "date of birth"
    assert translate_label("gegründet von") == "founded by"
    assert translate_label("works at") == ""
    assert "birthday" in lexicon_phrases("fecha de nacimiento")[0]
    assert lexicon_phrases("fecha") == (("date",), ())
    assert lexicon_phrases("gegründet von")[0][:2] == ("founded by", "founder")
    assert lexicon_phrases("qq7") == ((), ())
    assert [translate_label(label) for label in ("", "fecha qq7", "Director")] == ["", "", ""]


@pytest.mark.parametrize(
    ("label", "forward"),
    [
        ("Capital", ("capital city", "seat of government")),
        ("hauptstadt", ("capital", "capital city", "seat of government")),
    ],
)
def test_a_label_has_other_words_for_both_directions(label: str, forward: tuple[str, ...]) -> None:
    """Questions lose the place of their topic: "what is {x} the capital of" is "what is the capital of"."""
    assert lexicon_phrases(label) == (
        forward,
        (
            "the country whose capital is",
            "the state with the capital",
            "what is the capital of",
            "which country has as its capital",
            "is the capital of which country",
        ),
    )


@pytest.mark.parametrize(
    ("one", "other"), [("father", "mother"), ("husband", "wife"), ("son", "daughter"), ("brother", "sister")]
)
def test_one_of_two_is_not_asked_for_by_the_other(one: str, other: str) -> None:
    for asked, not_asked in ((one, other), (other, one)):
        words = {word for phrase in lexicon_phrases(asked)[0] for word in phrase.split()}
        assert not_asked not in words
        assert lexicon_phrases(asked)[0]


@pytest.mark.parametrize(
    ("name", "domain", "properties"),
    [
        ("location.country.currency_used", "country", ("currency used",)),
        ("a.b.c|d.e.f_g", "b", ("c", "f g")),
        ("/people/person/spouse_s./people/marriage/spouse", "person", ("spouse s", "spouse")),
        ("http://example.org/ns#birthPlace", "", ("birth place",)),
        ("works at", "", ("works at",)),
        ("...", "", ("...",)),
    ],
)
def test_a_name_alone_has_words(name: str, domain: str, properties: tuple[str, ...]) -> None:
    words = split_relation_name(name)
    assert (words.domain, words.properties) == (domain, properties)
