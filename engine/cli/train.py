"""Train a model of any installed kind (`lodestar train KIND`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...models.kinds import LearnsFrom, list_installed_kinds, load_kind
from ...models.ranges import MAX_HOP
from .options import SEED, address_options, json_option, options_for
from .terminal import echo, say

if TYPE_CHECKING:
    from ..settings import Settings

SECTION = "Train"


def _source(**options: Any) -> dict[str, Any]:
    return {"options": options}


def _paths(max_hop: int) -> dict[str, Any]:
    return _source(max_hop=max_hop)


def _supervised(supervision: tuple[str, ...]) -> dict[str, Any]:
    return _source(supervision=supervision)


def _readings(recipe: str | None, checkpoint: str | None) -> dict[str, Any]:
    return _source(recipe=recipe, checkpoint=checkpoint)


path_options = options_for(
    _paths,
    click.option(
        "--max-hop",
        type=click.IntRange(1, MAX_HOP),
        default=2,
        show_default=True,
        help="Longest path, of a question set that is mined.",
    ),
)
supervision_option = options_for(
    _supervised,
    click.option(
        "--supervision",
        multiple=True,
        help="File of `lodestar refine` for one of the question sets (default: all shortest paths are right); "
        "repeatable.",
    ),
)
reading_options = options_for(
    _readings,
    click.option("--recipe", help="Recipe whose evidence is read: a name, a TOML file, or a line of parts."),
    click.option("--checkpoint", help="Checkpoint of the recipe's first part that takes one."),
)
OF_SOURCE: Mapping[LearnsFrom, Callable[[Any], Any]] = {
    "paths": path_options,
    "subgraphs": supervision_option,
    "pools": supervision_option,
    "readings": reading_options,
}
"""The options of each data source: arguments of what reads the sets, see `engine.training.read_sets`."""


def train_options(function: Any) -> Any:
    """Add the options of every kind; `_train` takes their values."""
    for option in (
        address_options,
        json_option,
        click.option(
            "--set", "changes", multiple=True, help="KEY=VALUE of the configuration, such as training.patience=3."
        ),
        click.option("--seed", type=SEED, default=0, show_default=True, help="Random seed."),
        click.option("--epochs", type=click.IntRange(1), help="Most epochs of each network."),
        click.option(
            "--limit", type=click.IntRange(1), help="Most questions of each set: a random sample by the seed."
        ),
        click.option(
            "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder of the checkpoint."
        ),
        click.option(
            "--dev",
            "dev_files",
            multiple=True,
            required=True,
            help="Dev questions, which select the epoch; repeatable.",
        ),
        click.option(
            "--dataset",
            "train_files",
            multiple=True,
            required=True,
            help="Training questions: a question set, or for star a file of `lodestar mine`; repeatable.",
        ),
    ):
        function = option(function)
    return function


class _Kinds(click.Group):
    """Has also the kinds of other packages, and any other kind as module:KIND."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all kinds."""
        return sorted({*super().list_commands(ctx), *list_installed_kinds()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a kind."""
        known = super().get_command(ctx, cmd_name)
        if known or (":" not in cmd_name and cmd_name not in list_installed_kinds()):
            return known
        try:
            kind = load_kind(cmd_name)
        except LookupError as error:
            raise click.UsageError(str(error)) from error

        @click.command(cmd_name, help=f"Train: {kind.title}.")
        @train_options
        @OF_SOURCE[kind.learns_from]
        def own(**given: Any) -> None:
            _train(cmd_name, **given)

        return own


@click.group(cls=_Kinds)
def command() -> None:
    """Train a scorer on questions with answers.

    After a stop, run the same command again to continue. Name your own kind as module:KIND.

    \b
    Example:
      lodestar train star --dataset questions-train.jsonl.gz --dev questions-dev.jsonl.gz --out star
    """


@command.command()
@train_options
@path_options
@click.option("--any-graph", is_flag=True, help="Train for other graphs too.")
def star(**given: Any) -> None:
    """Train STAR's path scorer, and the dual encoder that shortlists for it.

    \b
    Examples:
      lodestar train star --dataset train.jsonl.gz --dev dev.jsonl.gz --out star
      lodestar train star --any-graph --dataset one.jsonl.gz --dataset two.jsonl.gz --dev dev.jsonl.gz --out star
      lodestar train star --dataset mined.jsonl.gz --dev mined-dev.jsonl.gz --out star --set mix=1
    """
    _train("star", **given)


@command.command()
@train_options
@supervision_option
def reg_triple(**given: Any) -> None:
    """Train ReG's triple scorer on the subgraphs of questions.

    \b
    Examples:
      lodestar train reg-triple --dataset train.jsonl.gz --dev dev.jsonl.gz --out reg
      lodestar train reg-triple --dataset train.jsonl.gz --dev dev.jsonl.gz --supervision refined.jsonl.gz --out reg
    """
    _train("reg-triple", **given)


@command.command()
@train_options
@supervision_option
def reg_entity(**given: Any) -> None:
    """Train ReG's entity scorer on the subgraphs of questions.

    \b
    Example:
      lodestar train reg-entity --dataset train.jsonl.gz --dev dev.jsonl.gz --out reg
    """
    _train("reg-entity", **given)


@command.command()
@train_options
@supervision_option
@click.option("--model", required=True, help="Causal language model to train a LoRA on: Hugging Face name or folder.")
def reg_path(model: str, **given: Any) -> None:
    """Train a language model's LoRA to write relation paths, on the candidate pools of questions.

    \b
    Example:
      lodestar train reg-path --dataset train.jsonl.gz --dev dev.jsonl.gz --out reg-path --model FOLDER
    """
    _train("reg-path", {"model": model}, **given)


@command.command()
@train_options
@supervision_option
@click.option("--reader", help="Reader to train with it, by name or path, for example all-MiniLM-L6-v2.")
@click.option(
    "--reads",
    type=click.Choice(("pointing", "writing")),
    help="What the reader does: an encoder points at answers (the default); a causal language model writes them, or "
    "one of the options, with a LoRA.",
)
def gril(reader: str | None, reads: str | None, **given: Any) -> None:
    """Train GRIL's retriever, which grows and prunes a subgraph by attention; with --reader what answers from it, too.

    \b
    Examples:
      lodestar train gril --dataset train.jsonl.gz --dev dev.jsonl.gz --out gril
      lodestar train gril --dataset train.jsonl.gz --dev dev.jsonl.gz --out gril --reader all-MiniLM-L6-v2
      lodestar train gril --dataset t.jsonl --dev d.jsonl --out g --reader FOLDER --reads writing
    """
    _train("gril", {"joint.reader": reader, "joint.reads": reads}, **given)


@command.command("reader")
@train_options
@reading_options
def train_reader(**given: Any) -> None:
    """Train what chooses answers from the evidence of a recipe, without a language model.

    \b
    Examples:
      lodestar train reader --recipe similarity --dataset train.jsonl.gz --dev dev.jsonl.gz --out reader
      lodestar ask --set answerer.kind=reader --set answerer.checkpoint=reader "Where was Lincoln born?"
    """
    _train("reader", **given)


def _train(
    name: str,
    values: Mapping[str, Any] | None = None,
    *,
    options: Mapping[str, Any],
    settings: Settings,
    train_files: Sequence[str],
    dev_files: Sequence[str],
    out: Path,
    limit: int | None,
    epochs: int | None,
    seed: int,
    changes: Sequence[str],
    as_json: bool,
    any_graph: bool = False,
) -> None:
    """Train a kind, and print its figures. values: of the configuration, by key; None changes nothing."""
    from ...loaders.questions.question_sets import read_questions
    from ..progress import progress_bar
    from ..training import PRECISIONS, TrainingRequest, read_sets, train_in_folder, training_config

    kind = load_kind(name)
    precision = PRECISIONS.get(settings.precision)
    config = training_config(kind, changes, values, epochs=epochs, precision=precision, seed=seed)
    request = TrainingRequest(train_files, dev_files, out, settings, read_questions, seed, limit, options, say)
    train, dev, folder = read_sets(kind, config, request, any_graph=any_graph)
    with progress_bar(out.name, "training") as (progress, tell):

        def on_step(network: str, epoch: int, done: int, total: int, loss: float) -> None:
            progress(f"{network} {epoch + 1}" + (f", loss {loss:.2f}" if done == total else ""), done, total)

        def on_epoch(network: str, epoch: int, figures: Mapping[str, float]) -> None:
            tell(f"{network}, epoch {epoch + 1}: {_figures_text(figures, kind.figures)} on dev")

        folder.on_step, folder.on_epoch = on_step, on_epoch
        description = train_in_folder(kind, config, train, dev, folder)
    if as_json:
        figures = {network: dict(each) for network, each in description.figures.items()}
        beside = {name: getattr(description, name) for name in ("supervision", "mix") if hasattr(description, name)}
        echo(json.dumps({"out": str(out), **beside, "figures": figures}))
    else:
        for network, figures in description.figures.items():
            echo(f"{network:<24}{_figures_text(figures, kind.figures)}")
    minutes = sum(description.seconds.values()) / 60
    echo(f"the checkpoint is in {out}, trained in {minutes:.1f} minutes", err=True)


def _figures_text(figures: Mapping[str, float], names: Sequence[str]) -> str:
    return ", ".join(f"{name} {figures[name]:.3f}" for name in names if name in figures)
