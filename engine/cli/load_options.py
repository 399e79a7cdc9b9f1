"""Define the options that every format of `lodestar load` shares, mode, subset, writer, and load by them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import UsageError
from .options import database_options, json_option

if TYPE_CHECKING:
    from ...loaders.loads.loading import LoadOptions
    from ...loaders.source import Subset
    from ..settings import Settings

F = TypeVar("F", bound=Callable[..., Any])

_MODE = (
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
)
_REJECTS = (
    click.option(
        "--max-rejects",
        type=click.IntRange(min=0),
        help="Most rejected lines before the load fails (default: 0; freebase: 1000).",
    ),
)
_SUBSET = (
    click.option(
        "--around", multiple=True, metavar="ID", help="Only the neighbourhood of this entity; can be repeated."
    ),
    click.option("--hops", type=click.IntRange(min=1), help="How far --around reaches (default: 1)."),
    click.option(
        "--relations",
        metavar="NAMES|FILE",
        help="Only these relations, parted by commas, or in a file, one a line; * and ? are wildcards: film.*,music.*",
    ),
    click.option(
        "--max-degree",
        type=click.IntRange(min=1),
        help="Leave out the triples of entities with more; with --around do not continue from such entities.",
    ),
)


def add_load_options(function: F) -> F:
    """Add the options of formats with lines or records of triples: the common ones, --max-rejects and the subset's."""
    return _add(json_option(database_options(function)), _MODE + _REJECTS + _SUBSET)


def add_common_options(function: F) -> F:
    """Add the options that every format has, those of the database, and --json."""
    return _add(json_option(database_options(function)), _MODE)


def _add(function: F, options: tuple[Callable[[F], F], ...]) -> F:
    for option in reversed(options):
        function = option(function)
    return function


def pop_load_options(flags: dict[str, Any], settings: Settings) -> LoadOptions:
    """Remove the shared options from `flags` and return them."""
    from ...loaders.loads.loading import LoadOptions

    append, replaces = flags.pop("append"), flags.pop("replace")
    if append and replaces:
        raise UsageError("--append and --replace exclude each other: give one of them")
    return LoadOptions(
        staging=settings.home_dir / "staging",
        mode="append" if append else "replace" if replaces else "new",
        writer=flags.pop("writer"),
        subset=_subset(flags),
        max_rejects=flags.pop("max_rejects", None),
    )


def _subset(flags: dict[str, Any]) -> Subset:
    from ...loaders.source import Subset

    around, hops, relations = flags.pop("around", ()), flags.pop("hops", None), flags.pop("relations", None)
    if hops is not None and not around:
        raise UsageError("--hops sets how far --around reaches: give --around as well")
    return Subset(
        around=tuple(around),
        hops=hops or 1,
        relations=_read_relations(relations) if relations else (),
        max_degree=flags.pop("max_degree", None),
    )


def _read_relations(given: str) -> tuple[str, ...]:
    """Return the relations that a file or a text names."""
    from ...loaders.source import read_list

    return read_list(given) if Path(given).is_file() else tuple(filter(None, split_names(given) or ()))


def split_names(text: str | None) -> list[str] | None:
    """Return the names that an option lists with commas; None without the option."""
    return [part.strip() for part in text.split(",")] if text is not None else None
