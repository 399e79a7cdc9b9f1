"""Rebuild the search names of a loaded graph without loading anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...engine.neo4j.catalogue import read_graph_state
from ...engine.neo4j.gateway import Gateway
from ...engine.neo4j.templates import Request, split_into_requests, template
from ...engine.progress import Progress, ignore_progress
from ...engine.writing.manifest import ensure_names
from ...engine.writing.names import search_names
from ..writing.online_writer import BATCH_SIZE
from .loading import load_lock


@dataclass(frozen=True, slots=True)
class NamesReport:
    """How many entities have names, and how many of them were rewritten."""

    num_named: int
    num_written: int


def index_names(gateway: Gateway, *, batch_size: int = BATCH_SIZE, progress: Progress = ignore_progress) -> NamesReport:
    """Bring the search names of all entities and the name index in line with their names.

    Safe to run again after an interruption. Raises `LoadInProgressError` while a load runs, `GraphError` if there is no
    graph.
    """
    with load_lock(gateway) as lock:
        state = gateway.fetch(read_graph_state())
        if state.is_empty:
            state.check()
        num_named = num_written = 0
        after = ""
        while page := gateway.fetch(_read_texts(after, batch_size)):
            after = page[-1][0]
            rows = ({"id": id_, "search_names": search_names(texts)} for id_, texts in page)
            for some in split_into_requests(rows, batch_size, lambda row: len(str(row))):
                num_written += gateway.fetch(_write(some))
            num_named += len(page)
            progress("names", num_named, state.num_entities)
        lock.check()
        ensure_names(gateway)
    return NamesReport(num_named, num_written)


def _read_texts(after: str, limit: int) -> Request[list[tuple[str, list[str]]]]:
    return Request(
        template("read_named_entities"),
        {"after": after, "limit": limit},
        lambda rows: [(id_, [name, *(aliases or ())]) for id_, name, aliases, _ in rows],
    )


def _write(rows: Sequence[Mapping[str, object]]) -> Request[int]:
    return Request(template("write_search_names"), {"entities": list(rows)}, lambda found: found[0][0])
