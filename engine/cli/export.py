"""Export a graph to files (`lodestar export`)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import UsageError
from .options import FORCE, gateway_options, json_option
from .terminal import print_report, printable

if TYPE_CHECKING:
    from ..neo4j.gateway import Gateway


@click.command()
@click.argument("path", metavar="[FILE]", default="-")
@click.option("--format", type=click.Choice(["tsv", "ntriples", "parquet"]), help="Default: by FILE's name; tsv.")
@click.option("--names", "names_path", metavar="FILE", help="Also write names, to this file (TSV, parquet).")
@click.option("--phrases", "phrases_path", metavar="FILE", help="Also write relations' phrases, for `describe --file`.")
@click.option("--base", metavar="IRI", help="N-Triples: prefix for ids that are no IRIs (default: Freebase's).")
@click.option("--id-names", is_flag=True, help="N-Triples: also write an only name that equals the id.")
@click.option("--load", type=click.IntRange(1), help="Only the triples of this load (see `lodestar load --list`).")
@FORCE
@json_option
@gateway_options
def command(
    path: str,
    format: str | None,  # noqa: A002 - as the option is called
    names_path: str | None,
    phrases_path: str | None,
    base: str | None,
    id_names: bool,
    load: int | None,
    force: bool,
    as_json: bool,
    gateway: Gateway,
) -> None:
    """Write the graph to FILE, or to standard output (-): TSV, N-Triples or parquet, in a total order.

    A name that ends with .gz is compressed. FILE is written atomically. --json prints a report with SHA-256.

    \b
    Examples:
      lodestar export kg.tsv.gz --names names.tsv.gz --phrases phrases.tsv
      lodestar export | head
    """
    from ...loaders.export import ExportRequest, export
    from ...loaders.formats.freebase import FREEBASE
    from ..progress import progress_bar
    from ..whole_file import check_output_file

    request = ExportRequest(path, format, names_path, phrases_path, base or FREEBASE, id_names, load)
    kind = request.resolve_format()
    if "-" in (path, names_path, phrases_path):
        if as_json:
            raise UsageError("the data and the report of --json cannot both go to standard output: give a FILE")
        if kind == "parquet" and sys.stdout and sys.stdout.isatty():
            raise UsageError("parquet is not readable on a terminal: give a FILE")
    for option, file in (("", path), ("--names", names_path), ("--phrases", phrases_path)):
        if file and file != "-":
            check_output_file(option, Path(file), force=force)
    with progress_bar("the graph", "exporting") as (progress, _):
        report = export(request, gateway, progress)
    print_report(printable(str(report)), report.as_json(), as_json)
