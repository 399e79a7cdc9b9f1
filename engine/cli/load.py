"""Load a knowledge graph into Neo4j (`lodestar load`)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..errors import UsageError
from . import print_report, printable, say, show
from .load_changes import LANGUAGES_OPTION, NAMES_OPTION, add_lines, delete_load, list_loads
from .load_graph import CHOICES, PASSWORD, open_mapped, print_mapping
from .options import (
    FORCE,
    database_options,
    json_option,
    load_options,
    split_names,
    subset_options,
)

if TYPE_CHECKING:
    from ...loaders.loading import LoadOptions
    from ..settings import Settings

SECTION = "Start here"
FILE = click.Path(dir_okay=False, path_type=Path)


class FormatGroup(click.Group):
    """Dispatch to the command of a format; if the first argument is a file, its format is detected."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = self._first_argument(args)
        return super().parse_args(ctx, args if at is None else [args[at], *args[:at], *args[at + 1 :]])

    def _first_argument(self, args: list[str]) -> int | None:
        """Return the index of the first word that is neither an option nor an option's value, or None."""
        values = {
            name: 0 if isinstance(param, click.Option) and (param.is_flag or param.count) else param.nargs
            for each in (self, *self.commands.values())
            for param in each.params
            for name in (*param.opts, *param.secondary_opts)
        }
        at = 0
        while at < len(args) and args[at].startswith("-") and args[at] != "-":
            at += 1 + (0 if "=" in args[at] else values.get(args[at], 0))
        return at if at < len(args) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the named format, or of the named file's format."""
        if args[0] in self.commands or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        from ...loaders.formats import find_own_place

        if find_own_place(args[0]) and not Path(args[0]).exists():
            return args[0], _make_command(args[0]), args[1:]
        from ...loaders.formats.detecting import detect_format

        kind = detect_format(args[0])
        say(f"{args[0]} looks like {kind}")
        return kind, self.commands[kind], args


@click.group(cls=FormatGroup, invoke_without_command=True, no_args_is_help=True)
@click.option("--list", "lists", is_flag=True, help="List the loads of the graph by number.")
@click.option("--delete", metavar="NUMBER|SOURCE|SHA256", help="Delete a load, except what other loads also state.")
@click.option("--yes", is_flag=True, help="With --delete: do not ask.")
@json_option
@database_options
@click.pass_context
def command(ctx: click.Context, lists: bool, delete: str | None, yes: bool, as_json: bool, settings: Settings) -> None:
    """Load a knowledge graph into Neo4j.

    Give a file or a folder, and its format is detected; or name the format first. Loading the same again changes
    nothing, or finishes an interrupted load. Errors in the input are found before anything is written.

    \b
    Example:
      lodestar load ontology.owl                       # RDF of any syntax, OBO, Wikidata, packed or not
      lodestar load kg.tsv.gz --names names.tsv.gz     # triples: TSV, CSV, JSON lines, parquet
      lodestar load network.graphml                    # a property graph
      lodestar load neo4j --from bolt://localhost:7687
      lodestar load whatever.zip --dry-run             # what would be loaded
      lodestar load more.ttl --append
    """
    if ctx.invoked_subcommand is not None:
        return
    if delete is not None:
        delete_load(delete, settings, yes=yes, as_json=as_json)
    elif lists:
        list_loads(settings, as_json=as_json)
    else:
        raise UsageError("expected a file, a format, --list or --delete: see `lodestar load --help`")


_OPTIONS = {
    "names_path": NAMES_OPTION,
    "columns": click.option(
        "--columns", metavar="H,R,T", callback=split_names, help="Columns of head, relation, tail: numbers or names."
    ),
    "values": click.option(
        "--values",
        type=click.Choice(["auto", "all", "none"]),
        default="auto",
        show_default=True,
        help="Which tails that are no head and have no name become literals: those that look like one, all, or none.",
    ),
    "languages": LANGUAGES_OPTION,
    "bases": click.option("--base", "bases", multiple=True, metavar="IRI", help="Prefix to strip; repeatable."),
    "name_relations": click.option(
        "--name-relation", "name_relations", multiple=True, metavar="IRI", help="Relation of names, before rdfs:label."
    ),
    "shared_blank_nodes": click.option(
        "--shared-blank-nodes", is_flag=True, help="The files are pieces of one dump: _:b0 is the same in all."
    ),
    "pipeline": click.option("--pipeline", default="en_core_web_sm", show_default=True, help="spaCy pipeline."),
    "overlap": click.option(
        "--overlap", type=click.IntRange(0), default=50, show_default=True, help="Characters shared by snippets."
    ),
    "snippet_length": click.option(
        "--snippet-length", type=click.IntRange(40, 8_000), default=500, show_default=True, help="Characters at most."
    ),
    "labels": click.option(
        "--labels", metavar="NAMES", callback=split_names, help="Only nodes with one of these: Person,Movie."
    ),
    "relationships": click.option(
        "--relationships", metavar="NAMES", callback=split_names, help="Only these types: ACTED_IN,DIRECTED."
    ),
    "names": click.option(
        "--name-property",
        "names",
        multiple=True,
        metavar="LABEL=PROPERTY",
        help="What names the nodes of a label, or of all that have it; several as first+last; repeatable.",
    ),
    "leave_out": click.option(
        "--leave-out", multiple=True, metavar="PROPERTY", help="Do not read salary, or Person=salary; repeatable."
    ),
    "types": click.option(
        "--types/--no-types", default=None, help="Keep labels as types: (node, type, label) (default: yes)."
    ),
    "mapping_file": click.option(
        "--mapping", "mapping_file", type=FILE, help="TOML file that says what becomes of what."
    ),
    "saved_file": click.option("--save-mapping", "saved_file", type=FILE, help="Write the mapping to this TOML file."),
    "force": FORCE,
    "run_script": click.option("--run-script", is_flag=True, help="Run the script, which is code, in its own server."),
    "from_uri": click.option(
        "--from", "from_uri", required=True, metavar="URI", help="Address of the Neo4j that is read."
    ),
    "from_user": click.option(
        "--from-user", default="neo4j", show_default=True, help=f"Its user; the password comes from {PASSWORD}."
    ),
    "from_database": click.option("--from-database", default="neo4j", show_default=True, help="Its database."),
}
"""Options of formats, by the arguments of their sources."""

_TABLE = ("names_path", "columns", "values")
_MAPPED = (*CHOICES, "mapping_file", "saved_file", "force")


class _Format(NamedTuple):
    what: str
    options: Sequence[str] = ()
    example: str = ""
    has_parts: bool = True
    """Whether --around, --relations and --max-rejects apply: to lines and records of triples."""
    has_file: bool = True


_FORMATS = {
    "tsv": _Format("triples from a TSV file: head, relation, tail", _TABLE),
    "csv": _Format("triples from a CSV file, separated by commas, semicolons, tabs or bars", _TABLE),
    "parquet": _Format("triples from parquet: columns head, relation and tail, or other usual names", ("names_path",)),
    "jsonl": _Format("JSON lines with a triple each: objects with head, relation and tail", ("names_path",)),
    "rdf": _Format(
        "RDF of any syntax: N-Triples, N-Quads, Turtle, TriG, RDF/XML and OWL, JSON-LD, N3",
        ("bases", "name_relations", "shared_blank_nodes", "languages"),
    ),
    "obo": _Format("an ontology in OBO: terms, synonyms, is_a and other relationships"),
    "wikidata": _Format("Wikidata's JSON dump or a part of it; of claims those of the best rank", ("languages",)),
    "freebase": _Format("the raw Freebase RDF dump or a part of it", ("languages",)),
    "fb2m": _Format("SimpleQuestions' FB2M or FB5M", ("names_path",)),
    "metaqa": _Format("MetaQA's kb.txt: head|relation|tail, where ids are names"),
    "pathquestion": _Format("PathQuestion's kb.txt, where ids are names"),
    "rog": _Format("the union of the questions' subgraphs of a RoG or NSM file"),
    "text": _Format(
        "text as a graph: a folder (.txt, .md, .jsonl), or one such file",
        ("pipeline", "snippet_length", "overlap"),
        has_parts=False,
    ),
    "geonames": _Format(
        "countries, capitals, cities, currencies, languages and neighbours, in Freebase's vocabulary. The data is "
        "GeoNames', with all cities of 50,000 inhabitants and more; it is shipped, nothing is downloaded",
        example="geonames",
        has_parts=False,
        has_file=False,
    ),
    "graphml": _Format(
        "a GraphML file, as NetworkX, Gephi, yEd, igraph or APOC writes it",
        _MAPPED,
        "graphml karate.graphml --dry-run",
        has_parts=False,
    ),
    "gexf": _Format(
        "a GEXF file, as Gephi or NetworkX writes it", _MAPPED, "gexf network.gexf --dry-run", has_parts=False
    ),
    "json": _Format(
        "a graph in JSON: nodes and links, as NetworkX, D3 or Cytoscape write them, or APOC's lines",
        _MAPPED,
        "json graph.json --dry-run",
        has_parts=False,
    ),
    "tables": _Format(
        "tables: a folder of CSV, TSV, parquet or JSON, one such file, or a SQLite or DuckDB file. A row is a thing, a "
        "column that refers to another table a relation",
        _MAPPED,
        "tables shop.sqlite --name-property customer=contactName --leave-out phone",
        has_parts=False,
    ),
    "dump": _Format(
        "a dump of a Neo4j database (`neo4j-admin database dump`), by a server of its own for the time of the load",
        _MAPPED,
        "dump movies.dump --dry-run",
        has_parts=False,
    ),
    "cypher": _Format(
        "what a Cypher script creates: it runs in an empty server of its own for the time of the load. LOAD CSV reads "
        "files of the script's folder by their names; nothing is fetched",
        ("run_script", *_MAPPED),
        "cypher movies.cypher --run-script",
        has_parts=False,
    ),
    "neo4j": _Format(
        "a property graph from an existing Neo4j; nothing is written to it. Nodes become entities, their naming "
        "property the name, other properties literals, labels types; relationships become triples, those with "
        "properties unnamed records. --dry-run shows what becomes of what",
        ("from_uri", "from_user", "from_database", *_MAPPED),
        "neo4j --from bolt://localhost:7687 --labels Person,Movie --name-property Movie=title",
        has_parts=False,
        has_file=False,
    ),
}
"""The formats: what each is, and its own options."""


def _make_command(kind: str) -> click.Command:
    form = _FORMATS.get(kind, _Format(f"what {kind} reads"))

    def call(**given: Any) -> None:
        _load(kind, **given)

    made = subset_options(call) if form.has_parts else load_options(call)
    for name in reversed(form.options):
        made = _OPTIONS[name](made)
    if form.has_file:
        made = click.argument("path", metavar="KG")(made)
        made = click.option("--encoding", default="", help="Of the text, as latin1 (default: UTF-8 or UTF-16).")(made)
    text = f"Load {form.what}.\n\nExamples are in docs/loading.md."
    if form.example:
        text = f"Load {form.what}.\n\n\b\nExample:\n  lodestar load {form.example}"
    elif form.has_parts:
        text += " A file, a folder or a pattern, packed or not; - is standard input."
    return click.command(kind, help=text)(made)


for _command in (*map(_make_command, _FORMATS), add_lines):
    command.add_command(_command)


def _load(
    kind: str,
    *,
    settings: Settings,
    options: LoadOptions,
    dry_run: bool,
    as_json: bool,
    encoding: str = "",
    **given: Any,
) -> None:
    """Load what a format reads, or show what would be loaded. given: the format's own arguments."""
    from ...loaders.formats import source_class
    from ...loaders.loading import load_source, preview
    from ...loaders.reading import use_spool_folder
    from ..progress import progress_bar

    with use_spool_folder(options.staging, encoding), ExitStack() as opened:
        mapped = None
        if "mapping_file" in given:
            mapped = opened.enter_context(open_mapped(kind, settings, dry_run=dry_run, **given))
        source = mapped or source_class(kind)(**given)
        if dry_run and mapped:
            print_mapping(mapped, as_json=as_json)
        elif dry_run:
            data, lines = preview(source, options, online_only=bool(settings.uri))
            show(data, lines, as_json=as_json)
        if dry_run:
            return
        with progress_bar(source.name) as (progress, tell):
            report = load_source(source, settings, options, progress, tell)
    text, data = f"{report}\n{printable(report.advice)}", asdict(report)
    if mapped:
        data["left_out"] = dict(mapped.left_out)
        if mapped.left_out:
            text += "\nleft out: " + ", ".join(f"{num:,} {name}" for name, num in mapped.left_out.items())
    print_report(text, data, as_json)
