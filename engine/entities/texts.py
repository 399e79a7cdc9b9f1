"""What an entity is, by the relations at it, and the text that stands for it in the entity index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ..database.catalogue import Catalogue
from ..relations.words import type_words
from ..values import Entity

MAX_KINDS = 2
MAX_NAME_CHARS = 200


class Kinds:
    """Says what entities are: the types that the relations at them leave or lead to, as a catalogue has them."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._of: Mapping[int, str] = {
            **{relation.number: type_words(relation.domain) for relation in catalogue.relations},
            **{-relation.number: type_words(relation.range) for relation in catalogue.relations},
        }

    def of(self, relations: Sequence[int], most: int = MAX_KINDS) -> tuple[str, ...]:
        """Return the types of an entity, that of the most of its relations first, of equally many by name; `relations`
        are the catalogue numbers of those that leave (n) and enter (-n) it."""
        found = Counter(kind for number in relations if (kind := self._of.get(number)))
        return tuple(sorted(found, key=lambda kind: (-found[kind], kind))[:most])


def entity_text(entity: Entity, kinds: Sequence[str]) -> str:
    """Return the text of an entity: its name, and after it what it is."""
    return ", ".join((entity.label[:MAX_NAME_CHARS], *kinds))
