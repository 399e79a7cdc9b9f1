"""Where the question set and the options of an evaluation may stand."""

from __future__ import annotations

import click
import pytest
from lodestar.engine.cli.eval import command


@pytest.mark.parametrize(
    ("given", "verb", "rest"),
    [
        (["dev.jsonl", "--name", "x"], "run", ["dev.jsonl", "--name", "x"]),
        (["--name", "x", "dev.jsonl"], "run", ["--name", "x", "dev.jsonl"]),
        (["--recipe", "compare", "dev.jsonl"], "run", ["--recipe", "compare", "dev.jsonl"]),
        (["compare", "a", "b"], "compare", ["a", "b"]),
        (["run", "dev.jsonl"], "run", ["dev.jsonl"]),
    ],
)
def test_options_may_stand_before_the_question_set(given: list[str], verb: str, rest: list[str]) -> None:
    assert isinstance(command, click.Group)
    context = click.Context(command, info_name="eval")
    command.parse_args(context, list(given))
    name, found, left = command.resolve_command(context, [*context._protected_args, *context.args])
    assert (name, found) == (verb, command.commands[verb])
    assert left == rest
