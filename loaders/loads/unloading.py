"""Deleting a load by its manifest: what it alone stated goes, what other loads state as well stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...engine.database.catalogue import LoadManifest, read_catalogue, read_graph_state, read_loads
from ...engine.database.gateway import Gateway
from ...engine.database.requests import Request
from ...engine.database.templates import template
from ...engine.errors import GraphError
from ...engine.progress.phases import Progress, silent
from ..writing.manifest import request
from ..writing.online_writer import BATCH_SIZE
from ..writing.relation_counts import refresh_counts
from ..writing.stored_names import Naming, read_names, without_load, write_names
from .load_lock import load_lock


@dataclass(frozen=True, slots=True)
class UnloadReport:
    """What is gone and what is left."""

    source: str
    number: int
    num_triples_deleted: int
    num_triples: int
    num_entities: int


def unload(gateway: Gateway, which: str, *, batch_size: int = BATCH_SIZE, progress: Progress = silent) -> UnloadReport:
    """Delete the load of this number, source name or beginning of the SHA-256.

    Interrupted, the load stays listed as unfinished until it is deleted again. Raises `GraphError` when none or several
    fit.
    """
    with load_lock(gateway) as lock:
        loads = gateway.fetch(read_loads())
        manifest = found_load(loads, which)
        before = gateway.fetch(read_graph_state())
        gateway.fetch(request("begin_unload", sha256=manifest.sha256))
        progress("deleting", 0, 4)
        gateway.execute(request("unload_triples", load=manifest.number, batch_size=batch_size))
        progress("deleting", 1, 4)
        _unload_names(gateway, manifest.number, batch_size)
        progress("deleting", 2, 4)
        gateway.execute(request("delete_orphans", batch_size=batch_size))
        refresh_counts(gateway, gateway.fetch(read_catalogue()).relations)
        gateway.fetch(request("delete_unused_relations"))
        progress("deleting", 3, 4)
        numbers = {relation.name: relation.number for relation in gateway.fetch(read_catalogue()).relations}
        gateway.execute(request("refresh_signatures", numbers=numbers, batch_size=batch_size))
        lock.check()
        gateway.fetch(request("finish_unload", sha256=manifest.sha256))
        progress("deleting", 4, 4)
        after = gateway.fetch(read_graph_state())
    return UnloadReport(
        source=manifest.source,
        number=manifest.number,
        num_triples_deleted=before.num_triples - after.num_triples,
        num_triples=after.num_triples,
        num_entities=after.num_entities,
    )


def found_load(loads: Sequence[LoadManifest], which: str) -> LoadManifest:
    """Return the load that is meant; raise `GraphError` when it is not exactly one."""
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


def _unload_names(gateway: Gateway, load: int, batch_size: int) -> None:
    after = ""
    while page := gateway.fetch(_read_named_entities(after, batch_size)):
        after = page[-1][0]
        changed = []
        for id_, naming in page:
            known = read_names(naming.name, naming.aliases, naming.name_tags)
            rest = without_load(known, load)
            if rest != known:
                changed.append(write_names(rest).as_row(id_))
        if changed:
            gateway.fetch(request("write_entities", entities=changed))


def _read_named_entities(after: str, limit: int) -> Request[list[tuple[str, Naming]]]:
    return Request(
        template("read_named_entities"),
        {"after": after, "limit": limit},
        lambda rows: [(id_, Naming(name, aliases, None, tags)) for id_, name, aliases, tags in rows],
    )
