"""Small graphs for tests against a real Neo4j, and a source that loads them."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.progress import Progress, ignore_progress
from lodestar.engine.writing import RelationMetadata
from lodestar.loaders.loading import LoadOptions, LoadReport
from lodestar.loaders.loading import load as load_into_configured_database
from lodestar.loaders.source import Part, Source, SourceRowBatches, StatementRow, name_row, record_batches, triple_row

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
    "m.peru": "Peru", "m.chile": "Chile", "m.lima": "Lima", "m.santiago": "Santiago de Chile",
    "m.sol": "Peruvian sol", "m.peso": "Chilean peso", "m.spanish": "Spanish", "m.quechua": "Quechua",
    "m.south_america": "South America",
}  # fmt: skip
"""The two adjoining relationships are unnamed mediators, as in Freebase."""


@dataclass
class TripleSource(Source):
    """A `Source` of triples and names at hand."""

    all_triples: Sequence[tuple[str, str, str]]
    all_names: Mapping[str, str] = field(default_factory=dict)
    kind: str = "test"
    name: str = "test triples"
    max_rejects: int = 0
    languages: Sequence[str] = ()
    unnamed_ids: str | None = None
    size_bytes: int | None = None  # type: ignore[assignment]
    position_bytes: int = 0  # type: ignore[assignment]

    def digest(self) -> str:
        return hashlib.sha256(repr((list(self.all_triples), dict(self.all_names))).encode()).hexdigest()

    def options(self) -> Mapping[str, object]:
        return {}

    def parts(self) -> Iterator[Part]:
        triples = (triple_row(line, *triple) for line, triple in enumerate(self.all_triples, start=1))
        yield SourceRowBatches(self.name, record_batches(triples))
        names = (name_row(line, *name) for line, name in enumerate(self.all_names.items(), start=1))
        yield SourceRowBatches("test names", record_batches(names))

    def relation_facts(self) -> Mapping[str, RelationMetadata]:
        return {}


class RowSource(TripleSource):
    """A `Source` of rows as a parser gives them."""

    def __init__(
        self, rows: Sequence[StatementRow], *, unnamed_ids: str | None = None, languages: Sequence[str] = ()
    ) -> None:
        super().__init__((), unnamed_ids=unnamed_ids, languages=languages)
        self.rows = rows

    def digest(self) -> str:
        return hashlib.sha256(repr((list(self.rows), self.unnamed_ids, self.languages)).encode()).hexdigest()

    def parts(self) -> Iterator[Part]:
        yield SourceRowBatches("test rows", record_batches(self.rows))


def load(source: Source, gateway: Gateway, *, progress: Progress = ignore_progress, **options: Any) -> LoadReport:
    """Load a source by the online writer, with a staging folder of its own; `options` are those of `LoadOptions`."""
    with tempfile.TemporaryDirectory() as folder:
        return load_into_configured_database(source, gateway, LoadOptions(staging=Path(folder), **options), progress)
