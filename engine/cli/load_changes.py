"""List and delete the loads of a graph, and change single triples (`lodestar load --list`, `--delete`, `-`)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from . import confirm_deletion, load_line, print_report, show
from .options import gateway_options, json_option, open_gateway, split_names

if TYPE_CHECKING:
    from ..neo4j.gateway import Gateway
    from ..settings import Settings

NAMES_OPTION = click.option(
    "--names", "names_path", metavar="FILE", help="Names: id, name, and aliases if any, as TSV or parquet."
)
LANGUAGES_OPTION = click.option(
    "--languages", default="en", callback=split_names, help="Of names, preferred first: en,es (default: en); * all."
)
KINDS = ("tsv", "csv", "rdf", "metaqa", "pathquestion")
"""Formats of lines that are added or removed."""


def list_loads(settings: Settings, *, as_json: bool) -> None:
    from ..neo4j import catalogue

    gateway = open_gateway(settings)
    loads = catalogue.list_loads(gateway, catalogue.read_full_state(gateway))
    show(loads, map(load_line, loads), as_json=as_json)


def delete_load(which: str, settings: Settings, *, yes: bool, as_json: bool) -> None:
    from ...loaders.maintaining import find_load, unload
    from ...loaders.report import number_of
    from ..neo4j.catalogue import read_loads
    from ..progress import progress_bar

    gateway = open_gateway(settings)
    manifest = find_load(gateway.run(read_loads()), which)
    shown = f"load {manifest.number} ({manifest.source})"
    confirm_deletion(shown, yes=yes)
    with progress_bar(shown, "deleting") as (progress, _):
        report = unload(gateway, str(manifest.number), progress=progress)
    deleted = number_of(report.num_triples_deleted, "triple", "triples")
    left = number_of(report.num_triples, "triple", "triples")
    entities = number_of(report.num_entities, "entity", "entities")
    print_report(f"{report.source}: {deleted} deleted, {left} of {entities} left", asdict(report), as_json)


@click.command("-")
@click.option("--format", "kind", type=click.Choice(KINDS), default="tsv", show_default=True, help="Of the lines.")
@NAMES_OPTION
@LANGUAGES_OPTION
@click.option("--remove", is_flag=True, help="Remove the triples instead.")
@click.option("--missing-ok", is_flag=True, help="With --remove: pass over triples that are not there.")
@json_option
@gateway_options
def add_lines(
    kind: str,
    names_path: str | None,
    languages: list[str],
    remove: bool,
    missing_ok: bool,
    as_json: bool,
    gateway: Gateway,
) -> None:
    """Add the triples of a few lines from standard input to the graph, or remove them, as one change.

    Ends are ids or names of entities; what is neither is new. At most 100,000 triples; more are a load of their own
    (`lodestar load tsv - --append`). A bad line changes nothing.

    \b
    Example:
      printf 'Lima\\tmayor\\tAna\\n' | lodestar load -
      printf 'Lima\\tmayor\\tAna\\n' | lodestar load - --remove
    """
    from ...loaders import maintaining
    from ...loaders.formats import source_class

    if names_path is not None and (remove or kind not in ("tsv", "csv")):
        raise UsageError("--names goes with tsv or csv, and without --remove")
    if missing_ok and not remove:
        raise UsageError("--missing-ok goes with --remove")
    own: dict[str, Any] = {"languages": languages} if kind == "rdf" else {}
    if kind in ("tsv", "csv"):
        own = {"has_header": False, "names_path": names_path}
    source = source_class(kind)(path="-", **own)
    report = maintaining.change_lines(source, gateway, remove=remove, missing_ok=missing_ok)
    print_report(str(report), asdict(report), as_json)
