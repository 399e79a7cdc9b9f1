"""Turn the catalogue's relations into the words that encoders read."""

from __future__ import annotations

from ...models.text.verbalise import RelationWords
from ..neo4j.catalogue import LABEL_SEPARATOR, RelationInfo


def words_of_relation(relation: RelationInfo) -> RelationWords:
    """Return the words of a relation: the parts of its label, and the type of its domain."""
    return RelationWords(type_words(relation.domain), tuple(relation.label.split(LABEL_SEPARATOR)))


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
