"""What the verbs share that train on the subgraphs of questions: options, and the subgraphs with their supervision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..options import database_options, json_option, settings_from
from .training import questions_of

if TYPE_CHECKING:
    from ....models.reg.config import SubgraphOptions
    from ....models.reg.graphs import QuestionGraphs
    from ....models.text_vectors import TextVectors

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--dataset", "train_files", multiple=True, required=True, help="Questions to learn from; repeatable."),
    click.option("--dev", "dev_files", multiple=True, required=True, help="Questions to choose by; repeatable."),
    click.option(
        "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder of the checkpoint."
    ),
    click.option(
        "--supervision",
        multiple=True,
        default=("weak",),
        show_default=True,
        help="What says which triples are right: weak (all shortest paths), or the file that `lodestar refine` wrote "
        "of a question set above; repeatable.",
    ),
    click.option("--encoder", help="Sentence encoder of the texts, by name or path (default: all-MiniLM-L6-v2)."),
    click.option("--epochs", type=click.IntRange(1), help="Epochs at most."),
    click.option("--seed", type=int, default=0, show_default=True, help="Of everything that is left to chance."),
    click.option("--set", "changes", multiple=True, help="KEY=VALUE of the configuration, as subgraph.num_hops=3."),
    click.option("--fresh", is_flag=True, help="Begin anew, whatever was under way in the folder."),
    json_option,
    database_options,
)


def subgraph_training_options(function: F) -> F:
    """Add what a training on subgraphs is told."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def supervised_graphs(
    train_files: Sequence[str],
    dev_files: Sequence[str],
    out: Path,
    supervision: Sequence[str],
    subgraph: SubgraphOptions,
    vectors: TextVectors,
    flags: Mapping[str, Any],
    *,
    fresh: bool,
    open_domain: bool = False,
) -> tuple[list[QuestionGraphs], list[QuestionGraphs]]:
    """Return the subgraphs to learn from, and those to choose by; open_domain: see `graph_set`."""
    from ....models.training.processes import is_first_process
    from ...progress.phases import progress_bar
    from ...training.question_graphs import graph_set, supervised

    def say(line: str) -> None:
        if is_first_process():
            click.echo(line, err=True)

    settings = settings_from(**flags)
    sets = []
    for file in (*train_files, *dev_files):
        questions = questions_of(file)

        def reading(name: str = questions.name) -> Any:
            return progress_bar(name, "reading")

        sets.append(
            graph_set(
                questions,
                out,
                subgraph,
                vectors,
                settings,
                fresh=fresh,
                reading=reading,
                say=say,
                open_domain=open_domain,
            )
        )
    sets = supervised(sets, supervision, say)
    return sets[: len(train_files)], sets[len(train_files) :]
