"""What --from-graph goes with, and what it does not."""

from __future__ import annotations

import click.testing
import pytest
from lodestar.engine.cli.main import main
from lodestar.engine.errors import UsageError


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["mine", "--out", "o"], "expected a question set or --from-graph, found neither"),
        (["mine", "q.jsonl", "--from-graph", "--out", "o"], "expected a question set or --from-graph, found both"),
        (
            ["mine", "q.jsonl", "--questions", "5", "--out", "o"],
            "--questions: needs --from-graph",
        ),
        (
            ["mine", "--from-graph", "--limit", "5", "--out", "o"],
            "--split, --format, --limit: cannot be used with --from-graph",
        ),
        (
            ["mine", "q.jsonl", "--paraphrase", "--out", "o"],
            "--paraphrase: needs --from-graph",
        ),
        (
            ["train", "star", "--dataset", "q", "--paraphrase", "--out", "o"],
            "--paraphrase: needs --from-graph",
        ),
        (
            ["mine", "q.jsonl", "--lengths", "1,3", "--out", "o"],
            "--lengths: needs --from-graph",
        ),
        (["mine", "--from-graph", "--lengths", "0,0", "--out", "o"], "lengths: expected weights of one hop, of two, …"),
        (["mine", "--from-graph", "--lengths", "nan", "--out", "o"], "lengths: expected weights of one hop, of two, …"),
        (["mine", "--from-graph", "--lengths", "-1,3", "--out", "o"], "lengths: expected weights of one hop, of two"),
        (
            ["train", "star", "--dataset", "q", "--dev", "d", "--lengths", "1", "--out", "o"],
            "--lengths: needs --from-graph",
        ),
        (["train", "star", "--out", "o"], "--dataset: expected questions, found none"),
        (["train", "star", "--dataset", "q", "--out", "o"], "--dev: expected questions, found none"),
        (
            ["train", "star", "--dataset", "q", "--dev", "d", "--questions", "9", "--out", "o"],
            "--questions: needs --from-graph",
        ),
    ],
)
def test_one_line(arguments: list[str], line: str) -> None:
    ran = click.testing.CliRunner().invoke(main, arguments)
    assert isinstance(ran.exception, UsageError), ran.output
    assert str(ran.exception).startswith(line)
