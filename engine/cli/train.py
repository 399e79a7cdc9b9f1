"""Train a model of any installed kind (`lodestar train KIND`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...models.ranges import MAX_HOP
from ...models.training.kind import (
    KINDS,
    PATHS,
    POOLS,
    READINGS,
    SUBGRAPHS,
    AnyKind,
    LearnsFrom,
    TrainCommandOption,
    list_installed_kinds,
    load_kind,
)
from .options import RETURN_TO_TOPIC, database_options, json_option
from .terminal import echo, say

if TYPE_CHECKING:
    from ...models.training.kind import ModelDescription
    from ...models.training.trainer import TrainingCallbacks

SECTION = "Train"
Options = Sequence[Callable[[Any], Any]]

_SUPERVISION = click.option(
    "--supervision",
    multiple=True,
    default=("weak",),
    show_default=True,
    help="Which triples are positives: weak (all shortest paths), or by a file of `lodestar refine` for one of "
    "the question sets; repeatable.",
)
_OF_SOURCE: Mapping[LearnsFrom, Options] = {
    PATHS: (
        click.option(
            "--max-hop",
            type=click.IntRange(1, MAX_HOP),
            default=2,
            show_default=True,
            help="For question sets: longest path.",
        ),
        RETURN_TO_TOPIC,
        click.option("--any-graph", is_flag=True, help="Train for other graphs too."),
    ),
    SUBGRAPHS: (_SUPERVISION,),
    POOLS: (_SUPERVISION,),
    READINGS: (
        click.option("--recipe", help="Recipe whose evidence is read: a name, a TOML file, or a line of parts."),
        click.option("--checkpoint", help="Checkpoint of the recipe's first part that takes one."),
    ),
}
"""Options by data source, see `engine/training/sources.py`."""


def _common(kind: AnyKind) -> Options:
    """Return the options of every kind."""
    mined = ", or a file of `lodestar mine`" if kind.learns_from == PATHS else ""
    epochs = click.option("--epochs", type=click.IntRange(1), help="Most epochs of each network.")
    presets = click.option(
        "--preset",
        type=click.Choice(tuple(kind.presets)),
        default=next(iter(kind.presets), None),
        show_default=True,
        help="Defaults to start from.",
    )
    return [
        click.option(
            "--dataset",
            "train_files",
            multiple=True,
            required=True,
            help=f"Training questions: a question set{mined}; repeatable.",
        ),
        click.option(
            "--dev",
            "dev_files",
            multiple=True,
            required=True,
            help="Dev questions, which select the epoch; repeatable.",
        ),
        click.option(
            "--limit", type=click.IntRange(1), help="Most questions of each set: a random sample by the seed."
        ),
        *_OF_SOURCE[kind.learns_from],
        click.option(
            "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder of the checkpoint."
        ),
        *([presets] if kind.presets else []),
        *map(_option_of_kind, kind.options),
        *([epochs] if kind.trainings else []),
        click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Random seed."),
        click.option(
            "--set", "changes", multiple=True, help="KEY=VALUE of the configuration, such as training.patience=3."
        ),
        click.option("--fresh", is_flag=True, help="Start again, even if the folder has a finished training."),
        json_option,
        database_options,
    ]


def _option_of_kind(option: TrainCommandOption) -> Callable[[Any], Any]:
    if not isinstance(option.sets, str):
        return click.option(option.flag, is_flag=True, help=option.help)
    kind = click.Choice(option.choices) if option.choices else option.type
    return click.option(option.flag, type=kind, help=option.help)


def train_command(name: str) -> click.Command:
    """Return the command that trains a kind, given by name or as ``module:KIND``."""
    try:
        kind = load_kind(name)
    except LookupError as error:
        raise click.UsageError(str(error)) from error

    def train(**given: Any) -> None:
        _train(kind, **given)

    for option in reversed(_common(kind)):
        train = option(train)
    examples = "\n".join(f"  {line}" for line in kind.examples)
    text = f"{kind.summary}\n\nAfter a stop, run the same command again to continue." + (
        f"\n\n\b\nExamples:\n{examples}" if examples else ""
    )
    return click.command(kind.name, help=text)(train)


def _train(
    kind: AnyKind,
    train_files: Sequence[str],
    dev_files: Sequence[str],
    out: Path,
    seed: int,
    limit: int | None,
    changes: Sequence[str],
    fresh: bool,
    as_json: bool,
    preset: str = "",
    epochs: int | None = None,
    **given: Any,
) -> None:
    from ...loaders.questions.question_sets import read_questions
    from ...models.training.trainer import is_first_process
    from ..training.running import PRECISIONS, train_kind, training_config
    from ..training.sources import TrainingRequest

    values = _own_values(kind, given)
    settings = given.pop("settings")
    config = training_config(
        kind,
        changes,
        preset=preset,
        values=values,
        epochs=epochs,
        precision=PRECISIONS.get(settings.precision),
        seed=seed,
    )
    request = TrainingRequest(
        train_files,
        dev_files,
        out,
        settings,
        read_questions,
        seed=seed,
        limit=limit,
        fresh=fresh,
        options=given,
        say=lambda line: say(line) if is_first_process() else None,
    )
    description = train_kind(kind, config, request, lambda: _watch(out, kind.figures))
    _print_result(kind, description, out, as_json=as_json)


def _own_values(kind: AnyKind, given: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration values of a kind's own options; removes them from `given`."""
    values: dict[str, Any] = {}
    for option in kind.options:
        value = given.pop(_name(option))
        if isinstance(option.sets, str):
            values |= {option.sets: value} if value is not None else {}
        elif value:
            values |= option.sets
    return values


def _name(option: TrainCommandOption) -> str:
    return option.flag.removeprefix("--").replace("-", "_")


@contextmanager
def _watch(out: Path, figures: Sequence[str]) -> Iterator[TrainingCallbacks]:
    """Show the progress of a training, and print `figures` after each epoch."""
    from ...models.training.trainer import TrainingCallbacks
    from ..progress import progress_bar

    with progress_bar(out.name, "training") as (progress, say):

        def step(name: str, epoch: int, done: int, total: int, loss: float) -> None:
            progress(f"{name} {epoch + 1}, loss {loss:.2f}" if done == total else f"{name} {epoch + 1}", done, total)

        def epoch_done(name: str, epoch: int, values: Mapping[str, float]) -> None:
            say(f"{name}, epoch {epoch + 1}: {_figures_text(values, figures)} on dev")

        yield TrainingCallbacks(step, epoch_done)


def _print_result(kind: AnyKind, description: ModelDescription, out: Path, *, as_json: bool) -> None:
    """Print the result of a training, once for all processes."""
    from ...models.training.trainer import is_first_process

    if not is_first_process():
        return
    if as_json:
        figures = {name: dict(values) for name, values in description.figures.items()}
        beside = {name: getattr(description, name) for name in ("supervision", "mix") if hasattr(description, name)}
        echo(json.dumps({"out": str(out), **beside, "figures": figures}))
    else:
        for name, values in description.figures.items():
            echo(f"{name:<24}{_figures_text(values, kind.figures)}")
    minutes = sum(description.seconds.values()) / 60
    echo(f"the checkpoint is in {out}, trained in {minutes:.1f} minutes", err=True)


def _figures_text(figures: Mapping[str, float], names: Sequence[str]) -> str:
    return ", ".join(f"{name} {figures[name]:.3f}" for name in names if name in figures)


class _Kinds(click.Group):
    """Has a command for each kind; the kind's module is imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all installed kinds."""
        return sorted(list_installed_kinds())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return the command of a kind."""
        is_kind = cmd_name in list_installed_kinds() or ":" in cmd_name
        return train_command(cmd_name) if is_kind else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the kinds without importing them."""
        with formatter.section("Commands"):
            rows = {name: KINDS[name][1] if name in KINDS else place for name, place in list_installed_kinds().items()}
            formatter.write_dl(sorted(rows.items()))


@click.group(cls=_Kinds)
def command() -> None:
    """Train a scorer on questions with answers.

    Name your own kind as module:KIND.

    \b
    Example:
      lodestar train star --dataset questions-train.jsonl.gz --dev questions-dev.jsonl.gz --out star
    """
