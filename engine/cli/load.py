"""Load a knowledge graph into Neo4j (`lodestar load`)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from . import echo, print_json, print_report, printable, say
from .load_changes import LANGUAGES_OPTION, NAMES_OPTION, add_lines, delete_load, list_loads
from .load_graph import GRAPH_FORMATS
from .options import (
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
        "--columns",
        metavar="H,R,T",
        callback=split_names,
        help="Columns of head, relation and tail: numbers from 1, or names in the header.",
    ),
    "values": click.option(
        "--values",
        type=click.Choice(["auto", "all", "none"]),
        default="auto",
        show_default=True,
        help="Which tails that are no head and have no name become literals: those that look like one, all, or none.",
    ),
    "languages": LANGUAGES_OPTION,
    "bases": click.option(
        "--base", "bases", multiple=True, metavar="IRI", help="Prefix to strip; the first resolves relative IRIs."
    ),
    "name_relations": click.option(
        "--name-relation", "name_relations", multiple=True, metavar="IRI", help="Relation of names, before rdfs:label."
    ),
    "shared_blank_nodes": click.option(
        "--shared-blank-nodes", is_flag=True, help="The files are pieces of one dump: _:b0 is the same in all."
    ),
    "pipeline": click.option(
        "--pipeline", default="en_core_web_sm", show_default=True, help="spaCy pipeline that finds concepts."
    ),
    "overlap": click.option(
        "--overlap", type=click.IntRange(0), default=50, show_default=True, help="Characters shared by snippets."
    ),
    "snippet_length": click.option(
        "--snippet-length", type=click.IntRange(40, 8_000), default=500, show_default=True, help="Characters at most."
    ),
}
"""Options of formats, by the arguments of their sources."""

_TABLE = ["names_path", "columns", "values"]
_FORMATS = {
    "tsv": ("triples from a TSV file: head, relation, tail", _TABLE),
    "csv": ("triples from a CSV file, separated by commas, semicolons, tabs or bars", _TABLE),
    "parquet": (
        "triples from parquet: columns head, relation and tail, or other usual names",
        ["names_path"],
    ),
    "jsonl": ("JSON lines with a triple each: objects with head, relation and tail", ["names_path"]),
    "rdf": (
        "RDF of any syntax: N-Triples, N-Quads, Turtle, TriG, RDF/XML and OWL, JSON-LD, N3",
        ["bases", "name_relations", "shared_blank_nodes", "languages"],
    ),
    "obo": ("an ontology in OBO: terms, synonyms, is_a and other relationships", []),
    "wikidata": ("Wikidata's JSON dump or a part of it; of claims those of the best rank", ["languages"]),
    "freebase": ("the raw Freebase RDF dump or a part of it", ["languages"]),
    "fb2m": ("SimpleQuestions' FB2M or FB5M", ["names_path"]),
    "metaqa": ("MetaQA's kb.txt: head|relation|tail, where ids are names", []),
    "pathquestion": ("PathQuestion's kb.txt, where ids are names", []),
    "rog": ("the union of the questions' subgraphs of a RoG or NSM file", []),
    "text": (
        "text as a graph: a folder (.txt, .md, .jsonl), or one such file",
        ["pipeline", "snippet_length", "overlap"],
    ),
}
"""The formats of lines, records and texts: what they are, and their own options."""


def _make_command(kind: str) -> click.Command:
    what, own = _FORMATS.get(kind, (f"what {kind} reads", []))

    def call(path: str, **given: Any) -> None:
        _load(kind, path=path, **given)

    made = load_options(call) if kind == "text" else subset_options(call)
    for name in reversed(own):
        made = _OPTIONS[name](made)
    made = click.argument("path", metavar="KG")(made)
    files = "A file, a folder or a pattern, packed or not; - is standard input. Examples are in docs/loading.md."
    return click.command(kind, help=f"Load {what}.\n\n{files}")(made)


for _kind in _FORMATS:
    command.add_command(_make_command(_kind))
for _other in (*GRAPH_FORMATS, add_lines):
    command.add_command(_other)


@command.command()
@load_options
def geonames(**given: Any) -> None:
    """Load countries, capitals, cities, currencies, languages and neighbours, in Freebase's vocabulary.

    The data is GeoNames', with all cities of 50,000 inhabitants and more; it is shipped, nothing is downloaded.

    \b
    Example:
      lodestar load geonames
    """
    _load("geonames", **given)


def _load(
    kind: str, *, settings: Settings, options: LoadOptions, dry_run: bool, as_json: bool, **arguments: Any
) -> None:
    from ...loaders.formats import source_class
    from ...loaders.loading import load_source, preview
    from ...loaders.reading import use_spool_folder
    from ..progress import progress_bar

    with use_spool_folder(options.staging):
        source = source_class(kind)(**arguments)
    if dry_run:
        shown = preview(source, options, online_only=bool(settings.uri))
        print_json(asdict(shown)) if as_json else echo(str(shown))
        return
    with progress_bar(source.name) as (progress, tell):
        report = load_source(source, settings, options, progress, tell)
    print_report(f"{report}\n{printable(report.advice)}", asdict(report), as_json)
