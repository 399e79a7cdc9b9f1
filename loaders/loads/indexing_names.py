"""Rebuild the search names of a loaded graph without loading anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...engine.neo4j.catalogue import read_graph_state
from ...engine.neo4j.gateway import Gateway
from ...engine.neo4j.templates import Request, Row, split_into_requests, template
from ...engine.progress import Progress, ignore_progress
from ...engine.writing.manifest import ensure_name_index, make_write_request
from ...engine.writing.names import Name, NameProperties, build_search_terms, make_name_properties
from ..writing.online_writer import BATCH_SIZE
from .loading import load_lock


@dataclass(frozen=True, slots=True)
class NamesReport:
    """How many entities have names, and how many of them were rewritten."""

    num_named: int
    num_written: int


def index_names(gateway: Gateway, *, batch_size: int = BATCH_SIZE, progress: Progress = ignore_progress) -> NamesReport:
    """Bring the search names of all entities and the name index in line with their names.

    Safe to run again after an interruption. Raises `LoadInProgressError` while a load runs, `GraphError` if
    there is no graph.
    """
    with load_lock(gateway) as lock:
        state = gateway.fetch(read_graph_state())
        if state.is_empty:
            state.check()
        report = rewrite_names(gateway, batch_size, lambda done: progress("names", done, state.num_entities))
        lock.check()
        ensure_name_index(gateway)
    return report


def rewrite_names(
    gateway: Gateway, batch_size: int = BATCH_SIZE, say: Callable[[int], None] = lambda _: None
) -> NamesReport:
    """Bring the properties of all names in line with name and aliases; the caller holds the load lock.

    `say` is told how many entities are done.
    """
    num_named = num_written = 0
    after = ""
    while page := gateway.fetch(_read_names(after, batch_size)):
        after = page[-1][0]
        sound = [(id_, names) for id_, names in page if names.are_written]
        rows: Iterable[dict[str, object]]
        rows = ({"id": id_, "search_names": build_search_terms(names.texts)} for id_, names in sound)
        for some in split_into_requests(rows, batch_size, lambda row: len(str(row))):
            num_written += gateway.fetch(_write(some))
        rows = (_mend(names).as_row(id_) for id_, names in page if not names.are_written)
        for some in split_into_requests(rows, batch_size, lambda row: len(str(row))):
            gateway.fetch(make_write_request("write_entities", entities=some, labels=[]))
            num_written += len(some)
        num_named += len(page)
        say(num_named)
    return NamesReport(num_named, num_written)


class _Stored(NamedTuple):
    """The names of an entity as they stand in the graph."""

    texts: list[str]
    tags: str | None
    are_written: bool
    """Whether they are as Lodestar writes them: texts, with a tag for each or none."""


def _read_names(after: str, limit: int) -> Request[list[tuple[str, _Stored]]]:
    def decode(rows: Sequence[Row]) -> list[tuple[str, _Stored]]:
        return [(id_, _read_stored(name, aliases, tags)) for id_, name, aliases, tags in rows]

    return Request(template("read_named_entities"), {"after": after, "limit": limit}, decode)


def _read_stored(name: object, aliases: object, tags: str | None) -> _Stored:
    others = aliases if isinstance(aliases, list) else [] if aliases is None else [aliases]
    texts = [str(text) for text in (name, *others)]
    as_text = isinstance(aliases, list | type(None)) and all(isinstance(text, str) for text in (name, *others))
    return _Stored(texts, tags, as_text and (tags is None or len(tags.split(" ")) == len(texts)))


def _mend(names: _Stored) -> NameProperties:
    return make_name_properties(tuple(Name(text, is_alias=place > 0) for place, text in enumerate(names.texts)))


def _write(rows: Sequence[Mapping[str, object]]) -> Request[int]:
    return Request(template("write_search_names"), {"entities": list(rows)}, lambda found: found[0][0])
