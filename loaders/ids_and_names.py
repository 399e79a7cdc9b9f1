"""Check ids and relations, and derive search names, domains and labels from names."""

from __future__ import annotations

import re
import unicodedata

from ..engine.neo4j.catalogue import LABEL_SEPARATOR
from ..engine.neo4j.templates import quote_identifier

MAX_ID_BYTES = 8_000
"""Neo4j's range index takes keys of about 8,160 bytes."""


def fault_of_id(id_: str) -> str | None:
    """Return why this is not a valid entity id; None if it is valid."""
    if not id_:
        return "an id is empty"
    if "\0" in id_:
        return "an id has a zero byte in it"
    if len(id_) > MAX_ID_BYTES // 4 and len(id_.encode()) > MAX_ID_BYTES:
        return f"an id is longer than {MAX_ID_BYTES:,} bytes"
    return None


def fault_of_relation(name: str) -> str | None:
    """Return why this is not a valid relation name; None if it is valid."""
    if not name:
        return "the relation is empty"
    if len(name.encode()) > MAX_ID_BYTES:
        return f"the relation is longer than {MAX_ID_BYTES:,} bytes"
    try:
        quote_identifier(name)
    except ValueError:
        return "the relation has a zero byte or \\u in it, which Neo4j cannot have in a relationship type"
    return None


def search_name(name: str) -> str:
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
