"""N-Triples: of each entity its names, as Freebase states them, then its triples; parted by tabs, as in its dump."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import IO

from ...engine.database.statements import HeadTriples
from ..formats.freebase.ids import FREEBASE
from ..writing.stored_names import Name
from .terms import Iris, ntriples_literal

NAME_RELATION = f"<{FREEBASE}type.object.name>"
ALIAS_RELATION = f"<{FREEBASE}common.topic.alias>"

_KNOWN_RELATIONS = 10_000


class NTriples:
    """Writes triples, and names as triples with a literal; a name that the entity's own triples state too comes once.

    An entity's only name is left out where it is but the id again, unless `id_names`. Raises `InputError` for ids of
    which some begin with the base and some need it.
    """

    def __init__(self, stream: IO[bytes], base: str = FREEBASE, *, id_names: bool = False) -> None:
        self._stream = stream
        self._iris = Iris(base)
        self._id_names = id_names
        self._relation = lru_cache(_KNOWN_RELATIONS)(self._iris.iri)
        self._named = ""
        self._name_lines: dict[str, None] = {}

    @property
    def base(self) -> str | None:
        """The base that was put before ids, None when all were IRIs."""
        return self._iris.base if self._iris.is_base_used else None

    def add_names(self, id_: str, names: Sequence[Name]) -> int:
        """Write the names of an entity; return how many."""
        if not self._id_names and _is_id_again(id_, names):
            return 0
        node = self._iris.node(id_)
        lines = [
            f"{node}\t{ALIAS_RELATION if name.is_alias else NAME_RELATION}\t"
            f"{ntriples_literal(name.text, language=name.language)}\t.\n"
            for name in names
        ]
        self._named, self._name_lines = id_, dict.fromkeys(lines)
        self._stream.write("".join(self._name_lines).encode())
        return len(self._name_lines)

    def add_triples(self, triples: HeadTriples) -> None:
        """Write the triples of a head."""
        node, relation_iri = self._iris.node, self._relation
        head = node(triples.head)
        lines = [
            f"{head}\t{relation_iri(relation)}\t"
            f"{ntriples_literal(tail, datatype, language) if is_literal else node(tail)}\t.\n"
            for relation, tail, is_literal, datatype, language in triples.tails
        ]
        if self._named == triples.head:
            lines = [line for line in lines if line not in self._name_lines]
        self._stream.write("".join(lines).encode())

    def close(self) -> None:
        """Write nothing more."""


def _is_id_again(id_: str, names: Sequence[Name]) -> bool:
    if len(names) != 1:
        return False
    (name,) = names
    return name.text == id_ and not name.language and not name.is_alias
