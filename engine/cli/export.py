"""Export a graph to files (`lodestar export`)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from . import asks_for_json, print_report
from .options import FORCE, gateway_options, json_option

if TYPE_CHECKING:
    from ..neo4j.gateway import Gateway


@click.command()
@click.argument("path", metavar="[FILE]", default="-")
@click.option("--format", type=click.Choice(["tsv", "ntriples"]), help="Default: by FILE's name; tsv.")
@click.option("--names", "names_path", metavar="FILE", help="Also write names, to this file (TSV).")
@click.option("--phrases", "phrases_path", metavar="FILE", help="Also write relations' phrases, for `describe --file`.")
@click.option("--base", metavar="IRI", help="N-Triples: prefix of ids that are no IRIs (default: Freebase's).")
@FORCE
@json_option
@gateway_options
def command(path: str, force: bool, gateway: Gateway, **how: Any) -> None:
    """Write the graph to FILE, or to standard output (-): TSV or N-Triples, in a total order.

    A name that ends with .gz is compressed. FILE is written atomically.

    \b
    Examples:
      lodestar export kg.tsv.gz --names names.tsv.gz --phrases phrases.tsv
      lodestar export | head
    """
    from ...loaders.export import export
    from ..file_access import check_output_file
    from ..progress import show_progress_bar

    given = {name: value for name, value in how.items() if value}
    files = {"": path, "--names": given.get("names_path"), "--phrases": given.get("phrases_path")}
    if asks_for_json() and "-" in files.values():
        raise UsageError("the data and the report of --json cannot both go to standard output: give a FILE")
    for option, file in files.items():
        if file and file != "-":
            check_output_file(option, Path(file), force=force)
    with show_progress_bar("the graph", "exporting") as (progress, _):
        report = export(gateway, path, **given, progress=progress)
    print_report(str(report), asdict(report))
