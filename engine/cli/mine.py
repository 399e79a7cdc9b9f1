"""Mine a question set for training paths, or for candidate pools (`lodestar mine`)."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...models import MAX_HOP
from ..progress import print_to_stderr
from . import print_counts
from .options import FORCE, SEED, engine_options, json_option, worker_options

if TYPE_CHECKING:
    from ..api import Engine
    from ..parallel import WorkerPool


@click.command()
@click.argument("dataset", metavar="QUESTIONS")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="File to write.")
@FORCE
@click.option("--split", help="The split to mine, such as train, if the set is a folder.")
@click.option("--format", "format_name", help="The set's format, if it cannot be detected.")
@click.option("--limit", type=click.IntRange(1), help="Mine a random sample of this size.")
@click.option("--pool", is_flag=True, help="Write ReG's candidate pools instead (docs/papers.md).")
@click.option("--max-hop", type=click.IntRange(1, MAX_HOP), default=2, show_default=True, help="Longest path in hops.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the sample and of the random negatives.")
@click.option("--negatives", "num_negatives", type=click.IntRange(0, 100), default=5, help="Of each hop (default: 5).")
@click.option("--return-to-topic", is_flag=True, help="Allow a topic entity as an answer (default: no).")
@worker_options
@json_option
@engine_options
def command(
    engine: Engine,
    workers: WorkerPool,
    dataset: str,
    out: Path,
    force: bool,
    split: str | None,
    format_name: str | None,
    limit: int | None,
    pool: bool,
    **mining: Any,
) -> None:
    """Mine training paths for a retriever: positives, and hard negatives.

    \b
    Example:
      lodestar mine questions-train.jsonl.gz --out train.jsonl.gz
      lodestar mine metaqa/ --split 2-hop-train --limit 10000 --out train.jsonl.gz
      lodestar mine questions-train.jsonl.gz --pool --out pool.jsonl.gz
    """
    from ...loaders.question_sets import choose_file, read_questions
    from ...models.mined_files import write_mined_file
    from ..file_access import check_output_file, translate_storage_errors
    from ..progress import show_progress_bar
    from ..supervision import MiningOptions
    from ..supervision.mining import mine_paths
    from ..supervision.pools import PoolBounds, mine_pool

    options = MiningOptions(**mining)
    path = choose_file(dataset, split)
    check_output_file("--out", out, reads=[path], force=force)
    questions = read_questions(path, format_name)
    questions = replace(questions, questions=questions.sample(limit, options.seed))
    started_s = time.perf_counter()
    with show_progress_bar(questions.name, "mining") as (progress, _):
        how: dict[str, Any] = {"workers": workers, "progress": progress}
        mined: Any = (
            mine_pool(questions, engine, PoolBounds(), **how) if pool else mine_paths(questions, engine, options, **how)
        )
    with translate_storage_errors(out):
        write_mined_file(out, mined.header, mined.questions)
    counts = mined.header.counts
    seconds = time.perf_counter() - started_s
    print_counts(counts, {"out": str(out), "seconds": round(seconds, 1)})
    print_to_stderr(f"{counts['questions']:,} questions to {out} in {seconds:.1f} s")
