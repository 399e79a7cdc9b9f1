"""How a name or a relation is read."""

from __future__ import annotations

import re
import unicodedata

from ..engine.neo4j.catalogue import LABEL_SEPARATOR


def search_name(name: str) -> str:
    """Return a name as it is searched for: composed (NFC), underscores opened, trimmed."""
    return unicodedata.normalize("NFC", name).replace("_", " ").strip()


def domain_of(relation: str) -> str | None:
    """Return the type of the heads that a Freebase-like name tells (``domain.type`` of ``domain.type.property``)."""
    if "://" in relation:
        return None  # the host of an IRI is no type
    type_, _, property_ = relation.partition("|")[0].rpartition(".")
    return type_ if property_ and "." in type_ else None


_WORD_BREAK = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")


def label_of(relation: str) -> str:
    """Return the readable words of a relation's name: its last part, for a compound one the last parts of both."""
    parts = []
    for step in relation.split("|"):
        last = re.split(r"[./#:]", step.rstrip("./#:"))[-1]
        if words := " ".join(filter(None, _WORD_BREAK.split(last))).lower():
            parts.append(words)
    return LABEL_SEPARATOR.join(dict.fromkeys(parts)) or relation
