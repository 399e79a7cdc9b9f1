"""Which phrases of a language model are taken for a relation, and why others are not."""

from __future__ import annotations

from collections import Counter

import pytest
from lodestar.engine.neo4j.catalogue import Catalogue, Phrase, RelationInfo
from lodestar.engine.relations import by_llm as filtering
from lodestar.engine.relations.by_llm import leave_out_strays, select_phrases, split_names
from lodestar.models.text.encoders import SentenceEncoder
from lodestar.models.text.vectors import TextVectors

ALLERGIC = RelationInfo(1, "allergic_to", "allergic to", 9, phrases=(Phrase("cannot stand"),))
NAMES = {"Biscuit", "Penicillin", "Dr. Ada Grabow"}
OTHERS = split_names(["Carla Castello", "Vet"])
PROMPT = ("who wrote", "the writer of", "books by")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("what makes it ill", None),
        ("which drugs must it avoid?", None),
        ("allergic reactions", None),
        ("what must Biscuit avoid", filtering.NAMED),
        ("the allergies of grabow", filtering.NAMED),
        ("what did carla castello say", filtering.NAMED),
        ("what the vet says", None),
        ("what Vet says", filtering.NAMED),
        ("what is it used for", filtering.GENERAL),
        ("what is the thing", filtering.GENERAL),
        ("who is it", filtering.GENERAL),
        ("related to", filtering.GENERAL),
        ("Allergic To", filtering.AGAIN),
        ("cannot stand", filtering.AGAIN),
        ("the writer of", filtering.ECHO),
        ("对什么过敏", filtering.FOREIGN),
        ("fecha de nacimiento", filtering.FOREIGN),
        ("", filtering.UNREADABLE),
        ("???", filtering.UNREADABLE),
        ("<b>avoids</b>", filtering.UNREADABLE),
        ("avoid " * 10, filtering.UNREADABLE),
    ],
)
def test_a_phrase_is_taken_or_counted_by_reason(text: str, reason: str | None) -> None:
    reasons: Counter[str] = Counter()
    found = select_phrases(ALLERGIC, {"tail": [text]}, NAMES, OTHERS, PROMPT, reasons)
    assert reasons == ({} if reason is None else {reason: 1})
    assert [phrase.origin for phrase in found] == ["llm"] * (reason is None)


def test_a_phrase_said_of_both_directions_is_of_the_first_alone() -> None:
    reasons: Counter[str] = Counter()
    ways = {"tail": ["what makes it sneeze"], "head": ["What makes it sneeze?", "who sneezes from it"]}
    found = select_phrases(ALLERGIC, ways, (), set(), PROMPT, reasons)
    assert [(phrase.text, phrase.inverse) for phrase in found] == [
        ("what makes it sneeze", False),
        ("who sneezes from it", True),
    ]
    assert reasons == {filtering.BOTH: 1}


def test_a_phrase_comes_once_and_no_more_than_six_of_a_direction() -> None:
    reasons: Counter[str] = Counter()
    ways = {
        "tail": ["avoids the drug", "Avoids drugs", *(f"avoids number {n}" for n in range(9))],
        "head": ["who avoids the drug"],
    }
    found = select_phrases(ALLERGIC, ways, NAMES, OTHERS, PROMPT, reasons)
    assert reasons == {filtering.AGAIN: 1}
    assert [p.inverse for p in found] == [False] * 6 + [True]


def test_words_of_the_label_are_never_too_general_and_its_language_is_not_another() -> None:
    reasons: Counter[str] = Counter()
    used = RelationInfo(1, "used_for", "used for", 9)
    assert select_phrases(used, {"tail": ["what is it used for"]}, (), set(), PROMPT, reasons)
    spanish = RelationInfo(1, "nacimiento", "nacimiento", 9)
    assert select_phrases(spanish, {"tail": ["fecha de nacimiento"]}, (), set(), PROMPT, reasons)
    chinese = RelationInfo(1, "过敏", "过敏", 9)
    assert select_phrases(chinese, {"tail": ["对什么过敏"]}, (), set(), PROMPT, reasons)
    assert not reasons


def test_phrases_of_another_relation_and_of_two_are_left_out() -> None:
    catalogue = Catalogue(
        (
            RelationInfo(1, "born_on", "born on", 9),
            RelationInfo(2, "works_at", "works at", 9, inverse="employs"),
            RelationInfo(3, "employs", "employs", 9, inverse="works_at"),
        )
    )
    reasons: Counter[str] = Counter()
    said = {
        "born_on": ["date of birth", "birthday", "which company employs them", "tell who"],
        "works_at": ["employer", "which company employs them at work", "tell who"],
        "employs": ["staff", "workers"],
    }
    found = {name: tuple(Phrase(text, "llm") for text in texts) for name, texts in said.items()}
    kept = leave_out_strays(found, catalogue, TextVectors(SentenceEncoder("all-MiniLM-L6-v2")), reasons)
    assert [p.text for p in kept["born_on"].phrases] == ["date of birth", "birthday"]
    assert [p.text for p in kept["works_at"].phrases] == ["employer", "which company employs them at work"]
    assert [p.text for p in kept["employs"].phrases] == ["staff", "workers"]
    assert reasons == {filtering.OTHER: 1, filtering.TWICE: 2}
