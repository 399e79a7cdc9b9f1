"""List the source formats by their command-line names; a reader is imported when its format is known."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
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

OWN_PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")  # how a source of somebody's own is named


def find_format(name: str) -> Callable[..., Any]:
    """Return what makes a format's source, or its property graph, of its own arguments."""
    module, _, made_by = FORMATS[name].partition(":")
    return cast(Callable[..., Any], getattr(import_module(f".{module}", __package__), made_by))


def source_class(name: str) -> Callable[..., Source]:
    """Return what makes a format's source of its own arguments; a property graph is mapped as guessed.

    A source of your own is named as ``module:Class``. Raises `UsageError` for what is none.
    """
    if name in GRAPHS:
        from ..property_graph import PropertyGraphSource

        return lambda *args, **given: PropertyGraphSource(find_format(name)(*args, **given))
    if name in FORMATS:
        return find_format(name)
    if not OWN_PLACE.fullmatch(name):
        raise UsageError(f"expected one of the formats {', '.join(FORMATS)}, or module:Class, found {name!r}")
    module, _, class_name = name.partition(":")
    try:
        found = getattr(import_module(module), class_name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{name} cannot be imported: {error}") from error
    if not (isinstance(found, type) and issubclass(found, Source)):
        raise UsageError(f"expected a class derived from Source, found {name}")
    return found
