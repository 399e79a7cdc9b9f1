"""`lodestar train reg-path`: what writes relation paths, of one's own, from questions with answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..options import settings_from
from .subgraph_training import subgraph_training_options
from .training import print_trained, questions_of, watched

if TYPE_CHECKING:
    from ....models.mined.pool import Pool
    from ....models.reg.paths.checkpoint import PathDescription
    from ....models.reg.plans.checkpoint import PlanDescription
    from ...settings import Settings


@click.command("reg-path")
@subgraph_training_options
@click.option("--model", help="Causal language model that writes them, by Hugging Face name or folder: learns a LoRA.")
@click.option("--lora-rank", type=click.IntRange(1, 4096), help="With --model: rank of the LoRA (default: 8).")
def reg_path(
    train_files: Sequence[str],
    dev_files: Sequence[str],
    out: Path,
    supervision: Sequence[str],
    model: str | None,
    lora_rank: int | None,
    encoder: str | None,
    epochs: int | None,
    seed: int,
    changes: Sequence[str],
    fresh: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Train ReG's writer of relation paths on the candidate pools of questions: a small decoder, or with --model a
    LoRA on a language model.

    Stopped, it goes on where it was when the same command runs again.

    \b
    Example:
      lodestar train reg-path --dataset train.jsonl.gz --dev dev.jsonl.gz --out reg-path
      lodestar train reg-path --dataset train.jsonl.gz --dev dev.jsonl.gz --out reg-path --model FOLDER --lora-rank 16
    """
    from ....models.reg.paths.learning import NAMES
    from ...errors import UsageError

    if model and encoder:
        raise UsageError("--encoder: of the small decoder, and --model takes its place: leave one of them out")
    if lora_rank and not model:
        raise UsageError("--lora-rank: of the LoRA on a language model: name one with --model")
    settings = settings_from(**flags)
    sets = (train_files, dev_files, supervision, out)
    said = {"changes": changes, "epochs": epochs, "seed": seed}
    description = (
        _language_model(sets, said, model, lora_rank, settings, fresh=fresh)
        if model
        else _decoder(sets, said, encoder, settings, fresh=fresh)
    )
    print_trained(description, out, NAMES, {"supervision": description.supervision}, as_json=as_json)


Sets = tuple[Sequence[str], Sequence[str], Sequence[str], Path]
"""What to learn from and to choose by, files of supervision, the folder."""


def _decoder(
    sets: Sets, said: Mapping[str, Any], encoder: str | None, settings: Settings, *, fresh: bool
) -> PathDescription:
    from ....models.encoder import SentenceEncoder
    from ....models.reg.paths.learning import NAMES
    from ....models.text_vectors import TextVectors
    from ...training.reg_path import graph_vocabulary, path_config, trained_paths

    config = path_config(**said, encoder=encoder)
    train_on, choose_on = _pools(sets, settings, fresh=fresh)
    vectors = TextVectors(SentenceEncoder(config.encoder))
    with watched(sets[-1], NAMES) as watcher:
        vocabulary = graph_vocabulary(settings)
        return trained_paths(config, train_on, choose_on, vocabulary, vectors, sets[-1], fresh=fresh, watcher=watcher)


def _language_model(
    sets: Sets, said: Mapping[str, Any], model: str, rank: int | None, settings: Settings, *, fresh: bool
) -> PlanDescription:
    from ....models.reg.paths.learning import NAMES
    from ...training.reg_path import graph_vocabulary
    from ...training.reg_plan import plan_config, trained_plans

    config = plan_config(**said, model=model, rank=rank)
    train_on, choose_on = _pools(sets, settings, fresh=fresh)
    with watched(sets[-1], NAMES) as watcher:
        vocabulary = graph_vocabulary(settings)
        return trained_plans(config, train_on, choose_on, vocabulary, sets[-1], fresh=fresh, watcher=watcher)


def _pools(sets: Sets, settings: Settings, *, fresh: bool) -> tuple[list[Pool], list[Pool]]:
    from ....models.training.processes import is_first_process
    from ...progress.phases import progress_bar
    from ...training.reg_path import pool_set, refined_sets

    train_files, dev_files, supervision, out = sets

    def mined(file: str) -> Pool:
        questions = questions_of(file)
        return pool_set(
            questions,
            out,
            settings,
            fresh=fresh,
            mining=lambda: progress_bar(questions.name, "mining"),
            say=lambda line: click.echo(line, err=True) if is_first_process() else None,
        )

    pools = refined_sets([mined(file) for file in (*train_files, *dev_files)], supervision)
    return pools[: len(train_files)], pools[len(train_files) :]
