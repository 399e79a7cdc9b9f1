"""Choose the supervision of candidate pools by a language model (`lodestar refine`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..progress import print_to_stderr
from . import print_counts
from .options import FORCE, database_options, json_option

if TYPE_CHECKING:
    from ..settings import Settings


@click.command()
@click.argument("pool", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="File to write.")
@FORCE
@json_option
@database_options
def command(settings: Settings, pool: Path, out: Path, force: bool) -> None:
    """Refine the supervision of questions: choose the chains of a candidate pool that match the question.

    A language model (docs/llm.md) reads numbered chains and returns numbers. Its replies are cached beside the file, so
    the same command continues after a stop, or when the budget (LODESTAR_LLM_MAX_CALLS) was spent.

    \b
    Example:
      lodestar mine train.jsonl.gz --pool --out pool.jsonl.gz
      lodestar refine pool.jsonl.gz --out refined.jsonl.gz
    """
    from ...models.mined_files import write_mined_file
    from ..file_access import check_output_file, translate_storage_errors
    from ..progress import show_progress_bar
    from ..supervision.pools import read_pool_file, refine_pool

    check_output_file("--out", out, reads=[pool], force=force)
    read = read_pool_file(pool)
    with show_progress_bar(out.name, "refining") as (progress, _):
        refined = refine_pool(read, settings, out.with_name(f"{out.name}.replies.sqlite"), progress=progress)
    with translate_storage_errors(out):
        write_mined_file(out, refined.header, refined.questions)
    counts = dict(refined.header.counts)
    print_counts(counts, {"refiner": refined.header.refiner})
    print_to_stderr(f"{len(refined.questions):,} questions to {out}, refined by {refined.header.refiner}")
