"""From the catalogue's relations to the words that encoders see."""

from __future__ import annotations

from ...models.text.verbalise import RelationWords
from ..neo4j.catalogue import LABEL_SEPARATOR, RelationInfo


def words_of_relation(relation: RelationInfo) -> RelationWords:
    """Return the words of a relation: its label's parts, and the type of its domain."""
    return RelationWords(type_words(relation.domain), tuple(relation.label.split(LABEL_SEPARATOR)))


def type_words(type_: str | None) -> str:
    """Return the words of a type's last part (`location.country` is "country"); empty for None."""
    if type_ and "://" in type_:
        return ""  # as graphs of before have it of relations that are IRIs
    return (type_ or "").rpartition(".")[2].replace("_", " ").lower()


def words_of_name(name: str) -> RelationWords:
    """Return the words of a relation of which only the name is known, as of Freebase's: ``domain.type.property``.

    A name without dots has no type; a compound one (``a.b.c|d.e.f``) has the type of its first part.
    """
    parts = [part.split(".") for part in name.split("|")]
    first = parts[0]
    return RelationWords(type_words(".".join(first[:-1])), tuple(part[-1].replace("_", " ").lower() for part in parts))
