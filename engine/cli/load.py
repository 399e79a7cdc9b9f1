"""Load a knowledge graph into Neo4j, export it (`lodestar load`, `export`)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, fields
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...loaders.formats import FORMATS, GRAPHS, OWN_PLACE, get_format_factory, source_class
from ..errors import AuthenticationError, DatabaseUnavailableError, UsageError
from ..file_access import check_output_file, write_text_file
from ..progress import print_to_stderr, show_progress_bar
from . import asks_for_json, print_report, show
from .options import FORCE, database_options, gateway_options, json_option

if TYPE_CHECKING:
    from ...loaders.property_graph import PropertyGraph, PropertyGraphSource
    from ..neo4j.gateway import Gateway
    from ..settings import Settings

Resolved = tuple[str | None, click.Command | None, list[str]]
FILE = click.Path(dir_okay=False, path_type=Path)
PASSWORD = "LODESTAR_FROM_PASSWORD"  # noqa: S105 - the environment's name for that of the database that is read


class LoadFormatCommands(click.Group):
    """Has a command for each format; if the first argument is a file, its format is detected."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Formats"):
            formatter.write_dl([(name, text) for name, (_, text) in FORMATS.items()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        return _make_command(cmd_name) if cmd_name in FORMATS else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Resolved:  # noqa: ARG002
        """Return the command of the named format, or of the named file's format."""
        kind, *rest = args
        if kind in FORMATS or (OWN_PLACE.fullmatch(kind) and not Path(kind).exists()):
            return kind, _make_command(kind), rest
        from ...loaders.formats.detecting import detect_format

        kind = detect_format(args[0])
        print_to_stderr(f"{args[0]} looks like {kind}")
        return kind, _make_command(kind), args


@click.group(
    cls=LoadFormatCommands,
    commands=dict.fromkeys(FORMATS, click.Command(None)),
    no_args_is_help=True,
    subcommand_metavar="FILE|FORMAT [OPTIONS]...",
)
def load_command() -> None:
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


def _split(_context: click.Context, _option: click.Parameter, text: str | None) -> list[str] | None:
    return [part.strip() for part in text.split(",")] if text is not None else None


_OPTIONS = {
    "names_path": click.option("--names", "names_path", metavar="FILE", help="TSV of ids, names and aliases."),
    "columns": click.option("--columns", metavar="H,R,T", callback=_split, help="Their numbers or names."),
    "languages": click.option("--languages", default="en", callback=_split, help="Of names, preferred first; * all."),
    "bases": click.option("--base", "bases", multiple=True, metavar="IRI", help="Prefix to strip; repeatable."),
    "name_relations": click.option("--name-relation", "name_relations", multiple=True, help="IRI; before rdfs:label."),
    "shared_blank_nodes": click.option("--shared-blank-nodes", is_flag=True, help="_:b0 is the same in all files."),
    "pipeline": click.option("--pipeline", default="en_core_web_sm", show_default=True, help="spaCy pipeline."),
    "references": click.option("--reference", "references", multiple=True, help="T.COLUMN=T2: keys of T2; repeatable."),
    "run_script": click.option("--run-script", is_flag=True, help="Run the script, which is code, in its own server."),
}
"""Options of formats, by the arguments of their sources."""
_OF_NEO4J = (
    click.option("--from", "from_uri", required=True, metavar="URI", help="Address of the Neo4j that is read."),
    click.option("--from-user", default="neo4j", help=f"Its user (default: neo4j); the password is {PASSWORD}."),
    click.option("--from-database", default="neo4j", show_default=True, help="Its database."),
)
_OF_GRAPHS = (  # the first are of `loaders.mapping.Choices`
    click.option("--labels", metavar="NAMES", callback=_split, help="Only nodes with one of these: Person,Movie."),
    click.option("--relationships", metavar="NAMES", callback=_split, help="Only these types: ACTED_IN,DIRECTED."),
    click.option("--name-property", "names", multiple=True, help="LABEL=PROPERTY that names its nodes, or first+last."),
    click.option("--leave-out", multiple=True, help="Do not read salary, or Person=salary; repeatable."),
    click.option("--types/--no-types", default=None, help="Keep labels as types: (node, type, label) (default: yes)."),
    click.option("--mapping", "mapping_file", type=FILE, help="TOML file that says what becomes of what."),
    click.option("--save-mapping", "saved_file", type=FILE, help="Write the mapping to this TOML file, a new one."),
)
_OF_ALL = (
    click.option("--append", is_flag=True, help="Add to the graph."),
    click.option("--replace", is_flag=True, help="Replace the graph."),
    click.option(
        "--writer",
        type=click.Choice(["auto", "bulk", "online"]),
        default="auto",
        show_default=True,
        help="bulk: Neo4j's offline importer, for a new graph of an embedded server; online: transactions.",
    ),
    click.option("--dry-run", is_flag=True, help="Read a sample and say what would happen; write nothing."),
    database_options,
    json_option,
)
_OF_PARTS = (
    click.option("--max-rejects", type=click.IntRange(0), help="Most rejected lines (default: 0; freebase: 1000)."),
    click.option("--around", multiple=True, metavar="ID", help="Only the neighbourhood of this entity; repeatable."),
    click.option("--hops", type=click.IntRange(1), default=1, help="How far --around reaches (default: 1)."),
    click.option("--relations", metavar="NAMES|FILE", help="Only these: film.*,music.*, or one a line of a file."),
)
"""Of lines and records of triples."""
_ENCODING = click.option("--encoding", default="", help="Of the text, as latin1 (default: UTF-8 or UTF-16).")


def _make_command(kind: str) -> click.Command:
    known = signature(get_format_factory(kind)).parameters if kind in FORMATS else ()
    options: list[Callable[[Any], Any]] = [] if kind in ("geonames", "neo4j") else [click.argument("path"), _ENCODING]
    options += [_OPTIONS[name] for name in known if name in _OPTIONS]
    options += [*(_OF_NEO4J if kind == "neo4j" else ()), *(_OF_GRAPHS if kind in GRAPHS else ()), *_OF_ALL]
    options += [] if kind in (*GRAPHS, "text", "geonames") else _OF_PARTS
    made: Any = partial(_load, kind)
    for option in reversed(options):
        made = option(made)
    text = FORMATS[kind][1] if kind in FORMATS else f"what {kind} reads"
    return click.command(kind, help=f"Load {text}.\n\nExamples are in docs/loading.md.")(made)


def _load(
    kind: str, *, settings: Settings, append: bool, replace: bool, dry_run: bool, encoding: str = "", **given: Any
) -> None:
    """Load what a format reads, or show what would be loaded.

    given: fields of `LoadOptions` and `Subset`, and the format's own arguments.
    """
    from ...loaders.loading import LoadOptions, load_into_configured_database, preview
    from ...loaders.reading import use_spool_folder
    from ...loaders.source import Subset, read_relation_patterns

    if append and replace:
        raise UsageError("--append and --replace exclude each other: give one of them")
    if "relations" in given:
        given["relations"] = read_relation_patterns(given["relations"] or "")
    subset = _take(Subset, given)
    mode = "append" if append else "replace" if replace else "new"
    options = _take(LoadOptions, given, staging=settings.home_dir / "staging", mode=mode, subset=subset)
    with use_spool_folder(options.staging, encoding):
        mapped = _read_graph(kind, settings, dry_run=dry_run, **given) if kind in GRAPHS else None
        source = mapped or source_class(kind)(**given)
        if dry_run:
            show(*(mapped.preview() if mapped else preview(source, options, online_only=bool(settings.uri))))
            return
        with show_progress_bar(source.name) as (progress, tell):
            report = load_into_configured_database(source, settings, options, progress, tell)
    print_report(f"{report}\n{report.advice}", asdict(report))


def _take(kind: type[Any], given: dict[str, Any], **more: Any) -> Any:
    """Return a dataclass of what was given for its fields, which is taken out."""
    return kind(**more, **{each.name: given.pop(each.name) for each in fields(kind) if each.name in given})


def _read_graph(
    kind: str, settings: Settings, *, dry_run: bool, mapping_file: Path | None, saved_file: Path | None, **given: Any
) -> PropertyGraphSource:
    """Return the source of a property graph, which is read; write down what becomes of what, if asked to.

    given: the format's own arguments, and choices.
    """
    from ...loaders.mapping import Choices
    from ...loaders.property_graph import PropertyGraphSource

    if saved_file:
        check_output_file("--save-mapping", saved_file)
    choices = _take(Choices, given)
    make = get_format_factory(kind)
    opened = _open_neo4j(make, settings, dry_run=dry_run, **given) if kind == "neo4j" else nullcontext(make(**given))
    with opened as graph, show_progress_bar(graph.name, "reading") as (progress, _):
        source = PropertyGraphSource(graph, choices, mapping_file, progress)
    if saved_file:
        write_text_file(saved_file, source.mapping.as_toml())
    return source


@contextmanager
def _open_neo4j(
    make: Callable[..., Any], settings: Settings, *, dry_run: bool, from_uri: str, from_user: str, from_database: str
) -> Iterator[PropertyGraph]:
    """Yield the graph of another database; raise its errors with the options that lead to it.

    Raises `UsageError` if it is the one that is loaded into.
    """
    from ..neo4j.catalogue import read_database_id
    from ..neo4j.gateway import Gateway
    from ..settings import LOAD_TIMEOUT_S, Connection, check_address, make_connection

    check_address(from_uri)
    password = os.environ.get(PASSWORD) or ("" if settings.uri else settings.password)
    with Gateway(Connection(from_uri, from_user, password, from_database, LOAD_TIMEOUT_S)) as gateway:
        try:
            gateway.version()
            number = gateway.run(read_database_id())
        except (AuthenticationError, DatabaseUnavailableError) as error:
            said = re.sub(r"(: |, then )(check|start) .*", "", str(error))  # what leads to the graph that is written
            raise type(error)(f"{said}: check --from, --from-user, --from-database and {PASSWORD}") from error
        if not dry_run:  # an embedded server that does not run yet is another one
            with suppress(DatabaseUnavailableError), Gateway(make_connection(settings)) as other:
                if other.run(read_database_id()) == number:
                    raise UsageError("--from names the database that is loaded into: name another by --uri or --name")
        yield make(gateway)


@click.command()
@click.argument("path", metavar="[FILE]", default="-")
@click.option("--format", type=click.Choice(["tsv", "ntriples"]), help="Default: by FILE's name; tsv.")
@click.option("--names", "names_path", metavar="FILE", help="Also write names, to this file (TSV).")
@click.option("--base", metavar="IRI", help="N-Triples: prefix of ids that are no IRIs (default: Freebase's).")
@FORCE
@json_option
@gateway_options
def export_command(path: str, names_path: str | None, force: bool, gateway: Gateway, **how: Any) -> None:
    """Write the graph to FILE, or to standard output (-): TSV or N-Triples, in a total order.

    A name that ends with .gz is compressed. FILE is written atomically.

    \b
    Examples:
      lodestar export kg.tsv.gz --names names.tsv.gz
      lodestar export | head
    """
    from ...loaders.export import export

    for option, file in (("", path), ("--names", names_path)):
        if file == "-" and asks_for_json():
            raise UsageError("the data and the report of --json cannot both go to standard output: give a FILE")
        if file and file != "-":
            check_output_file(option, Path(file), force=force)
    given = {name: value for name, value in how.items() if value}
    with show_progress_bar("the graph", "exporting") as (progress, _):
        report = export(gateway, path, names_path=names_path, **given, progress=progress)
    print_report(str(report), asdict(report))
