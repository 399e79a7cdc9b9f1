"""Check the installation and print one screen of findings (`lodestar doctor`)."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from .options import database_options, json_option, settings_from
from .terminal import echo

MARKS = {"ok": ("✓", "green"), "missing": ("✗", "red"), "optional": ("–", "yellow")}


@click.command()
@click.option("--checkpoint", metavar="FOLDER", help="A trained model of any kind to check against this graph.")
@json_option
@database_options
def command(checkpoint: str | None, as_json: bool, **flags: Any) -> None:
    """Check what works, what is missing, and what to do about it.

    Exits with 1 if something required is missing.

    \b
    Example:
      lodestar doctor --uri neo4j+s://graph.example.org
      lodestar doctor --checkpoint star
    """
    from ..doctor import examine
    from .terminal import printable

    findings = []
    for finding in examine(settings_from(**flags), checkpoint):
        findings.append(finding)
        if not as_json:
            mark, colour = MARKS[finding.level]
            echo(f"{click.style(mark, fg=colour)} {finding.part:<15} {printable(finding.found)}")
            if finding.advice:
                echo(click.style(f"  {'':<15} → {finding.advice}", dim=True))
    if as_json:
        echo(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False))
    if any(finding.level == "missing" for finding in findings):
        raise click.exceptions.Exit(1)
