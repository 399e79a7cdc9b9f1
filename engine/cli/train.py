"""Train a model of any installed kind (`lodestar train KIND`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...models import MAX_HOP
from ...models.kinds import LearnsFrom, load_kind, map_kind_places_by_name
from ..progress import print_to_stderr, show_progress_bar
from . import show
from .options import SEED, database_options, json_option

if TYPE_CHECKING:
    from ..settings import Settings


_SUPERVISION = click.option(
    "--supervision", multiple=True, help="File of `lodestar refine` or `lodestar mine` for a set."
)
_OF_SOURCE: Mapping[LearnsFrom, tuple[Callable[[Any], Any], ...]] = {
    "paths": (
        click.option("--max-hop", type=click.IntRange(1, MAX_HOP), default=2, help="Longest path mined (default: 2)."),
        click.option("--any-graph", is_flag=True, help="Train for other graphs too."),
    ),
    "subgraphs": (_SUPERVISION,),
    "pools": (_SUPERVISION,),
    "readings": (
        click.option("--recipe", help="Recipe whose evidence is read: a name, a TOML file, or a line of parts."),
        click.option("--checkpoint", multiple=True, help="The recipe's: one for all sets, or one each, --dev's last."),
    ),
}
"""The options of what a kind learns from: arguments of what reads the sets, see `engine.training.read_sets`."""

_COMMON = (
    click.option("--dataset", "train_files", multiple=True, required=True, help="Training questions; repeatable."),
    click.option("--dev", "dev_files", multiple=True, required=True, help="Questions that select the epoch."),
    click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Checkpoint's folder."),
    click.option("--limit", type=click.IntRange(1), help="Most questions of each set: a random sample by the seed."),
    click.option("--epochs", type=click.IntRange(1), help="Most epochs of each network."),
    click.option("--seed", type=SEED, default=0, show_default=True, help="Random seed."),
    click.option("--set", "changes", multiple=True, help="KEY=VALUE of the configuration: training.patience=3."),
    json_option,
    database_options,
)


def _make_command(kind: str, learns_from: LearnsFrom, text: str, example: str = "") -> click.Command:
    made: Any = partial(_train, kind)
    for option in reversed((*_COMMON, *_OF_SOURCE[learns_from])):
        made = option(made)
    files = f"lodestar train {kind} --dataset train.jsonl.gz --dev dev.jsonl.gz --out FOLDER"
    return click.command(kind, help=f"Train {text}.\n\n\b\nExample:\n  {files} {example}")(made)


_KINDS: Mapping[str, tuple[LearnsFrom, str, str]] = {
    "star": ("paths", "STAR's path scorer, and the dual encoder that shortlists for it", "--set mix=1"),
    "reg-triple": ("subgraphs", "ReG's triple scorer on the subgraphs of questions", ""),
    "reg-entity": ("subgraphs", "ReG's entity scorer on the subgraphs of questions", ""),
    "reg-path": ("pools", "a language model's LoRA to write relation paths", "--set model=FOLDER"),
    "gril": ("subgraphs", "GRIL's retriever; with a reader what answers, too", "--set joint.reader=all-MiniLM-L6-v2"),
    "reader": ("readings", "what chooses answers from a recipe's evidence, without an LLM", "--recipe similarity"),
}


class _Kinds(click.Group):
    """Has also the kinds of other packages, and any other kind as module:KIND."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted({*_KINDS, *map_kind_places_by_name()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name in _KINDS:
            return _make_command(cmd_name, *_KINDS[cmd_name])
        if ":" not in cmd_name and cmd_name not in map_kind_places_by_name():
            return None
        try:
            kind = load_kind(cmd_name)
        except LookupError as error:
            raise click.UsageError(str(error)) from error
        return _make_command(cmd_name, kind.learns_from, kind.title)


@click.group(cls=_Kinds)
def train_command() -> None:
    """Train a scorer on questions with answers.

    After a stop, run the same command again to continue. Name your own kind as module:KIND.

    \b
    Example:
      lodestar train star --dataset questions-train.jsonl.gz --dev questions-dev.jsonl.gz --out star
    """


def _train(
    name: str,
    *,
    settings: Settings,
    train_files: Sequence[str],
    dev_files: Sequence[str],
    out: Path,
    limit: int | None,
    epochs: int | None,
    seed: int,
    changes: Sequence[str],
    any_graph: bool = False,
    **given: Any,
) -> None:
    """Train a kind, and print its figures. given: the options of what it learns from."""
    from ...loaders.question_sets import read_questions
    from ..training import TrainingRequest, read_sets, train_in_folder, training_config

    kind = load_kind(name)
    config = training_config(kind, changes, epochs=epochs, precision=settings.precision, seed=seed)
    request = TrainingRequest(
        train_files, dev_files, out, settings, read_questions, seed, limit, given, print_to_stderr
    )
    train, dev, folder = read_sets(kind, config, request, any_graph=any_graph)
    with show_progress_bar(out.name, "training") as (progress, tell):

        def on_step(network: str, epoch: int, done: int, total: int, loss: float) -> None:
            progress(f"{network} {epoch + 1}" + (f", loss {loss:.2f}" if done == total else ""), done, total)

        def on_epoch(network: str, epoch: int, figures: Mapping[str, float]) -> None:
            tell(f"{network}, epoch {epoch + 1}: {_figures_text(figures, kind.figures)} on dev")

        folder.on_step, folder.on_epoch = on_step, on_epoch
        description = train_in_folder(kind, config, train, dev, folder)
    found = {network: dict(figures) for network, figures in description.figures.items()}
    more = {name: getattr(description, name) for name in ("supervision", "mix") if hasattr(description, name)}
    lines = (f"{network:<24}{_figures_text(figures, kind.figures)}" for network, figures in found.items())
    show({"out": str(out), **more, "figures": found}, lines)
    print_to_stderr(f"the checkpoint is in {out}, trained in {sum(description.seconds.values()) / 60:.1f} minutes")


def _figures_text(figures: Mapping[str, float], names: Sequence[str]) -> str:
    return ", ".join(f"{name} {figures[name]:.3f}" for name in names if name in figures)
