"""Keep the names of entities over several loads, and derive search names, domains and labels from names.

The names of an entity, with the language of each and the load that stated it, are stored as ``name``, ``aliases`` and
``name_tags``: one tag per text, in order, separated by spaces, or no tags if all are default. A tag is
``<language>[/alias|/name][#<load>[+<load>…]]``, or ``-``. By default the first text is a name and all others are
aliases, without language, stated by the base load.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..linking.names import find_initials
from ..neo4j.catalogue import LABEL_SEPARATOR

BASE_LOAD = 1


@dataclass(frozen=True, slots=True)
class Name:
    """A name that loads state for an entity."""

    text: str
    language: str = ""
    is_alias: bool = False
    loads: tuple[int, ...] = (BASE_LOAD,)


@dataclass(frozen=True, slots=True)
class NameProperties:
    """The name properties of an entity; None for each it lacks."""

    name: str | None
    aliases: list[str] | None
    search_names: list[str] | None
    name_tags: str | None

    def as_row(self, id_: str) -> dict[str, object]:
        """Return the entity's row for write_entities.cypher."""
        return {
            "id": id_,
            "name": self.name,
            "aliases": self.aliases,
            "search_names": self.search_names,
            "name_tags": self.name_tags,
        }


def parse_name_properties(name: str | None, aliases: Sequence[str] | None, tags: str | None) -> tuple[Name, ...]:
    """Return the names in an entity's properties."""
    if name is None:
        return ()
    texts = [name, *(aliases or ())]
    tag_list = tags.split(" ") if tags else ["-"] * len(texts)
    return tuple(_read(text, tag, position) for position, (text, tag) in enumerate(zip(texts, tag_list, strict=True)))


def make_name_properties(names: Sequence[Name]) -> NameProperties:
    """Return the properties of these names; `parse_name_properties` inverts it."""
    if not names:
        return NameProperties(None, None, None, None)
    tags = [_tag(name, position) for position, name in enumerate(names)]
    texts = [name.text for name in names]
    return NameProperties(
        name=texts[0],
        aliases=texts[1:] or None,
        search_names=build_search_terms(texts),
        name_tags=" ".join(tags) if set(tags) != {"-"} else None,
    )


def build_search_terms(texts: Iterable[str]) -> list[str] | None:
    """Return the search terms of an entity with these names: their search forms, then their initials."""
    whole = list(filter(None, map(normalise_search_name, texts)))
    return list(dict.fromkeys([*whole, *(short for name in whole for short in find_initials(name))])) or None


def add_load_names(known: Sequence[Name], stated: Iterable[Name], load: int) -> tuple[Name, ...]:
    """Return the names after a load has stated some: known ones keep their place, new ones follow."""
    merged = {(name.text, name.language): name for name in known}
    for name in stated:
        key = name.text, name.language
        if old := merged.get(key):
            merged[key] = replace(old, loads=tuple(sorted({*old.loads, load})))
        else:
            merged[key] = replace(name, loads=(load,))
    return tuple(merged.values())


def remove_load_names(known: Sequence[Name], load: int) -> tuple[Name, ...]:
    """Return the names that remain without this load."""
    rest = (replace(name, loads=tuple(number for number in name.loads if number != load)) for name in known)
    return tuple(name for name in rest if name.loads)


def _read(text: str, tag: str, position: int) -> Name:
    form, _, loads = tag.partition("#")
    language, _, kind = ("" if form == "-" else form).partition("/")
    return Name(
        text,
        language,
        is_alias=kind == "alias" or (position > 0 and kind != "name"),
        loads=tuple(map(int, loads.split("+"))) if loads else (BASE_LOAD,),
    )


def _tag(name: Name, position: int) -> str:
    kind = ""
    if name.is_alias != (position > 0):
        kind = "/alias" if name.is_alias else "/name"
    loads = "#" + "+".join(map(str, name.loads)) if name.loads != (BASE_LOAD,) else ""
    return f"{name.language}{kind}{loads}" or "-"


def normalise_search_name(name: str) -> str:
    """Return the search form of a name: composed (NFC), underscores as blanks, trimmed."""
    return unicodedata.normalize("NFC", name).replace("_", " ").strip()


def domain_of(relation: str) -> str | None:
    """Return the type of the heads by a Freebase-like name (``domain.type`` of ``domain.type.property``)."""
    if "://" in relation:
        return None  # the host of an IRI is not a type
    type_, _, property_ = relation.partition("|")[0].rpartition(".")
    return type_ if property_ and "." in type_ else None


_WORD_BREAK = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")


def label_of(relation: str) -> str:
    """Return the readable words of a relation's name: its last part, or both last parts of a compound name."""
    parts = []
    for step in relation.split("|"):
        last = re.split(r"[./#:]", step.rstrip("./#:"))[-1]
        if words := " ".join(filter(None, _WORD_BREAK.split(last))).lower():
            parts.append(words)
    return LABEL_SEPARATOR.join(dict.fromkeys(parts)) or relation
