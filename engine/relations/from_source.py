"""Take what a source says of relations that are entities of it, too: labels, other labels, comments."""

from __future__ import annotations

from ..errors import InputError
from ..neo4j.catalogue import Phrase, read_catalogue
from ..neo4j.gateway import Gateway
from ..neo4j.requests import Request
from ..neo4j.templates import template
from .describing import MAX_PHRASES, Words, check_text, describe


def describe_from_source(gateway: Gateway) -> None:
    """Add the labels and comments of relations that the loaded triples have (rdfs:label, skos:altLabel,
    rdfs:comment)."""
    rows = gateway.fetch(Request(template("read_source_words"), {"per_relation": MAX_PHRASES // 2}, list))
    words: dict[str, Words] = {}
    for relation, name, aliases, comments in rows:
        if name == relation:
            continue  # an id that nothing names
        description = " ".join(comments[0].split())[:200] if comments else None
        words[relation] = Words(None, description, tuple(_phrases([name, *aliases])))
    if words:
        describe(gateway, gateway.fetch(read_catalogue()), words)


def _phrases(texts: list[str]) -> list[Phrase]:
    found = []
    for text in texts:
        try:
            found.append(Phrase(check_text(text), "source"))
        except InputError:
            continue  # what a source has beside words is no phrase
    return found
