"""The online writer: a source into a running Neo4j, in batches, such that the same load again changes nothing.

Nothing is written before the source was read to its end. A load that was interrupted is repaired by the same load
again. One load at a time per graph: two at once can store a triple twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, TypeVar

from ..engine.database.catalogue import read_catalogue, read_load, read_relation_counts
from ..engine.database.gateway import Gateway
from ..engine.database.requests import Request, Row
from ..engine.database.templates import template
from ..engine.errors import InputError
from .checked import CheckedGraph, read_checked
from .progress import Progress, silent
from .source import MAX_RELATIONS, RelationFacts, Source, domain_of, label_of

T = TypeVar("T")

GRAPH_VERSION = 1
"""Of the graph model: labels, properties, constraints and indexes. A graph of another version is loaded again."""

BATCH_SIZE = 10_000
INDEX_TIMEOUT_S = 3_600

_CONSTRAINTS = ("ensure_entity_id", "ensure_relation_name", "ensure_relation_number", "ensure_load_sha256")


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What a load did. Counts are those of the source, duplicates left out and counted apart."""

    source: str
    kind: str
    sha256: str
    num_triples: int
    num_entities: int
    num_relations: int
    num_duplicates: int
    num_names_ignored: int
    seconds: float
    already_loaded: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON has it."""
        return asdict(self)

    def __str__(self) -> str:
        counts = ", ".join(
            (
                _counted(self.num_triples, "triple", "triples"),
                _counted(self.num_entities, "entity", "entities"),
                _counted(self.num_relations, "relation", "relations"),
            )
        )
        if self.already_loaded:
            return f"{self.source} is already loaded: {counts}"
        rate = self.num_triples / max(self.seconds, 1e-3)
        notes = [f"{counts} in {self.seconds:.1f} s ({rate:,.0f} triples/s)"]
        if self.num_duplicates:
            notes.append(f"{_counted(self.num_duplicates, 'duplicate', 'duplicates')} stored once")
        if self.num_names_ignored:
            notes.append(_counted(self.num_names_ignored, "name of an unknown id", "names of unknown ids") + " ignored")
        return "; ".join(notes)


def load(
    source: Source,
    gateway: Gateway,
    *,
    batch_size: int = BATCH_SIZE,
    progress: Progress = silent,
    force: bool = False,
) -> LoadReport:
    """Load a source into the graph, beside what is there; do nothing when this content was loaded before.

    `force` loads it again all the same. Raises `InputError` for a fault of the source, before anything is written.
    """
    started_s = time.monotonic()
    sha256 = source.digest()
    manifest = gateway.fetch(read_load(sha256))
    if manifest and manifest.finished and manifest.graph_version == GRAPH_VERSION and not force:
        return LoadReport(
            source=source.name,
            kind=source.kind,
            sha256=sha256,
            num_triples=manifest.num_triples,
            num_entities=manifest.num_entities,
            num_relations=manifest.num_relations,
            num_duplicates=manifest.num_duplicates,
            num_names_ignored=0,
            seconds=time.monotonic() - started_s,
            already_loaded=True,
        )
    graph = read_checked(source, progress)
    report = LoadReport(
        source=source.name,
        kind=source.kind,
        sha256=sha256,
        num_triples=graph.num_triples,
        num_entities=len(graph.ids),
        num_relations=len(graph.relations),
        num_duplicates=graph.num_duplicates,
        num_names_ignored=graph.num_names_ignored,
        seconds=0.0,
    )
    OnlineWriter(gateway, batch_size, progress).write(graph, report)
    return replace(report, seconds=time.monotonic() - started_s)


class OnlineWriter:
    """Writes a checked graph through a gateway, in batches of one transaction each."""

    def __init__(self, gateway: Gateway, batch_size: int = BATCH_SIZE, progress: Progress = silent) -> None:
        self._gateway = gateway
        self._batch_size = batch_size
        self._progress = progress

    def write(self, graph: CheckedGraph, report: LoadReport) -> None:
        """Write everything; the manifest has what `report` says of the source, and is finished last."""
        for name in _CONSTRAINTS:
            self._gateway.execute(_request(name))
        numbers = self._numbers(graph)
        self._gateway.fetch(_request("begin_load", sha256=report.sha256, properties=_manifest(report)))
        self._write_relations(graph, numbers)
        self._write_entities(graph)
        self._write_triples(graph)
        self._refresh(len(graph.ids), numbers)
        self._gateway.execute(_request("ensure_entity_names"))
        self._gateway.execute(_request("await_indexes", timeout_s=INDEX_TIMEOUT_S))
        self._gateway.fetch(_request("finish_load", sha256=report.sha256))

    def _numbers(self, graph: CheckedGraph) -> dict[str, int]:
        """Return the catalogue number of every relation, old and new."""
        numbers = {relation.name: relation.number for relation in self._gateway.fetch(read_catalogue()).relations}
        next_number = max(numbers.values(), default=0) + 1
        new = [name for name in graph.relations if name not in numbers]
        if len(numbers) + len(new) > MAX_RELATIONS:
            raise InputError(
                f"the graph has {len(numbers):,} relations and would get {len(new):,} more: "
                f"Neo4j cannot keep more than {MAX_RELATIONS:,} apart"
            )
        return numbers | {name: number for number, name in enumerate(new, start=next_number)}

    def _write_relations(self, graph: CheckedGraph, numbers: Mapping[str, int]) -> None:
        unknown = RelationFacts()
        rows = [
            {
                "name": name,
                "number": numbers[name],
                "label": graph.relation_facts.get(name, unknown).label or label_of(name),
                "domain": domain_of(name),
                "range": graph.relation_facts.get(name, unknown).range,
                "inverse": graph.relation_facts.get(name, unknown).inverse,
            }
            for name in graph.relations
        ]
        for batch in _batches(rows, self._batch_size):
            self._gateway.fetch(_request("write_relations", relations=batch))

    def _write_entities(self, graph: CheckedGraph) -> None:
        done = 0
        for batch in _batches(graph.entity_rows(), self._batch_size):
            self._gateway.fetch(_request("write_entities", entities=batch))
            done += len(batch)
            self._progress("entities", done, len(graph.ids))

    def _write_triples(self, graph: CheckedGraph) -> None:
        """Create the triples of relations that the graph has none of; merge the others, which is slower."""
        present = self._gateway.execute(read_relation_counts())
        known = [name for name in graph.relations if present.get(name)]
        fresh = [name for name in graph.relations if not present.get(name)]
        total = graph.num_triples
        done = 0
        for query, names in (("merge_triples", known), ("create_triples", fresh)):
            rows = ([head, name, tail] for name in names for head, tail in graph.pairs(name))
            for batch in _batches(rows, self._batch_size):
                self._gateway.fetch(_request(query, triples=batch))
                done += len(batch)
                self._progress("triples", done, total)

    def _refresh(self, num_entities: int, numbers: Mapping[str, int]) -> None:
        """Bring signatures and counts in line with the graph, whatever an interrupted load left behind."""
        self._progress("signatures", 0, num_entities)
        self._gateway.execute(_request("refresh_signatures", numbers=dict(numbers), batch_size=self._batch_size))
        counts = self._gateway.execute(read_relation_counts())
        self._gateway.fetch(_request("refresh_relation_counts", counts=counts))
        self._progress("signatures", num_entities, num_entities)


def _counted(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def _manifest(report: LoadReport) -> dict[str, Any]:
    kept = ("source", "kind", "num_triples", "num_entities", "num_relations", "num_duplicates")
    return {name: getattr(report, name) for name in kept} | {"graph_version": GRAPH_VERSION}


def _request(name: str, **params: Any) -> Request[None]:
    return Request(template(name), params, _nothing)


def _nothing(rows: Sequence[Row]) -> None:
    """Decode the rows of a query that returns none."""


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch
