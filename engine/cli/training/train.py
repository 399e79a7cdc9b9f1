"""`lodestar train`: a scorer of one's own, from questions with answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..options import RETURN_TO_TOPIC, database_options, json_option, settings_from

if TYPE_CHECKING:
    from ....models.star.checkpoint import Description
    from ....models.star.mined import Mined
    from ...questions.gold import QuestionSet


@click.group()
def command() -> None:
    """Train a scorer on questions with answers.

    \b
    Example:
      lodestar train star --dataset questions-train.jsonl.gz --dev questions-dev.jsonl.gz --out star
    """


@command.command()
@click.option(
    "--dataset",
    "train_files",
    multiple=True,
    required=True,
    help="Questions to learn from: a question set, or what `lodestar mine` wrote; can be repeated.",
)
@click.option("--dev", "dev_files", multiple=True, required=True, help="Questions to choose by; can be repeated.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder of the checkpoint."
)
@click.option(
    "--preset",
    type=click.Choice(("best", "paper")),
    default="best",
    show_default=True,
    help="best: both networks' scores together; paper: STAR's alone.",
)
@click.option(
    "--scorer",
    type=click.Choice(("cross", "similarity")),
    help="similarity: the dual encoder alone, quicker (default: cross).",
)
@click.option("--encoder", help="Hugging Face encoder, by name or path (default: all-MiniLM-L6-v2).")
@click.option("--epochs", type=click.IntRange(1), help="Epochs of each network, at most.")
@click.option("--precision", type=click.Choice(("fp32", "bf16", "fp16")), help="What to compute in (default: fp32).")
@click.option("--seed", type=int, default=0, show_default=True, help="Of everything that is left to chance.")
@click.option(
    "--max-hop", type=click.IntRange(1, 4), default=2, show_default=True, help="Of question sets: longest path."
)
@RETURN_TO_TOPIC
@click.option("--set", "changes", multiple=True, help="KEY=VALUE of the configuration, as cross.num_negatives=8.")
@click.option("--pairs", multiple=True, help="Question set over any graph whose relations are learned beside.")
@click.option("--leave-out", multiple=True, help="Question set whose questions are not taken from --pairs, as --dev.")
@click.option("--fresh", is_flag=True, help="Begin anew, whatever was under way in the folder.")
@json_option
@database_options
def star(
    train_files: Sequence[str],
    dev_files: Sequence[str],
    out: Path,
    preset: str,
    scorer: str | None,
    encoder: str | None,
    epochs: int | None,
    precision: str | None,
    seed: int,
    max_hop: int,
    return_to_topic: bool,
    changes: Sequence[str],
    pairs: Sequence[str],
    leave_out: Sequence[str],
    fresh: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Train STAR's path scorer, and the dual encoder that shortlists for it.

    Stopped, it goes on where it was when the same command runs again. On several GPUs start it with torchrun.

    \b
    Examples:
      lodestar train star --dataset train.jsonl.gz --dev dev.jsonl.gz --out star
      lodestar train star --dataset mined.jsonl.gz --dev mined-dev.jsonl.gz --out star --preset paper --seed 1
      torchrun --nproc-per-node 4 -m lodestar train star --dataset … --dev … --out star
    """
    from ....models.training.processes import is_first_process
    from ....models.training.trainer import Watcher
    from ...progress.phases import progress_bar
    from ...training.relation_pairs import relation_pairs
    from ...training.star import star_config, trained

    precisions = [f"{part}.precision={precision}" for part in ("dual_training", "cross_training") if precision]
    config = star_config(preset, [*precisions, *changes], scorer=scorer, encoder=encoder, epochs=epochs, seed=seed)
    mining = {"max_hop": max_hop, "return_to_topic": return_to_topic, "seed": seed}
    train_on = [_mined(file, out, mining, flags, fresh=fresh) for file in train_files]
    choose_on = [_mined(file, out, mining, flags, fresh=fresh) for file in dev_files]
    beside = None
    if pairs:
        apart = [(question.id, question.text) for mined in choose_on for question in mined.questions]
        apart += [(question.id, question.text) for file in leave_out for question in _questions(file).questions]
        beside = relation_pairs(list(map(_questions, pairs)), apart)
    with progress_bar(out.name, "training") as (progress, say):

        def step(name: str, epoch: int, done: int, total: int, loss: float) -> None:
            progress(f"{name} {epoch + 1}, loss {loss:.2f}" if done == total else f"{name} {epoch + 1}", done, total)

        def epoch_done(name: str, epoch: int, figures: Mapping[str, float]) -> None:
            say(f"{name}, epoch {epoch + 1}: {_shown(figures)} on dev")

        description = trained(
            config, train_on, choose_on, out, pairs=beside, fresh=fresh, watcher=Watcher(step, epoch_done)
        )
    if is_first_process():
        _print(description, out, as_json=as_json)


def _print(description: Description, out: Path, *, as_json: bool) -> None:
    if as_json:
        figures = {name: dict(values) for name, values in description.figures.items()}
        click.echo(json.dumps({"out": str(out), "mix": description.mix, "figures": figures}))
    else:
        for name, values in description.figures.items():
            click.echo(f"{name:<24}{_shown(values)}")
    minutes = sum(description.seconds.values()) / 60
    click.echo(f"the checkpoint is in {out}, trained in {minutes:.1f} minutes", err=True)


def _shown(figures: Mapping[str, float]) -> str:
    from ....models.star.learning.figures import NAMES

    return ", ".join(f"{name} {figures[name]:.3f}" for name in NAMES)


def _questions(file: str) -> QuestionSet:
    from ....loaders.questions.reading import read_questions

    return read_questions(file)


def _mined(file: str, out: Path, mining: Mapping[str, Any], flags: Mapping[str, Any], *, fresh: bool) -> Mined:
    """Return a mined file, or mine a question set into the folder of the checkpoint first."""
    from ....models.star.mined import is_mined
    from ....models.training.processes import is_first_process
    from ...progress.phases import progress_bar
    from ...supervision.mining.options import MiningOptions
    from ...training.mined_sets import mined_set, read_mined

    if is_mined(Path(file)):
        return read_mined(file)
    questions = _questions(file)
    return mined_set(
        questions,
        out,
        MiningOptions(**mining),
        settings_from(**flags),
        fresh=fresh,
        mining=lambda: progress_bar(questions.name, "mining"),
        say=lambda line: click.echo(line, err=True) if is_first_process() else None,
    )
