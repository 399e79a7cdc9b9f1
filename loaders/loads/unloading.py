"""Delete a load by its manifest: triples that only it stated are deleted, shared ones stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...engine.errors import GraphError
from ...engine.neo4j.catalogue import LoadManifest, read_catalogue, read_graph_state, read_loads
from ...engine.neo4j.gateway import Gateway
from ...engine.neo4j.templates import Request, Row, split_into_requests, template
from ...engine.progress import Progress, ignore_progress
from ...engine.relations.describing import describe_from_source, read_source_descriptions, remove_descriptions
from ...engine.relations.words import refresh_end_kinds
from ...engine.writing.manifest import labels_of, make_write_request
from ...engine.writing.names import Name, make_name_properties, parse_name_properties, remove_load_names
from ...engine.writing.relations import refresh_counts
from ..writing.online_writer import BATCH_SIZE
from .loading import load_lock


@dataclass(frozen=True, slots=True)
class UnloadReport:
    """What was deleted and what is left."""

    source: str
    number: int
    num_triples_deleted: int
    num_triples: int
    num_entities: int


def unload(
    gateway: Gateway, which: str, *, batch_size: int = BATCH_SIZE, progress: Progress = ignore_progress
) -> UnloadReport:
    """Delete the load with this number, source name or beginning of the SHA-256.

    If interrupted, the load stays listed as unfinished until it is deleted again. Raises `GraphError` if none
    or several match.
    """
    with load_lock(gateway) as lock:
        loads = gateway.fetch(read_loads())
        manifest = find_load(loads, which)
        before = gateway.fetch(read_graph_state())
        gateway.fetch(make_write_request("begin_unload", sha256=manifest.sha256))
        progress("deleting", 0, 4)
        mark = _mark(gateway, manifest.number)
        of_entities, of_nodes = mark or "Entity", [mark] if mark else ["Entity", "Literal"]
        catalogue = gateway.fetch(read_catalogue()).relations
        known: dict[str, Any] = {"numbers": {relation.name: relation.number for relation in catalogue}}
        params = known | {"load": manifest.number, "batch_size": batch_size}
        gateway.execute(make_write_request("unload_triples", {"LABEL": of_entities}, **params))
        progress("deleting", 1, 4)
        _unload_names(gateway, manifest.number, of_entities, batch_size)
        progress("deleting", 2, 4)
        for label in of_nodes:
            gateway.execute(make_write_request("delete_orphans", {"LABEL": label}, batch_size=batch_size))
        refresh_counts(gateway, catalogue)
        progress("deleting", 3, 4)
        gateway.execute(
            make_write_request("refresh_signatures", {"LABEL": of_entities}, **known, batch_size=batch_size)
        )
        gateway.fetch(make_write_request("delete_unused_relations"))
        remove_descriptions(gateway, gateway.fetch(read_catalogue()), (), "source")  # what the deleted load said
        stated = gateway.fetch(read_source_descriptions(manifest.sha256))
        describe_from_source(gateway, stated)
        refresh_end_kinds(gateway)
        if mark:
            gateway.execute(make_write_request("unmark_load", {"LABEL": mark}, batch_size=batch_size))
        lock.check()
        gateway.fetch(make_write_request("finish_unload", sha256=manifest.sha256))
        progress("deleting", 4, 4)
        after = gateway.fetch(read_graph_state())
    return UnloadReport(
        source=manifest.source,
        number=manifest.number,
        num_triples_deleted=before.num_triples - after.num_triples,
        num_triples=after.num_triples,
        num_entities=after.num_entities,
    )


def find_load(loads: Sequence[LoadManifest], which: str) -> LoadManifest:
    """Return the matching load; raise `GraphError` unless exactly one matches."""
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


def _mark(gateway: Gateway, load: int) -> str | None:
    """Return the label of what the load states; None for the base load, and for loads of an older Lodestar."""
    return next((label for label in labels_of(load) if gateway.fetch(_count_marked(label))), None)


def _unload_names(gateway: Gateway, load: int, label: str, batch_size: int) -> None:
    names = gateway.stream(_stream_names_of(label))
    changed = (
        make_name_properties(rest).as_row(id_)
        for id_, known in names
        if (rest := remove_load_names(known, load)) != known
    )
    for batch in split_into_requests(changed, batch_size, lambda row: len(str(row))):
        gateway.fetch(make_write_request("write_entities", entities=batch, labels=[]))


def _count_marked(label: str) -> Request[int]:
    return Request(template("count_marked"), {}, lambda rows: int(rows[0][0]), {"LABEL": label})


def _stream_names_of(label: str) -> Request[tuple[str, tuple[Name, ...]]]:
    def decode(rows: Sequence[Row]) -> tuple[str, tuple[Name, ...]]:
        id_, name, aliases, tags = rows[0]
        return id_, parse_name_properties(name, aliases, tags)

    return Request(template("stream_names_of"), {}, decode, {"LABEL": label})
