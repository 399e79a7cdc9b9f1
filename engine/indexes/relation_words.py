"""Turn the catalogue's relations into the words that encoders read."""

from __future__ import annotations

from ...models.text.verbalise import Meaning, RelationWords
from ...models.wording.people import lexicon_phrases
from ..neo4j.catalogue import LABEL_SEPARATOR, ORIGINS, Phrase, RelationInfo

MAX_PHRASES = 40
"""Of a relation and direction, the best trusted first, that scorers read."""


def words_of_relation(relation: RelationInfo) -> RelationWords:
    """Return the words of a relation: its label's parts, the type of its domain, and what people ask for it by."""
    labels = tuple(relation.label.split(LABEL_SEPARATOR))
    forward, inverse = (
        tuple(dict.fromkeys(p.text for p in phrases_of(relation) if p.inverse == way))[:MAX_PHRASES]
        for way in (False, True)
    )
    return RelationWords(type_words(relation.domain), labels, Meaning(forward, inverse, relation.head, relation.tail))


def phrases_of(relation: RelationInfo) -> tuple[Phrase, ...]:
    """Return all phrases of a relation, the best trusted first: its label as the user said it, what is stored with it,
    and what the lexicon has for its label."""
    said = [Phrase(relation.said_label)] if relation.said_label else []
    forward, inverse = lexicon_phrases(relation.shown_label.rpartition(LABEL_SEPARATOR)[2].replace("_", " "))
    found = (
        *said,
        *relation.phrases,
        *(Phrase(text, "lexicon") for text in forward),
        *(Phrase(text, "lexicon", inverse=True) for text in inverse),
    )
    return tuple(sorted(dict.fromkeys(found), key=lambda phrase: ORIGINS.index(phrase.origin)))


def type_words(type_: str | None) -> str:
    """Return the words of a type's last part (`location.country` is "country"); empty for None."""
    if type_ and "://" in type_:
        return ""  # older graphs have IRIs as types
    return (type_ or "").rpartition(".")[2].replace("_", " ").lower()


def words_of_name(name: str) -> RelationWords:
    """Return the words of a relation from its name alone, as in Freebase: ``domain.type.property``.

    A name without dots has no type; a compound one (``a.b.c|d.e.f``) has the type of its first part.
    """
    parts = [part.split(".") for part in name.split("|")]
    first = parts[0]
    return RelationWords(type_words(".".join(first[:-1])), tuple(part[-1].replace("_", " ").lower() for part in parts))
