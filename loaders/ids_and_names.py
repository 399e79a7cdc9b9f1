"""Derive search names, domains and labels from names and relations."""

from __future__ import annotations

import re
import unicodedata

from ..engine.neo4j.catalogue import LABEL_SEPARATOR


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
