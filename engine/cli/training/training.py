"""What the verbs that train share: options, question sets that are mined first, the bar, what is printed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..options import LENGTHS, PARAPHRASE, RETURN_TO_TOPIC, database_options, json_option, settings_from

if TYPE_CHECKING:
    from ....models.star.mined import Mined
    from ....models.training.description import ModelDescription
    from ....models.training.trainer import Watcher
    from ...questions.gold import QuestionSet
    from ...supervision.making.options import MakingOptions

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--dataset",
        "train_files",
        multiple=True,
        help="Questions to learn from: a question set, or what `lodestar mine` wrote; can be repeated.",
    ),
    click.option("--dev", "dev_files", multiple=True, help="Questions to choose by; can be repeated."),
    click.option(
        "--from-graph",
        is_flag=True,
        help="Learn from questions made from the graph, and choose by some, but for --dev.",
    ),
    click.option("--questions", type=click.IntRange(2), help="With --from-graph: made questions (default: 3,000)."),
    LENGTHS,
    PARAPHRASE,
    click.option(
        "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder of the checkpoint."
    ),
    click.option("--encoder", help="Hugging Face encoder, by name or path (default: all-MiniLM-L6-v2)."),
    click.option("--epochs", type=click.IntRange(1), help="Epochs of each network, at most."),
    click.option(
        "--precision", type=click.Choice(("fp32", "bf16", "fp16")), help="What to compute in (default: fp32)."
    ),
    click.option("--seed", type=int, default=0, show_default=True, help="Of everything that is left to chance."),
    click.option(
        "--max-hop", type=click.IntRange(1, 4), default=2, show_default=True, help="Of question sets: longest path."
    ),
    RETURN_TO_TOPIC,
    click.option(
        "--set", "changes", multiple=True, help="KEY=VALUE of the configuration; the checkpoint has all of it."
    ),
    click.option("--fresh", is_flag=True, help="Begin anew, whatever was under way or finished in the folder."),
    json_option,
    database_options,
)


def training_options(function: F) -> F:
    """Add what any training is told: questions, folder, encoder, epochs, seed, the graph where questions are mined."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def questions_of(file: str) -> QuestionSet:
    """Return a question set."""
    from ....loaders.questions.reading import read_questions

    return read_questions(file)


def sets_of(
    train_files: Sequence[str],
    dev_files: Sequence[str],
    out: Path,
    mining: Mapping[str, Any],
    flags: Mapping[str, Any],
    *,
    from_graph: bool,
    questions: int | None,
    lengths: tuple[float, ...] | None,
    paraphrase: bool,
    fresh: bool,
    keep_apart: bool = False,
) -> tuple[list[Mined], list[Mined]]:
    """Return what to learn from and what to choose by; made questions are chosen by where nothing else is given.

    keep_apart: where there is nothing to choose by, one in eight of each file is.
    """
    from ...errors import UsageError
    from ...training.mined_sets import mined_apart

    if questions is not None and not from_graph:
        raise UsageError("--questions: only questions that are made have it: add --from-graph")
    if lengths is not None and not from_graph:
        raise UsageError("--lengths: only questions that are made have it: add --from-graph")
    if paraphrase and not from_graph:
        raise UsageError("--paraphrase: only questions that are made are reworded: add --from-graph")
    if not from_graph and not (train_files and (dev_files or keep_apart)):
        missing = "--dataset" if not train_files else "--dev"
        raise UsageError(f"{missing}: expected questions, found none: name a question set, or give --from-graph")
    train_on = mined_of(train_files, out, mining, flags, fresh=fresh)
    choose_on = mined_of(dev_files, out, mining, flags, fresh=fresh)
    if keep_apart and not dev_files:
        parts = [mined_apart(mined) for mined in train_on]
        train_on, choose_on = [learn for learn, _ in parts], [choose for _, choose in parts]
    if from_graph:
        from ...supervision.making.options import DEFAULT_QUESTIONS, MakingOptions
        from ...supervision.making.options import LENGTHS as DEFAULT_LENGTHS

        making = MakingOptions(
            questions or DEFAULT_QUESTIONS,
            max_hop=mining["max_hop"],
            seed=mining["seed"],
            lengths=lengths or DEFAULT_LENGTHS,
            paraphrase=paraphrase,
        )
        learn, choose = _made(out, mining, flags, making, fresh=fresh)
        train_on.append(learn)
        if not dev_files:
            choose_on.append(choose)
    return train_on, choose_on


def _made(
    out: Path,
    mining: Mapping[str, Any],
    flags: Mapping[str, Any],
    making: MakingOptions,
    *,
    fresh: bool,
) -> tuple[Mined, Mined]:
    from ....models.training.processes import is_first_process
    from ...progress.phases import progress_bar
    from ...supervision.mining.options import MiningOptions
    from ...training.mined_sets import made_sets

    return made_sets(
        out,
        making,
        MiningOptions(**mining),
        settings_from(**flags),
        fresh=fresh,
        mining=lambda: progress_bar("the graph", "mining"),
        say=lambda line: click.echo(line, err=True) if is_first_process() else None,
    )


def mined_of(
    files: Sequence[str], out: Path, mining: Mapping[str, Any], flags: Mapping[str, Any], *, fresh: bool
) -> list[Mined]:
    """Return mined files; question sets among the files are mined into the folder of the checkpoint first."""
    return [_mined(file, out, mining, flags, fresh=fresh) for file in files]


def _mined(file: str, out: Path, mining: Mapping[str, Any], flags: Mapping[str, Any], *, fresh: bool) -> Mined:
    from ....models.star.mined import is_mined
    from ....models.training.processes import is_first_process
    from ...progress.phases import progress_bar
    from ...supervision.mining.options import MiningOptions
    from ...training.mined_sets import mined_set, read_mined

    if is_mined(Path(file)):
        return read_mined(file)
    questions = questions_of(file)
    return mined_set(
        questions,
        out,
        MiningOptions(**mining),
        settings_from(**flags),
        fresh=fresh,
        mining=lambda: progress_bar(questions.name, "mining"),
        say=lambda line: click.echo(line, err=True) if is_first_process() else None,
    )


@contextmanager
def watched(out: Path, names: Sequence[str]) -> Iterator[Watcher]:
    """Show a training under way; `names` are the figures to say after each epoch."""
    from ....models.training.trainer import Watcher
    from ...progress.phases import progress_bar

    with progress_bar(out.name, "training") as (progress, say):

        def step(name: str, epoch: int, done: int, total: int, loss: float) -> None:
            progress(f"{name} {epoch + 1}, loss {loss:.2f}" if done == total else f"{name} {epoch + 1}", done, total)

        def epoch_done(name: str, epoch: int, figures: Mapping[str, float]) -> None:
            say(f"{name}, epoch {epoch + 1}: {_shown(figures, names)} on dev")

        yield Watcher(step, epoch_done)


def print_trained(
    description: ModelDescription, out: Path, names: Sequence[str], beside: Mapping[str, Any], *, as_json: bool
) -> None:
    """Say what a training came to, once for all processes; `beside` goes into the JSON."""
    from ....models.training.processes import is_first_process

    if not is_first_process():
        return
    if as_json:
        figures = {name: dict(values) for name, values in description.figures.items()}
        click.echo(json.dumps({"out": str(out), **beside, "figures": figures}))
    else:
        for name, values in description.figures.items():
            click.echo(f"{name:<24}{_shown(values, names)}")
    minutes = sum(description.seconds.values()) / 60
    click.echo(f"the checkpoint is in {out}, trained in {minutes:.1f} minutes", err=True)


def _shown(figures: Mapping[str, float], names: Sequence[str]) -> str:
    return ", ".join(f"{name} {figures[name]:.3f}" for name in names if name in figures)
