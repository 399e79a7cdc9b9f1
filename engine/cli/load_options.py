"""Define the options that every format of `lodestar load` shares, mode, subset, writer, and load by them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import UsageError
from .options import database_options, json_option, worker_options, workers_from

if TYPE_CHECKING:
    from ...loaders.loads.loading import LoadOptions
    from ...loaders.loads.report import LoadReport
    from ...loaders.source import Source
    from ...loaders.stage.processes import MapInOrder
    from ...loaders.subset import Subset
    from ..parallel import Workers
    from ..progress import Progress, Say
    from ..settings import Settings

DATABASE_FLAGS = ("uri", "user", "database", "name", "home")
"""The options of the database that is loaded into."""

F = TypeVar("F", bound=Callable[..., Any])

_MODE = (
    click.option("--append", is_flag=True, help="Add to the graph."),
    click.option("--replace", is_flag=True, help="Replace the graph."),
    click.option(
        "--force",
        is_flag=True,
        help="Load again even if this content is already loaded, and overwrite the file of --rejects.",
    ),
    click.option(
        "--writer",
        type=click.Choice(["auto", "bulk", "online"]),
        default="auto",
        show_default=True,
        help="bulk: Neo4j's offline importer, for a new graph of an embedded server; online: transactions.",
    ),
    click.option("--dry-run", is_flag=True, help="Read a sample and say what would happen; write nothing."),
    click.option(
        "--memory",
        "memory_mb",
        type=click.IntRange(min=256),
        metavar="MB",
        help="Memory for converting the source (default: a quarter of what is free); the rest spills to disk.",
    ),
)
_PHRASES = (
    click.option(
        "--phrases",
        metavar="FILE",
        help="Phrases of relations, as `lodestar export --phrases` and `describe --file` have them.",
    ),
)
_REJECTS = (
    click.option(
        "--max-rejects",
        type=click.IntRange(min=0),
        help="Most rejected lines before the load fails (default: 0; freebase: 1000).",
    ),
    click.option(
        "--rejects",
        type=click.Path(dir_okay=False),
        help="File for the rejected lines, with number and reason.",
    ),
)
_SUBSET = (
    click.option(
        "--around", multiple=True, metavar="ID", help="Only the neighbourhood of this entity; can be repeated."
    ),
    click.option("--hops", type=click.IntRange(min=1), help="How far --around reaches (default: 1)."),
    click.option(
        "--relations", metavar="FILE", help="Only the relations in this file, one a line; * and ? are wildcards."
    ),
    click.option("--domains", metavar="NAMES", help="Only relations of these domains: music,film."),
    click.option(
        "--max-degree",
        type=click.IntRange(min=1),
        help="Leave out the triples of entities with more; with --around do not continue from such entities.",
    ),
)


def add_load_options(function: F) -> F:
    """Add the options that every format shares, those of the database, and --json."""
    function = worker_options(json_option(database_options(function)))
    for option in reversed(_MODE + _PHRASES + _REJECTS + _SUBSET):
        function = option(function)
    return function


def pop_load_options(flags: dict[str, Any], settings: Settings) -> LoadOptions:
    """Remove the shared options from `flags` and return them."""
    from ...loaders.loads.loading import LoadOptions
    from ...loaders.reading.byte_file import RereadableFile
    from ...loaders.stage.rejects import check_place
    from ..neo4j.catalogue import Catalogue
    from ..relations.describing import read_descriptions

    append, replaces = flags.pop("append"), flags.pop("replace")
    if append and replaces:
        raise UsageError("--append and --replace exclude each other: give one of them")
    phrases = flags.pop("phrases")
    if phrases:
        read_descriptions(Path(phrases), Catalogue(()), Counter())  # a fault is found before anything is written
    rejects = flags.pop("rejects")
    if rejects and flags["relations"]:
        check_place(Path(rejects), RereadableFile(flags["relations"]).is_at)
    return LoadOptions(
        staging=settings.home_dir / "staging",
        mode="append" if append else "replace" if replaces else "new",
        writer=flags.pop("writer"),
        subset=_subset(flags),
        max_rejects=flags.pop("max_rejects"),
        phrases_file=Path(phrases) if phrases else None,
        rejects_file=Path(rejects) if rejects else None,
        force=flags.pop("force"),
        memory_mb=flags.pop("memory_mb"),
        map_in_order=_map_in_order(workers_from(flags)),
    )


def _map_in_order(workers: Workers) -> MapInOrder | None:
    """Return on whom pieces of large files are parsed; None leaves it to the load."""
    from ...loaders.stage.processes import MapOnProcesses

    if workers.ray:
        return workers.map
    return MapOnProcesses(workers.num) if workers.num else None


def _subset(flags: dict[str, Any]) -> Subset:
    from ...loaders.subset import Subset, read_list

    around, hops, relations = flags.pop("around"), flags.pop("hops"), flags.pop("relations")
    if hops is not None and not around:
        raise UsageError("--hops sets how far --around reaches: give --around as well")
    domains = flags.pop("domains")
    return Subset(
        around=tuple(around),
        hops=hops or 1,
        relations=read_list(relations) if relations else (),
        domains=tuple(filter(None, map(str.strip, domains.split(",")))) if domains else (),
        max_degree=flags.pop("max_degree"),
    )


def load_source(source: Source, settings: Settings, options: LoadOptions, progress: Progress, say: Say) -> LoadReport:
    """Load a source into the database that the settings name, and return the report."""
    from ...loaders.loads.loading import load, load_embedded
    from ..neo4j.gateway import Gateway
    from ..neo4j.instance import ServerPair, loading_connection

    if not settings.uri:
        return load_embedded(source, ServerPair.of(settings), options, progress, say)
    with Gateway(loading_connection(settings)) as gateway:
        gateway.version()
        return load(source, gateway, options, progress)


def split_names(text: str | None) -> list[str] | None:
    """Return the names that an option lists with commas; None without the option."""
    return [part.strip() for part in text.split(",")] if text is not None else None
