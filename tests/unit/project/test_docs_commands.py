"""Every `lodestar` command in the README and docs parses, and what their Python imports of Lodestar exists."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from lodestar.engine.cli.main import main

from tests.places import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINE = re.compile(r"(?:\$ )?(?:[A-Z_]+=\S+(?: [^$]*?\))? )?(lodestar [a-z].*)")
INLINE = re.compile(r"`(lodestar [a-z][^`]*)`")
END = ("|", "||", "&&", ";", ">", "2>", "<", "&")


def commands(text: str) -> Iterator[str]:
    """Yield the commands on lines of code and between backticks."""
    in_code = False
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif (in_code or line.startswith("    ")) and (found := LINE.fullmatch(line.strip())):
            yield found[1]
        elif not in_code:
            yield from INLINE.findall(line)


def arguments(command: str) -> list[str]:
    """Return the arguments after `lodestar`, without comments, pipes, redirections and what follows them."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)[1:]
    return words[: next((at for at, word in enumerate(words) if word in END), len(words))]


def takes_none(command: click.Command, option: str) -> bool:
    """Whether an option is a flag."""
    return any(isinstance(each, click.Option) and option in each.opts and each.is_flag for each in command.params)


def check(words: list[str]) -> None:
    """Parse the arguments without running anything; raise `click.UsageError`."""
    command: click.Command = main
    context = click.Context(main, info_name="lodestar")
    while isinstance(command, click.Group) and words and (words[0] == "-" or not words[0].startswith("-")):
        if context.info_name == "load" and words[0] not in command.list_commands(context):
            words = ["tsv", *words]  # `load FILE` reads the file to find its format
        name, found, words = command.resolve_command(context, words)
        assert found is not None, name
        command = found
        context = click.Context(command, info_name=name, parent=context)
    if words and words[-1].startswith("--") and not takes_none(command, words[-1]):
        words = [*words, "…"]  # prose names an option without its value
    values, rest, _ = command.make_parser(context).parse_args(list(words))
    if rest:
        raise click.UsageError(f"unexpected {rest}")
    for parameter in command.params:
        given = values.get(parameter.name)
        if isinstance(parameter.type, click.Choice) and isinstance(given, str) and "…" not in given:
            parameter.type.convert(given, parameter, context)


FOUND = [(page, command) for page in PAGES for command in commands(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(
    "page, command", [pytest.param(*each, id=f"{each[0].name}: {each[1]}"[:100]) for each in FOUND]
)
def test_a_command_in_the_docs_parses(page: Path, command: str) -> None:
    try:
        check(arguments(command))
    except click.UsageError as error:
        pytest.fail(f"{page.relative_to(ROOT)}: {command}: {error.format_message()}")


def imports(text: str) -> Iterator[tuple[str, str]]:
    """Yield module and name of what the Python of a page imports from Lodestar."""
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "lodestar":
                yield from ((str(node.module), each.name) for each in node.names)


IMPORTED = sorted({found for page in PAGES for found in imports(page.read_text(encoding="utf-8"))})


@pytest.mark.parametrize("module, name", IMPORTED)
def test_what_the_docs_import_exists(module: str, name: str) -> None:
    assert hasattr(importlib.import_module(module), name)
