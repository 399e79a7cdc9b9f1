"""What holds of the tests themselves."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
from lodestar.engine.cli.main import main

from tests.places import ROOT

TESTS = ROOT / "tests"
OPTION = re.compile(r"--[a-z][a-z-]*")


def files() -> list[Path]:
    return sorted(TESTS.rglob("*.py"))


def test_what_tests_share_lies_in_folders_by_what_it_is() -> None:
    assert {path.name for path in TESTS.glob("*.py")} == {"conftest.py", "places.py"}


def test_one_profile_says_how_long_an_example_may_take() -> None:
    of_their_own = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in files()
        if path != TESTS / "conftest.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "deadline"
    ]
    assert of_their_own == []


def texts(path: Path) -> Iterator[str]:
    """Yield the texts of a module, but for its docstrings."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def options(command: click.Command) -> Iterator[str]:
    """Yield the long names of the options of a command and of the commands under it."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None, name
            yield from options(found)
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            yield from (name for name in (*parameter.opts, *parameter.secondary_opts) if name.startswith("--"))


def test_every_option_of_the_command_line_is_named_by_a_test() -> None:
    known = set(options(main))
    assert len(known) > 100
    assert sorted(known - {word for path in files() for text in texts(path) for word in OPTION.findall(text)}) == []
