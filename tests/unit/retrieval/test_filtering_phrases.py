"""Which phrases of a language model are taken for a relation, and why others are not."""

from __future__ import annotations

from collections import Counter

from lodestar.engine.neo4j.catalogue import Catalogue, Phrase, RelationInfo
from lodestar.engine.relations import by_llm as filtering
from lodestar.engine.relations.by_llm import leave_out_strays
from lodestar.models.text.encoders import SentenceEncoder
from lodestar.models.text.vectors import TextVectors


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
