"""Small graphs for tests against a real Neo4j, and a source that loads them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lodestar.loaders.source import RelationFacts, SourceName, SourceTriple

COUNTRIES: tuple[tuple[str, str, str], ...] = (
    ("m.peru", "location.country.capital", "m.lima"),
    ("m.peru", "location.country.currency_used", "m.sol"),
    ("m.peru", "location.country.official_language", "m.spanish"),
    ("m.peru", "location.country.official_language", "m.quechua"),
    ("m.chile", "location.country.capital", "m.santiago"),
    ("m.chile", "location.country.currency_used", "m.peso"),
    ("m.chile", "location.country.official_language", "m.spanish"),
    ("m.peru", "location.location.adjoin_s", "m.adj1"),
    ("m.adj1", "location.adjoining_relationship.adjoins", "m.chile"),
    ("m.chile", "location.location.adjoin_s", "m.adj2"),
    ("m.adj2", "location.adjoining_relationship.adjoins", "m.peru"),
    ("m.south_america", "location.location.contains", "m.peru"),
    ("m.south_america", "location.location.contains", "m.chile"),
)
COUNTRY_NAMES = {
    "m.peru": "Peru",
    "m.chile": "Chile",
    "m.lima": "Lima",
    "m.santiago": "Santiago de Chile",
    "m.sol": "Peruvian sol",
    "m.peso": "Chilean peso",
    "m.spanish": "Spanish",
    "m.quechua": "Quechua",
    "m.south_america": "South America",
}
"""The two adjoining relationships are unnamed mediators, as in Freebase."""


@dataclass
class TripleSource:
    """A `Source` of triples and names at hand."""

    all_triples: Sequence[tuple[str, str, str]]
    all_names: Mapping[str, str] = field(default_factory=dict)
    kind: str = "test"
    name: str = "test triples"
    place: str = "test triples"

    def digest(self) -> str:
        return hashlib.sha256(repr((list(self.all_triples), dict(self.all_names))).encode()).hexdigest()

    def triples(self) -> Iterator[SourceTriple]:
        return (SourceTriple(*triple) for triple in self.all_triples)

    def names(self) -> Iterator[SourceName]:
        return (SourceName(id_, name) for id_, name in self.all_names.items())

    def relation_facts(self) -> Mapping[str, RelationFacts]:
        return {}
