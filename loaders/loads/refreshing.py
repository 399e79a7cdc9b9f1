"""Put right what other programs changed in a graph: names, signatures, counts, catalogue, manifests and edition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...engine.neo4j.catalogue import (
    LoadManifest,
    RelationInfo,
    count_signature_mismatches,
    read_catalogue,
    read_graph_state,
    read_loads,
    read_relation_counts,
)
from ...engine.neo4j.gateway import Gateway
from ...engine.neo4j.statements import stream_triples_with_loads
from ...engine.progress import Progress, ignore_progress
from ...engine.relations.describing import describe_from_source
from ...engine.relations.words import refresh_end_kinds
from ...engine.writing.changing import check_loads_complete
from ...engine.writing.manifest import (
    check_graph_was_loaded,
    ensure_constraints,
    ensure_name_index,
    make_write_request,
    write_relations,
)
from ...engine.writing.relations import relation_rows
from ..writing.online_writer import BATCH_SIZE
from .indexing_names import rewrite_names
from .loading import load_lock
from .report import number_of
from .verifying import checksum_loads


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """What was not right: numbers are those of before."""

    num_triples: int
    num_signatures: int
    """Entities whose relation signature disagreed with their triples."""
    num_names: int
    """Entities whose names were not written as Lodestar writes them."""
    new_relations: tuple[str, ...]
    removed_relations: tuple[str, ...]
    counts: tuple[str, ...]
    """Relations whose number of triples the catalogue had wrong."""
    loads: tuple[str, ...]
    """What changed in the manifest of each load, in words."""

    def __str__(self) -> str:
        parts = [
            f"{number_of(self.num_signatures, 'signature', 'signatures')}" if self.num_signatures else "",
            f"names of {number_of(self.num_names, 'entity', 'entities')}" if self.num_names else "",
            f"{number_of(len(self.counts), 'count', 'counts')} of relations" if self.counts else "",
            f"new in the catalogue: {', '.join(self.new_relations)}" if self.new_relations else "",
            f"no more in the catalogue: {', '.join(self.removed_relations)}" if self.removed_relations else "",
            *self.loads,
        ]
        found = "; ".join(filter(None, parts))
        return f"{number_of(self.num_triples, 'triple', 'triples')}: {found or 'all was right'}"


def refresh(gateway: Gateway, *, batch_size: int = BATCH_SIZE, progress: Progress = ignore_progress) -> RefreshReport:
    """Bring all that Lodestar derives in line with the triples and names that the graph has now.

    Relationship types between entities that the catalogue lacks become relations; entities with an id that have never
    been loaded become entities of the graph. Triples without `loads` count to the base load. Safe to run again after an
    interruption. Raises `GraphError` for a graph that is not whole, `LoadInProgressError` while a load runs.
    """
    with load_lock(gateway) as lock:
        loads, state = gateway.fetch(read_loads()), gateway.fetch(read_graph_state())
        check_graph_was_loaded(state, loads)
        check_loads_complete(loads)
        if not loads:
            state.check()
        ensure_constraints(gateway)
        progress("refreshing", 0, _STEPS)
        before = gateway.fetch(read_catalogue()).relations
        counts = gateway.execute(read_relation_counts())
        new = _add_relations(gateway, counts, before)
        gateway.execute(make_write_request("adopt_entities", batch_size=batch_size))
        progress("refreshing", 1, _STEPS)
        num_signatures = gateway.execute(count_signature_mismatches())
        known = {relation.name: relation.number for relation in gateway.fetch(read_catalogue()).relations}
        gateway.execute(
            make_write_request("refresh_signatures", {"LABEL": "Entity"}, numbers=known, batch_size=batch_size)
        )
        gateway.fetch(make_write_request("refresh_relation_counts", counts=counts))
        gateway.fetch(make_write_request("delete_unused_relations"))
        progress("refreshing", 2, _STEPS)
        gateway.execute(make_write_request("clear_search_names", batch_size=batch_size))
        num_names = rewrite_names(gateway, batch_size).num_written
        progress("refreshing", 3, _STEPS)
        numbers = {relation.name: relation.number for relation in gateway.fetch(read_catalogue()).relations}
        changed = _refresh_manifests(gateway, loads, numbers)
        describe_from_source(gateway)
        refresh_end_kinds(gateway)
        lock.check()
        ensure_name_index(gateway)
        progress("refreshing", _STEPS, _STEPS)
    return RefreshReport(
        num_triples=sum(counts.values()),
        num_signatures=num_signatures,
        num_names=num_names,
        new_relations=new,
        removed_relations=tuple(relation.name for relation in before if relation.name not in numbers),
        counts=tuple(r.name for r in before if r.name in numbers and counts.get(r.name, 0) != r.count),
        loads=changed,
    )


_STEPS = 4


def _add_relations(gateway: Gateway, counts: dict[str, int], known: Sequence[RelationInfo]) -> tuple[str, ...]:
    """Put the relations that the catalogue lacks into it; return their names."""
    new = sorted(counts.keys() - {relation.name for relation in known})
    staged = [(place, name, counts[name]) for place, name in enumerate(new)]
    write_relations(gateway, relation_rows(staged, known, {}))
    return tuple(new)


def _refresh_manifests(gateway: Gateway, loads: Sequence[LoadManifest], numbers: dict[str, int]) -> tuple[str, ...]:
    """Write what the loads state now; every manifest counts the change, so that readers see it."""
    stated = checksum_loads(gateway.stream(stream_triples_with_loads(numbers)))
    rows, changed = [], []
    for load in loads:
        num_triples, checksum = stated.get(load.number, (0, 0))
        rows.append({"sha256": load.sha256, "num_triples": num_triples, "checksum": str(checksum)})
        if (num_triples, str(checksum)) != (load.num_triples, load.checksum):
            changed.append(
                f"load {load.number} ({load.source}) has {num_triples:,} triples, {load.num_triples:,} before"
            )
    gateway.fetch(make_write_request("write_changed_loads", loads=rows))
    return tuple(changed)
