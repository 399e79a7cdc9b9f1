"""Look after a loaded graph: check it, refresh it after other programs, delete a load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import pyarrow as pa

from ..engine import writing
from ..engine.errors import GraphError
from ..engine.neo4j import Request, catalogue, load_query
from ..engine.neo4j.catalogue import LoadManifest, RelationInfo, read_catalogue, read_graph_state, stream_triples
from ..engine.neo4j.gateway import Gateway
from ..engine.progress import Progress, format_count, ignore_progress
from ..engine.relations import refresh_end_kinds
from ..engine.relations.descriptions import (
    add_source_descriptions,
    read_descriptions_of_other_loads,
    store_descriptions,
)
from ..engine.writing import BATCH_SIZE, EntityName, make_write_request, parse_stored_entity_names
from ..engine.writing.changing import check_loads_complete
from .loading import load_lock
from .source import ROWS, record_batches
from .stage import read_sql


@dataclass(frozen=True, slots=True)
class Verification:
    """What was checked, and one clause per fault."""

    num_loads: int
    num_triples: int
    num_entities: int
    faults: tuple[str, ...]


def verify(gateway: Gateway, progress: Progress = ignore_progress) -> Verification:
    """Count everything in the graph again and compare it with the catalogue, the signatures and the manifests."""
    before = gateway.run(catalogue.read_graph_edition())
    state = gateway.run(read_graph_state())
    loads = gateway.run(catalogue.read_loads())
    relations = gateway.run(read_catalogue()).relations
    faults = []
    if not loads:
        faults.append("the graph has no manifest of a load: it was not written by lodestar")
    if not state.has_entity_id:
        faults.append("the constraint entity_id is missing")
    if not state.has_entity_names:
        faults.append("the name index entity_names is missing or not filled yet")
    faults.extend(_faults_of_counts(relations, gateway.execute(catalogue.read_relation_counts())))
    faults.extend(_faults_of_signatures(gateway))
    stated = _read_stated(gateway, state.num_triples, progress)
    for load in loads:
        faults.extend(_faults_of_load(load, *stated.get(load.number, (0, 0))))
    if faults and gateway.run(catalogue.read_graph_edition()) != before:
        faults = ["the graph is written to while it is checked: check it again when that has ended"]
    return Verification(len(loads), state.num_triples, state.num_entities, tuple(faults))


def _faults_of_counts(relations: Iterable[RelationInfo], counts: Mapping[str, int]) -> Iterator[str]:
    for relation in relations:
        if (found := counts.get(relation.name, 0)) != relation.count:
            yield f"the catalogue says {relation.count:,} triples of {relation.name}, the graph has {found:,}"
    for name in counts.keys() - {relation.name for relation in relations}:
        yield f"{name} has {counts[name]:,} triples and is not in the catalogue"


def _faults_of_signatures(gateway: Gateway) -> Iterator[str]:
    if wrong := gateway.execute(catalogue.count_signature_mismatches()):
        yield f"{wrong:,} entities have a relation signature that disagrees with their triples"


def _faults_of_load(load: LoadManifest, num_triples: int, checksum: int) -> Iterator[str]:
    name = f"load {load.number} ({load.source})"
    if not load.finished:
        yield f"{name} has not finished: run the same `lodestar load` again"
    elif num_triples != load.num_triples:
        yield f"{name} has {num_triples:,} triples in the graph, its manifest says {load.num_triples:,}"
    elif str(checksum) != load.checksum:
        yield f"{name} has as many triples as its manifest says, but not the same ones"


_TRIPLES = pa.schema(
    [
        *map(ROWS.field, ("head", "relation", "tail", "is_literal", "datatype", "language")),
        pa.field("loads", pa.list_(pa.int64())),
    ]
)


def _read_stated(gateway: Gateway, total: int, progress: Progress) -> dict[int, tuple[int, int]]:

    def report() -> Iterator[tuple[Any, ...]]:
        done = 0
        for head, triples in stream_triples(gateway):
            yield from ((head, *triple) for triple in triples)
            done += len(triples)
            progress("checking", min(done, total), total)

    progress("checking", 0, total)
    with duckdb.connect() as connection:
        connection.execute(read_sql("reading/macros"))
        batches = record_batches(report(), _TRIPLES)
        connection.register("streamed", pa.RecordBatchReader.from_batches(_TRIPLES, batches))
        found = connection.execute(read_sql("numbering/checksum")).fetchall()
    progress("checking", total, total)
    return {load: (count, sum_) for load, count, sum_ in found}


def refresh_derived_data(gateway: Gateway, progress: Progress = ignore_progress) -> Verification:
    """Bring all that Lodestar derives in line with the triples and names that the graph has now; return what was wrong.

    Relationship types between entities that the catalogue lacks become relations; entities with an id that have never
    been loaded become entities of the graph. Triples without `loads` count to the base load. Safe to run again after an
    interruption. Raises `GraphError` for a graph that is not whole, `LoadInProgressError` while a load runs.
    """
    with load_lock(gateway) as lock:
        loads, state = gateway.run(catalogue.read_loads()), gateway.run(read_graph_state())
        writing.check_graph_was_loaded(state, loads)
        check_loads_complete(loads)
        if not loads:
            state.check()
        writing.ensure_schema(gateway)
        known = gateway.run(read_catalogue()).relations
        counts = gateway.execute(catalogue.read_relation_counts())
        faults = [*_faults_of_counts(known, counts)]
        new = counts.keys() - {relation.name for relation in known}
        writing.write_relations(
            gateway, writing.make_catalogue_rows({name: counts[name] for name in sorted(new)}, known)
        )
        gateway.execute(make_write_request("adopt_entities", batch_size=BATCH_SIZE))
        faults += _faults_of_signatures(gateway)
        writing.refresh_signatures(gateway, "Entity", gateway.run(read_catalogue()).relations)
        zeros = dict.fromkeys((relation.name for relation in known), 0)
        gateway.run(make_write_request("set_relation_counts", counts=zeros | counts))
        gateway.run(make_write_request("delete_unused_relations"))
        gateway.execute(make_write_request("clear_search_names", batch_size=BATCH_SIZE))
        if num_names := _rewrite_names(gateway):
            faults.append(f"names of {num_names:,} entities were not written as Lodestar writes them")
        num_triples = sum(counts.values())
        stated = _read_stated(gateway, num_triples, progress)
        changed = []
        for load in loads:
            number, checksum = stated.get(load.number, (0, 0))
            faults += _faults_of_load(load, number, checksum)
            changed.append({"sha256": load.sha256, "num_triples": number, "checksum": str(checksum)})
        gateway.run(make_write_request("write_changed_loads", loads=changed))
        add_source_descriptions(gateway)
        refresh_end_kinds(gateway)
        lock.check()
        writing.await_indexes(gateway)
    return Verification(len(loads), num_triples, gateway.run(read_graph_state()).num_entities, tuple(faults))


def _rewrite_names(gateway: Gateway) -> int:
    num_written, after = 0, ""
    while page := gateway.run(Request(load_query("read_named_entities"), {"after": after, "limit": BATCH_SIZE}, list)):
        after = page[-1][0]
        wrong = []
        for id_, name, aliases, tags, search_names in page:
            names = _names_of(name, aliases, tags)
            stored = {"id": id_, "name": name, "aliases": aliases, "search_names": search_names, "name_tags": tags}
            if writing.make_entity_row(id_, names) != stored:
                wrong.append((id_, names))
        writing.write_names(gateway, wrong)
        num_written += len(wrong)
    return num_written


def _names_of(name: object, aliases: object, tags: str | None) -> tuple[EntityName, ...]:
    # another program may have written them: texts, with a tag for each or none
    others = aliases if isinstance(aliases, list) else [] if aliases is None else [aliases]
    texts = [str(text) for text in (name, *others)]
    is_tagged = tags is not None and len(tags.split(" ")) == len(texts)
    return parse_stored_entity_names(texts[0], texts[1:], tags if is_tagged else None)


@dataclass(frozen=True, slots=True)
class UnloadReport:
    source: str
    number: int
    num_triples_deleted: int
    num_triples: int
    num_entities: int

    def __str__(self) -> str:
        entities = format_count(self.num_entities, "entity", "entities")
        left = f"{format_count(self.num_triples, 'triple')} of {entities} left"
        return f"{self.source}: {format_count(self.num_triples_deleted, 'triple')} deleted, {left}"


def unload(gateway: Gateway, which: str, progress: Progress = ignore_progress) -> UnloadReport:
    """Delete the load with this number, source name or beginning of the SHA-256.

    If interrupted, the load stays listed as unfinished until it is deleted again. Raises `GraphError` if none
    or several match.
    """
    with load_lock(gateway) as lock:
        load = find_load(gateway.run(catalogue.read_loads()), which)
        before = gateway.run(read_graph_state())
        gateway.run(make_write_request("begin_unload", sha256=load.sha256))
        progress("deleting", 0, 4)
        label = next(iter(writing.make_load_labels(load.number)), "")
        count = Request(load_query("count_marked"), {}, lambda rows: rows[0][0], {"LABEL": label})
        mark = label if label and gateway.run(count) else ""
        label = mark or "Entity"
        relations = gateway.run(read_catalogue()).relations
        params = writing.make_deletion_params(relations)
        gateway.execute(make_write_request("unload_triples", {"LABEL": label}, load=load.number, **params))
        progress("deleting", 1, 4)
        rows = gateway.stream(Request(load_query("stream_names_of"), {}, lambda rows: rows[0], {"LABEL": label}))
        names = ((id_, parse_stored_entity_names(*stored)) for id_, *stored in rows)
        rests = ((id_, known, writing.remove_names_stated_by_load(known, load.number)) for id_, known in names)
        writing.write_names(gateway, ((id_, rest) for id_, known, rest in rests if rest != known))
        progress("deleting", 2, 4)
        for of_nodes in [mark] if mark else ["Entity", "Literal"]:
            gateway.execute(make_write_request("delete_orphans", {"LABEL": of_nodes}, batch_size=BATCH_SIZE))
        writing.refresh_triple_counts(gateway, relations)
        progress("deleting", 3, 4)
        writing.refresh_signatures(gateway, label, relations)
        gateway.run(make_write_request("delete_unused_relations"))
        known = gateway.run(read_catalogue()).relations  # without what the deleted load said of them
        by_others = [replace(each, phrases=tuple(p for p in each.phrases if p.origin != "source")) for each in known]
        store_descriptions(gateway, [now for now, before in zip(by_others, known, strict=True) if now != before])
        add_source_descriptions(gateway, gateway.run(read_descriptions_of_other_loads(load.sha256)))
        refresh_end_kinds(gateway)
        if mark:
            gateway.execute(make_write_request("unmark_load", {"LABEL": mark}, batch_size=BATCH_SIZE))
        lock.check()
        gateway.run(make_write_request("finish_unload", sha256=load.sha256))
        progress("deleting", 4, 4)
        after = gateway.run(read_graph_state())
    num_deleted = before.num_triples - after.num_triples
    return UnloadReport(load.source, load.number, num_deleted, after.num_triples, after.num_entities)


def find_load(loads: Sequence[LoadManifest], which: str) -> LoadManifest:
    found = [
        load
        for load in loads
        if which in (str(load.number), load.source) or (len(which) >= 6 and load.sha256.startswith(which))
    ]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"{load.number} ({load.source})" for load in found or loads) or "none"
    problem = f"several loads are called {which!r}" if found else f"the graph has no load {which!r}"
    raise GraphError(f"{problem}: give the number of one of {listed}")
