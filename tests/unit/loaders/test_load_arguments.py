"""Where the file and the options of a load may stand."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from lodestar.engine.cli.load import command
from lodestar.engine.errors import UsageError
from lodestar.loaders.formats import source_class


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


def test_a_source_of_ones_own_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "kg.txt").write_text("Lima | capital of | Peru\nQuito | capital of | Ecuador\n")
    env = {"LODESTAR_HOME": str(tmp_path / "home")}
    given = ["tests.fakes.own_source:Bars", str(tmp_path / "kg.txt"), "--dry-run", "--json"]
    ran = CliRunner().invoke(command, given, env=env)
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["categories"]["triple"] == 2
    with pytest.raises(UsageError, match=r"expected a class derived from Source, found tests\.fakes\.own_source:Any"):
        source_class("tests.fakes.own_source:Any")
    with pytest.raises(UsageError, match=r"no\.such:Thing cannot be imported"):
        source_class("no.such:Thing")
