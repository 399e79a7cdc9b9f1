"""What --from-graph goes with, and what it does not; which topics it draws."""

from __future__ import annotations

import click.testing
import pytest
from lodestar.engine.cli.main import main
from lodestar.engine.errors import UsageError
from lodestar.engine.neo4j.graph import EntitySignature
from lodestar.engine.supervision.path_sampling import QuestionGenerationOptions, sample_topics
from lodestar.engine.values import Entity


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


def test_topics_are_drawn_by_their_ids_whatever_their_order() -> None:
    """Eight of 64 for each of two relations that all of them have: not the first ones, and others for the other."""
    entities = [EntitySignature(Entity(f"m.{number:02}", ""), 2, (1, 2)) for number in range(64)]
    drawn, again, other = (
        {number: [each.entity.id for each in of] for number, of in sample_topics(some, seed, 8).topics.items()}
        for some, seed in ((entities, 1), (entities[::-1], 1), (entities, 2))
    )
    assert drawn == again
    assert {len(set(of)) for of in drawn.values()} == {8}
    assert drawn[1] != drawn[2]
    assert drawn[1] != other[1]


def test_options_for_making_questions_are_held_to_their_ranges() -> None:
    with pytest.raises(UsageError, match="making questions"):
        QuestionGenerationOptions(max_ends=0)
