"""Choose the supervision of questions from candidate pools (`lodestar refine`)."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import FORCE, database_options, json_option, worker_options
from .terminal import echo

if TYPE_CHECKING:
    from ...models.mined import PoolFile
    from ..parallel import Workers
    from ..settings import Settings

SECTION = "Train"


@click.command()
@click.argument("pool", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="File to write.")
@FORCE
@click.option(
    "--by",
    default="llm",
    show_default=True,
    help="Refiner: llm, similarity, or the folder of a checkpoint of `lodestar train star`.",
)
@click.option(
    "--log-odds",
    type=click.FloatRange(0),
    default=1.0,
    show_default=True,
    help="For a scorer: how far below the best path a chosen path may score.",
)
@click.option("--max-calls", type=click.IntRange(0), help="Budget of calls (default: the setting llm_max_calls).")
@click.option("--max-tokens", type=click.IntRange(0), help="Budget of tokens (default: the setting llm_max_tokens).")
@worker_options
@json_option
@database_options
def command(
    settings: Settings,
    workers: Workers,
    pool: Path,
    out: Path,
    force: bool,
    by: str,
    log_odds: float,
    max_calls: int | None,
    max_tokens: int | None,
    as_json: bool,
) -> None:
    """Refine the supervision of questions: choose the chains of a candidate pool that match the question.

    A language model (docs/llm.md) reads numbered chains and returns numbers. Its replies are cached beside the file, so
    the same command continues after a stop, or when the budget was spent. Without a language model a scorer chooses
    among the shortest paths.

    \b
    Example:
      lodestar mine train.jsonl.gz --pool --out pool.jsonl.gz
      lodestar refine pool.jsonl.gz --out refined.jsonl.gz
      lodestar refine pool.jsonl.gz --by star --out refined.jsonl.gz
      lodestar refine pool.jsonl.gz --by star --out refined.jsonl.gz --ray 10.0.0.1:6379
    """
    from ...models.mined import write_pool
    from ..errors import UsageError
    from ..parallel import HERE, PerProcess
    from ..progress import progress_bar
    from ..supervision.pools import pool_of
    from ..supervision.refine import compute_supervision_sizes, open_path_scorer, refine_by_llm, refine_by_scorer
    from ..whole_file import check_output_file, translate_storage_errors

    if workers != HERE and by == "llm":
        raise UsageError(
            "--workers, --ray: expected --by with a scorer; one process asks a language model many things at a time, "
            "within one budget"
        )
    check_output_file("--out", out, reads=[pool], force=force)
    read = pool_of(pool)
    budget = {"llm_max_calls": max_calls, "llm_max_tokens": max_tokens}
    settings = replace(settings, **{name: value for name, value in budget.items() if value is not None})
    with progress_bar(out.name, "refining") as (progress, _):
        if by == "llm":
            cache = out.with_name(f"{out.name}.replies.sqlite")
            refined = refine_by_llm(read, settings, cache, progress=progress)
        else:
            with PerProcess(partial(open_path_scorer, settings, by, log_odds)) as opened:
                name = f"{by}, {log_odds:g} log-odds"
                refined = refine_by_scorer(read, opened, name, workers=workers, progress=progress)
    with translate_storage_errors(out):
        write_pool(out, refined)
    _print(refined, compute_supervision_sizes(refined), as_json=as_json)
    echo(f"{len(refined.questions):,} questions to {out}, refined by {refined.header.refiner}", err=True)


def _print(pool: PoolFile, figures: dict[str, float], *, as_json: bool) -> None:
    counts = dict(pool.header.counts)
    if as_json:
        shown = {name: round(value, 3) for name, value in figures.items()}
        echo(json.dumps({"refiner": pool.header.refiner, "counts": counts, "mean": shown}))
        return
    for name, number in counts.items():
        if number:
            echo(f"{name:<48}{number:>10,}")
    for name, value in figures.items():
        echo(f"{f'{name}, mean of a question':<48}{value:>10.2f}")
