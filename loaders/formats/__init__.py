"""List the source formats by their command-line names; a reader is imported when its format is known."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from ...engine.errors import UsageError

if TYPE_CHECKING:
    from ..source import Source

FORMATS = {
    "csv": ("triples:CsvSource", "triples from a CSV file, separated by commas, semicolons, tabs or bars"),
    "cypher": ("neo4j_graphs:ScriptGraph", "what a Cypher script creates, in an empty server of its own"),
    "dump": ("neo4j_graphs:DumpGraph", "a dump of a Neo4j database, by a server of its own for the time of the load"),
    "fb2m": ("triples:Fb2mSource", "SimpleQuestions' FB2M or FB5M"),
    "freebase": ("triples:FreebaseSource", "the raw Freebase RDF dump or a part of it"),
    "geonames": ("triples:GeonamesSource", "countries, capitals, cities, currencies, languages, neighbours: shipped"),
    "gexf": ("graph_files:GexfGraph", "a GEXF file, as Gephi or NetworkX writes it"),
    "graphml": ("graph_files:GraphmlGraph", "a GraphML file, as NetworkX, Gephi, yEd, igraph or APOC writes it"),
    "json": (
        "graph_files:JsonGraph",
        "a graph in JSON: nodes and links, as NetworkX, D3, Cytoscape, APOC write them",
    ),
    "jsonl": ("triples:JsonLinesSource", "JSON lines with a triple each: head, relation and tail"),
    "metaqa": ("triples:MetaqaSource", "MetaQA's kb.txt: head|relation|tail, where ids are names"),
    "neo4j": ("neo4j_graphs:Neo4jGraph", "a property graph from an existing Neo4j; nothing is written to it"),
    "obo": ("obo:OboSource", "an ontology in OBO: terms, synonyms, is_a and other relationships"),
    "parquet": (
        "triples:ParquetSource",
        "triples from parquet: columns head, relation, tail or as usual",
    ),
    "pathquestion": ("triples:PathquestionSource", "PathQuestion's kb.txt, where ids are names"),
    "rdf": ("rdf:RdfSource", "RDF of any syntax: N-Triples, N-Quads, Turtle, TriG, RDF/XML and OWL, JSON-LD, N3"),
    "rog": ("triples:RogSource", "the union of the questions' subgraphs of a RoG or NSM file"),
    "tables": (
        "relational_tables:open_tables",
        "a folder of CSV, TSV, parquet or JSON, such a file, or SQLite or DuckDB",
    ),
    "text": ("text:TextSource", "text as a graph: a folder (.txt, .md, .jsonl), or one such file"),
    "tsv": ("triples:TsvSource", "triples from a TSV file: head, relation, tail"),
    "wikidata": ("wikidata:WikidataSource", "Wikidata's JSON dump or a part of it; of claims those of the best rank"),
}
"""What makes the source or the property graph of each format, and its help."""

GRAPHS = ("cypher", "dump", "gexf", "graphml", "json", "neo4j", "tables")  # the formats that have property graphs

OWN_PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")  # how a source of somebody's own is named


def get_format_factory(name: str) -> Callable[..., Any]:
    """Return what makes a format's source, or its property graph, of its own arguments."""
    module, _, made_by = FORMATS[name][0].partition(":")
    return cast(Callable[..., Any], getattr(import_module(f".{module}", __package__), made_by))


def source_class(name: str) -> Callable[..., Source]:
    """Return what makes a format's source of its own arguments; a property graph is mapped as guessed.

    A source of your own is named as ``module:Class``. Raises `UsageError` for what is none.
    """
    if name in GRAPHS:
        from ..property_graph import PropertyGraphSource

        return lambda *args, **given: PropertyGraphSource(get_format_factory(name)(*args, **given))
    if name in FORMATS:
        return get_format_factory(name)
    if not OWN_PLACE.fullmatch(name):
        raise UsageError(f"expected one of the formats {', '.join(FORMATS)}, or module:Class, found {name!r}")
    module, _, class_name = name.partition(":")
    from ..source import Source

    try:
        found = getattr(import_module(module), class_name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{name} cannot be imported: {error}") from error
    if not (isinstance(found, type) and issubclass(found, Source)):
        raise UsageError(f"expected a class derived from Source, found {name}")
    return found
