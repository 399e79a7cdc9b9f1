"""Load what Python has, and hand a graph back to it: what `Engine.load` and `Engine.export…` do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..engine.errors import InputError, UsageError
from ..engine.neo4j.catalogue import stream_names, stream_triples
from ..engine.neo4j.gateway import Gateway
from ..engine.progress import Progress, ignore_progress
from ..engine.settings import Settings
from ..engine.writing.changing import LiteralValue, Stated, parse_stated_triples
from ..models import quote_line
from . import source
from .formats import source_class
from .formats.columns import find_triple_columns
from .formats.detecting import detect_format
from .formats.relational_tables import TableGraph
from .formats.tables import Database
from .loading import LoadOptions, LoadReport, load, load_into_configured_database
from .property_graph import EdgeGraph, Element, PropertyGraphSource
from .reading import use_spool_folder
from .source import Source

if TYPE_CHECKING:
    import networkx
    import pandas as pd


def load_given(
    given: Any,
    settings: Settings,
    gateway: Gateway | None = None,
    *,
    format: str | None = None,  # noqa: A002 - as the command line calls it
    encoding: str = "",
    append: bool = False,
    replace: bool = False,
    progress: Progress = ignore_progress,
    **options: Any,
) -> LoadReport:
    """Load a path, or what Python has, through a gateway or by the settings: see `Engine.load`."""
    if append and replace:
        raise UsageError("append and replace exclude each other: give one of them")
    how = LoadOptions(settings.home_dir / "staging", "append" if append else "replace" if replace else "new")
    with use_spool_folder(how.staging, encoding):
        source = _source_of(given, format, options)
    return (
        load(source, gateway, how, progress)
        if gateway
        else load_into_configured_database(source, settings, how, progress)
    )


def _source_of(given: Any, kind: str | None, options: Mapping[str, Any]) -> Source:
    if isinstance(given, str | Path):
        return source_class(kind or detect_format(str(given)))(path=str(given), **options)
    if hasattr(given, "is_multigraph"):
        return PropertyGraphSource(NetworkxGraph(given, **options))
    if isinstance(given, Mapping):
        return PropertyGraphSource(tables_in_memory(given, **options))
    is_frame = any(hasattr(given, name) for name in ("to_arrow", "iloc", "column_names"))
    if is_frame or (isinstance(given, Sequence) and given and isinstance(given[0], Mapping)):
        return TriplesSource(triples_of_dataframe(given), **{"name": "dataframe", **options})
    return TriplesSource(given, **options)


class TriplesSource(Source):
    """Triples as `Engine.add` takes them, and names by id; an id without names is its own."""

    kind = "triples"
    unnamed_ids = source.NO_ID

    def __init__(
        self, triples: Iterable[Stated], names: Mapping[str, str | Sequence[str]] | None = None, name: str = "triples"
    ) -> None:
        self.name = name
        self._batches = [*source.record_batches(_stated_rows(triples, names or {}))]

    def digest(self) -> str:
        return source.hash_source(self.kind, {}, [repr(batch.to_pydict()) for batch in self._batches])

    def parts(self) -> Iterator[source.Part]:
        yield source.SourceRowBatches(self.name, iter(self._batches))


def _stated_rows(triples: Iterable[Stated], names: Mapping[str, str | Sequence[str]]) -> Iterator[source.StatementRow]:
    for number, (head, relation, tail) in enumerate(parse_stated_triples(triples), 1):
        if isinstance(tail, LiteralValue):
            yield source.StatementRow(number, "triple", head, relation, tail.value, True, tail.datatype, tail.language)
        else:
            yield source.triple_row(number, head, relation, tail)
    for id_, given in names.items():
        first, *more = [given] if isinstance(given, str) else given
        yield source.name_row(0, id_, first)
        yield from (source.alias_row(0, id_, alias) for alias in more)


def triples_of_dataframe(frame: Any) -> list[tuple[Any, ...]]:
    """Return the triples of a table with columns such as head, relation, tail; others are not read."""
    table = _arrow_table(frame)
    found = find_triple_columns(table.column_names)
    if found is None:
        has = quote_line(", ".join(table.column_names))
        raise UsageError(
            f"expected columns head, relation and tail (or subject, predicate, object), found {has}: a table of things "
            "is loaded by its name, as load({'orders': orders})"
        )
    rows = zip(*(table.column(place - 1).to_pylist() for place in found), strict=True)
    return [(str(head), str(relation), tail) for head, relation, tail in rows if None not in (head, relation, tail)]


def _arrow_table(frame: Any) -> pa.Table:
    """Return a table of pandas, polars, Arrow, or a list of dictionaries as Arrow's; raise `InputError` for none."""
    if isinstance(frame, pa.Table):
        return frame
    if hasattr(frame, "to_arrow"):
        return frame.to_arrow()
    rows = frame.to_dict("list") if hasattr(frame, "iloc") else frame
    if isinstance(rows, Sequence) and all(isinstance(row, Mapping) for row in rows):
        names = dict.fromkeys(name for row in rows for name in row)
        rows = {name: [row.get(name) for row in rows] for name in names}
    if isinstance(rows, Mapping):
        return pa.table({str(name): _column(values) for name, values in rows.items()})
    raise InputError(f"expected a DataFrame, an Arrow table or a list of dictionaries, found {type(frame).__name__}")


def _column(values: Sequence[Any]) -> pa.Array:
    known = [None if value is None or value != value else value for value in values]  # noqa: PLR0124 - NaN
    try:
        return pa.array(known)
    except pa.ArrowException:
        return pa.array([None if value is None else str(value) for value in known], pa.string())


def tables_in_memory(frames: Mapping[str, Any], name: str = "tables") -> TableGraph:
    database = Database()
    for called, frame in frames.items():
        database.add(called, database.connection.from_arrow(_arrow_table(frame)), called)
    return TableGraph(database, name)


class NetworkxGraph(EdgeGraph):
    """A graph of NetworkX: an edge's relation is its attribute relation, label or type, else its key if it is text."""

    kind = "networkx"

    def __init__(self, graph: networkx.Graph, name: str = "networkx") -> None:
        super().__init__(name)
        self._given: Any = graph

    def elements(self) -> Iterator[Element]:
        def known(data: Mapping[Any, Any]) -> dict[str, Any]:
            return {str(key): value for key, value in data.items() if value is not None}

        for node, data in self._given.nodes(data=True):
            yield self.node(str(node), known(data))
        keys = {"keys": True} if self._given.is_multigraph() else {}
        for start, end, *key, data in self._given.edges(**keys, data=True):
            yield self.edge(str(start), str(end), known(data), *key)


# Out of the graph


def to_dataframe(gateway: Gateway) -> pd.DataFrame:
    """Return all triples: head, relation, tail, is_literal, datatype, language, and the names of both ends."""
    import pandas as pd

    names = {id_: name for id_, (name, *_) in stream_names(gateway)}
    rows = [
        (head, relation, tail, is_literal, *of_literal, names.get(head), tail if is_literal else names.get(tail))
        for head, tails in stream_triples(gateway)
        for relation, tail, is_literal, *of_literal, _ in tails
    ]
    columns = ["head", "relation", "tail", "is_literal", "datatype", "language", "head_name", "tail_name"]
    return pd.DataFrame(rows, columns=columns)


def to_networkx(gateway: Gateway) -> networkx.MultiDiGraph:
    """Return the graph: nodes by id with `name` and literals, lists where there are several; edges by relation."""
    import networkx

    graph = networkx.MultiDiGraph()
    for id_, (name, *_) in stream_names(gateway):
        graph.add_node(id_, name=name)
    for head, tails in stream_triples(gateway):
        for relation, tail, is_literal, *_ in tails:
            if not is_literal:
                graph.add_edge(head, tail, key=relation, relation=relation)
                continue
            graph.add_node(head)
            properties = graph.nodes[head]
            key = relation if relation != "name" else "name (literal)"
            before = properties.get(key)
            properties[key] = tail if before is None else [*(before if isinstance(before, list) else [before]), tail]
    return graph
