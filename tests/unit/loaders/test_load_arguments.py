"""Where the file and the options of a load may stand."""

from __future__ import annotations

import click
import pytest
from lodestar.engine.cli.load import command


@pytest.mark.parametrize(
    ("given", "first"),
    [
        (["tsv", "kg.tsv", "--name", "x"], "tsv"),
        (["--name", "x", "tsv", "kg.tsv"], "tsv"),
        (["--append", "--name=x", "tsv", "kg.tsv"], "tsv"),
        (["--names", "n.tsv", "--dry-run", "tsv", "kg.tsv"], "tsv"),
    ],
)
def test_options_may_stand_before_the_format_and_the_file(given: list[str], first: str) -> None:
    group = command
    context = click.Context(group, info_name="load")
    group.parse_args(context, list(given))
    rest = [*context._protected_args, *context.args]
    assert rest[0] == first
    assert sorted(rest) == sorted(given)
