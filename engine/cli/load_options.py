"""The options of every format of `lodestar load`: mode, writer, and the part of the source that is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..errors import UsageError
from .options import DATABASE, json_option, options_for, settings_from


def split_names(_context: click.Context | None, _option: click.Parameter | None, text: str | None) -> list[str] | None:
    """Return the names that an option lists with commas; None without the option."""
    return [part.strip() for part in text.split(",")] if text is not None else None


def read_load_options(
    append: bool,
    replace: bool,
    writer: str,
    uri: str | None,
    database: str | None,
    name: str | None,
    max_rejects: int | None = None,
    around: Sequence[str] = (),
    hops: int | None = None,
    relations: str = "",
    max_degree: int | None = None,
) -> dict[str, Any]:
    """Return `settings`, and `options` of a load."""
    from ...loaders.loads.loading import LoadOptions
    from ...loaders.source import Subset, read_list

    settings = settings_from(uri, database, name)
    if append and replace:
        raise UsageError("--append and --replace exclude each other: give one of them")
    if hops is not None and not around:
        raise UsageError("--hops sets how far --around reaches: give --around as well")
    if relations and Path(relations).is_file():
        only = read_list(relations)
    else:
        only = tuple(filter(None, split_names(None, None, relations) or ()))
    options = LoadOptions(
        staging=settings.home_dir / "staging",
        mode="append" if append else "replace" if replace else "new",
        writer=writer,  # type: ignore[arg-type] - one of the choices
        subset=Subset(around=tuple(around), hops=hops or 1, relations=only, max_degree=max_degree),
        max_rejects=max_rejects,
    )
    return {"settings": settings, "options": options}


MODE = (
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
    *DATABASE,
    json_option,
)
_SUBSET = (
    click.option(
        "--max-rejects", type=click.IntRange(0), help="Most rejected lines (default: 0; freebase: 1000), else it fails."
    ),
    click.option("--around", multiple=True, metavar="ID", help="Only the neighbourhood of this entity; repeatable."),
    click.option("--hops", type=click.IntRange(1), help="How far --around reaches (default: 1)."),
    click.option(
        "--relations", metavar="NAMES|FILE", help="Only these, parted by commas or one a line of a file: film.*,music.*"
    ),
    click.option(
        "--max-degree", type=click.IntRange(1), help="No triples of entities with more; --around does not go on there."
    ),
)

load_options = options_for(read_load_options, *MODE)
"""What every format has: `settings`, `options`, and beside them `dry_run` and `as_json`."""
subset_options = options_for(read_load_options, *MODE, *_SUBSET)
"""The same with --max-rejects and the options of a part, for formats of lines or records of triples."""
