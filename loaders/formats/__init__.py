"""List the source formats by their command-line names; a reader is imported when its format is known."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, cast

from ...engine.errors import UsageError
from ..source import Source

FORMATS = {
    "csv": "delimited:CsvSource",
    "cypher": "neo4j_graphs:ScriptGraph",
    "dump": "neo4j_graphs:DumpGraph",
    "fb2m": "delimited:Fb2mSource",
    "freebase": "freebase:FreebaseSource",
    "geonames": "geonames:GeonamesSource",
    "gexf": "graph_files:GexfGraph",
    "graphml": "graph_files:GraphmlGraph",
    "json": "graph_files:JsonGraph",
    "jsonl": "triple_records:JsonLinesSource",
    "metaqa": "delimited:MetaqaSource",
    "obo": "obo:OboSource",
    "parquet": "triple_records:ParquetSource",
    "pathquestion": "delimited:PathquestionSource",
    "rdf": "rdf:RdfSource",
    "rog": "triple_records:RogSource",
    "tables": "table_graph:open_tables",
    "text": "text:TextSource",
    "tsv": "delimited:TsvSource",
    "wikidata": "wikidata:WikidataSource",
}

GRAPHS = ("cypher", "dump", "gexf", "graphml", "json", "tables")  # the formats that have property graphs

_PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def find_format(name: str) -> Callable[..., Any]:
    """Return what makes a format's source, or its property graph, of its own arguments."""
    module, _, made_by = FORMATS[name].partition(":")
    return cast(Callable[..., Any], getattr(import_module(f".{module}", __package__), made_by))


def source_class(name: str) -> Callable[..., Source]:
    """Return what makes a format's source of its own arguments; a property graph is mapped as guessed.

    A source of your own is named as ``module:Class``, or by an entry point of the group ``lodestar.sources``. Raises
    `UsageError` for what is none.
    """
    if name in GRAPHS:
        from ..property_graph import map_graph

        return lambda *args, **given: map_graph(find_format(name)(*args, **given))
    if name in FORMATS:
        return find_format(name)
    place = find_own_place(name)
    if place is None:
        raise UsageError(f"expected one of the formats {', '.join(FORMATS)}, or module:Class, found {name!r}")
    module, _, class_name = place.partition(":")
    try:
        found = getattr(import_module(module), class_name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"format {name}: {place} cannot be imported: {error}") from error
    if not (isinstance(found, type) and issubclass(found, Source)):
        raise UsageError(f"format {name}: expected a class derived from Source, found {place}")
    return found


def find_own_place(name: str) -> str | None:
    """Return ``module:Class`` of a source that is not Lodestar's; None for another word."""
    installed = {entry.name: entry.value for entry in entry_points(group="lodestar.sources")}
    return installed.get(name) or (name if _PLACE.fullmatch(name) else None)
