"""Verify a graph: count everything again, and compare it with the manifests and the checksums of the loads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from ...engine.neo4j.catalogue import (
    GRAPH_VERSION,
    LoadManifest,
    count_signature_mismatches,
    read_catalogue,
    read_full_state,
    read_loads,
    read_relation_counts,
)
from ...engine.neo4j.gateway import Gateway
from ...engine.neo4j.statements import HeadTriplesWithLoads, stream_triples_with_loads
from ...engine.progress import Progress, ignore_progress
from ..rows import ROWS, record_batches
from ..stage.sql import query


@dataclass(frozen=True, slots=True)
class Verification:
    """What was checked, and one clause per fault."""

    num_loads: int
    num_triples: int
    num_entities: int
    faults: tuple[str, ...]


def verify(gateway: Gateway, progress: Progress = ignore_progress) -> Verification:
    """Count everything in the graph again and compare it with the catalogue, the signatures and the manifests."""
    state = gateway.run(read_full_state())
    loads = gateway.fetch(read_loads())
    catalogue = gateway.fetch(read_catalogue())
    faults = []
    if not loads:
        faults.append("the graph has no manifest of a load: it was not written by lodestar")
    if not state.has_entity_id:
        faults.append("the constraint entity_id is missing")
    if not state.has_entity_names:
        faults.append("the name index entity_names is missing or not filled yet")
    counts = gateway.execute(read_relation_counts())
    faults.extend(
        f"the catalogue says {relation.count:,} triples of {relation.name}, the graph has {found:,}"
        for relation in catalogue.relations
        if (found := counts.pop(relation.name, 0)) != relation.count
    )
    faults.extend(f"{name} has {found:,} triples and is not in the catalogue" for name, found in counts.items())
    if wrong := gateway.execute(count_signature_mismatches()):
        faults.append(f"{wrong:,} entities have a relation signature that disagrees with their triples")
    progress("checking", 0, state.num_triples)
    numbers = {relation.name: relation.number for relation in catalogue.relations}
    stated = checksum_loads(
        _report_progress(gateway.stream(stream_triples_with_loads(numbers)), state.num_triples, progress)
    )
    for load in loads:
        if not load.finished and state.under_way:
            faults.append(f"load {load.number} ({load.source}), or its deletion, is under way: verify when it is done")
        else:
            faults.extend(_faults_of_load(load, *stated.get(load.number, (0, 0))))
    return Verification(len(loads), state.num_triples, state.num_entities, tuple(faults))


def _faults_of_load(load: LoadManifest, num_triples: int, checksum: int) -> Iterator[str]:
    name = f"load {load.number} ({load.source})"
    if not load.finished:
        yield f"{name} did not finish: run the same `lodestar load` again"
    elif load.graph_version != GRAPH_VERSION:
        yield f"{name} was written by another version of lodestar: load it again with --replace"
    elif num_triples != load.num_triples:
        yield f"{name} has {num_triples:,} triples in the graph, its manifest says {load.num_triples:,}"
    elif str(checksum) != load.checksum:
        yield f"{name} has as many triples as its manifest says, but not the same ones"


def checksum_loads(heads: Iterable[HeadTriplesWithLoads]) -> dict[int, tuple[int, int]]:
    """Return the number and the checksum of each load's triples."""
    with duckdb.connect() as connection:
        connection.execute(query("reading/macros"))
        rows = ((stated.head, *tail) for stated in heads for tail in stated.tails)
        reader = pa.RecordBatchReader.from_batches(_TRIPLES, record_batches(rows, _TRIPLES))
        connection.register("streamed", reader)
        return {load: (count, sum_) for load, count, sum_ in connection.execute(query("numbering/checksum")).fetchall()}


def _report_progress(
    heads: Iterable[HeadTriplesWithLoads], total: int, progress: Progress
) -> Iterator[HeadTriplesWithLoads]:
    """Yield the input, and report progress now and then."""
    done = reported = 0
    for stated in heads:
        yield stated
        done += len(stated.tails)
        if done - reported >= _SAID_EACH:
            reported = done
            progress("checking", min(done, total), total)
    progress("checking", total, total)


_SAID_EACH = 100_000
_TRIPLES = pa.schema(
    [
        *map(ROWS.field, ("head", "relation", "tail", "is_literal", "datatype", "language")),
        pa.field("loads", pa.list_(pa.int64())),
    ]
)
