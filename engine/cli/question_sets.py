"""Work on questions with answers: evaluate a recipe, mine training data and refine it (`lodestar eval`, `mine`,
`refine`)."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...models import MAX_HOP
from ..errors import InputError, require_extra
from ..file_access import check_output_file, translate_storage_errors
from ..progress import print_to_stderr, show_progress_bar
from . import show
from .options import (
    FORCE,
    SEED,
    database_options,
    engine_options,
    json_option,
    options_for,
    recipe_options,
    worker_options,
)

if TYPE_CHECKING:
    from ..api import Engine
    from ..gold_questions import QuestionSet
    from ..parallel import WorkerPool
    from ..recipes import Recipe
    from ..settings import Settings

MAX_SHOWN = 10
"""Questions that are printed of each kind; all are in the report."""


def _read_set(dataset: str, format_name: str | None) -> dict[str, Any]:
    from ...loaders.question_sets import read_questions

    return {"questions": read_questions(dataset, format_name)}


question_set_options = options_for(
    _read_set,
    click.argument("dataset", metavar="QUESTIONS"),
    click.option("--format", "format_name", help="The set's format, if it cannot be detected."),
    click.option("--limit", type=click.IntRange(1), help="Take a random sample of this size; it is always the same."),
)
"""QUESTIONS, --format, --limit: all `questions`, and `limit`."""


@click.command()
@question_set_options
@recipe_options
@worker_options
@click.option("--link", is_flag=True, help="Link topic entities instead of using those of the set.")
@click.option("--no-diagnosis", "diagnose", flag_value=False, default=True, help="Do not search for why it is wrong.")
@click.option("--against", metavar="RUN", help="Compare with another run over the same questions, by folder or name.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder (default: SET-RECIPE in runs of LODESTAR_HOME).")
@json_option
def eval_command(
    questions: QuestionSet, settings: Settings, recipe: Recipe, against: str | None, out: Path | None, **how: Any
) -> None:
    """Ask every question of a set: which were right, which were wrong and why, metrics with their intervals.

    Run the same command again to finish an interrupted run. --against tests the differences to another run.

    \b
    Examples:
      lodestar eval questions-dev.jsonl.gz
      lodestar eval metaqa/1-hop-dev.txt --limit 1000
      lodestar eval questions-dev.jsonl.gz --recipe cosine --against questions-dev-similarity
    """
    from ..evaluation.report import compare_runs, format_report, make_report, write_report
    from ..evaluation.runs import RunOptions, ask_remaining_questions, read_question_records

    require_extra("eval", "lodestar eval")
    runs = settings.home_dir / "runs"
    other = read_question_records(against if Path(against).exists() else runs / against) if against else None
    if other == []:
        raise InputError(f"{against}: expected the folder of a run, found no records: `lodestar eval` writes one")
    folder = out or runs / f"{questions.name.partition('.')[0]}-{recipe.name}"
    with show_progress_bar(questions.name, "asking") as (progress, _):
        run = ask_remaining_questions(questions, recipe, settings, RunOptions(folder, **how), progress)
        report = make_report(run, _ask_command())
        write_report(folder, report)
    found = compare_runs(run.records, other) if other is not None else None
    pages = [format_report(report, MAX_SHOWN), *(["", found.page(MAX_SHOWN)] if found else [])]
    show(report | ({"against": found.as_json()} if found else {}), "\n".join(pages).splitlines())
    print_to_stderr(f"the report is in {folder / 'report.md'}")


def _ask_command() -> str:
    """Return what asks a question as this command does, with the options that it was given."""
    given = click.get_current_context().params
    options = {"--recipe": given["named"], "--checkpoint": given["checkpoint"]}
    options |= {f"--{name}": given[name] for name in ("uri", "name")}
    words = [word for option, value in options.items() if value for word in (option, value)]
    words += [word for change in given["changes"] for word in ("--set", change)]
    return shlex.join(["lodestar", "ask", *words, *(["--allow-parts"] if given["allow_parts"] else [])])


_OUT = click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="File to write.")


@click.command()
@question_set_options
@_OUT
@FORCE
@click.option("--pool", is_flag=True, help="Write ReG's candidate pools instead (docs/papers.md).")
@click.option("--max-hop", type=click.IntRange(1, MAX_HOP), default=2, show_default=True, help="Longest path in hops.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the sample and of the random negatives.")
@click.option("--return-to-topic", is_flag=True, help="Allow a topic entity as an answer and on the way (default: no).")
@worker_options
@json_option
@engine_options
def mine_command(
    questions: QuestionSet,
    engine: Engine,
    workers: WorkerPool,
    out: Path,
    force: bool,
    limit: int | None,
    pool: bool,
    **mining: Any,
) -> None:
    """Mine training paths for a retriever: positives, and hard negatives.

    \b
    Example:
      lodestar mine questions-train.jsonl.gz --out train.jsonl.gz
      lodestar mine metaqa/2-hop-train.txt --limit 10000 --out train.jsonl.gz
      lodestar mine questions-train.jsonl.gz --pool --out pool.jsonl.gz
    """
    from ..supervision import MiningOptions
    from ..supervision.mining import mine_question_set
    from ..supervision.pools import PoolBounds, mine_pools

    check_output_file("--out", out, reads=[click.get_current_context().params["dataset"]], force=force)
    options = MiningOptions(**mining)
    questions = replace(questions, questions=questions.sample(limit, options.seed))
    with show_progress_bar(questions.name, "mining") as (progress, _):
        mined = (
            mine_pools(questions, engine, PoolBounds(), workers=workers, progress=progress)
            if pool
            else mine_question_set(questions, engine, options, workers=workers, progress=progress)
        )
    _write_mined(out, mined)


@click.command()
@click.argument("pool", type=click.Path(path_type=Path, dir_okay=False))
@_OUT
@FORCE
@json_option
@database_options
def refine_command(settings: Settings, pool: Path, out: Path, force: bool) -> None:
    """Refine the supervision of questions: choose the chains of a candidate pool that match the question.

    A language model (docs/llm.md) reads numbered chains and returns numbers. Its replies are cached beside the file, so
    the same command continues after a stop, or when the budget (LODESTAR_LLM_MAX_CALLS) was spent.

    \b
    Example:
      lodestar mine train.jsonl.gz --pool --out pool.jsonl.gz
      lodestar refine pool.jsonl.gz --out refined.jsonl.gz
    """
    from ..supervision.pools import read_pool_file, refine_pools

    check_output_file("--out", out, reads=[pool], force=force)
    with show_progress_bar(out.name, "refining") as (progress, _):
        replies = Path(f"{out}.replies.sqlite")
        refined = refine_pools(read_pool_file(pool), settings, replies, progress=progress)
    _write_mined(out, refined)


def _write_mined(out: Path, mined: Any) -> None:
    """Write mined paths or pools and print their counts that are not 0, in JSON all of them."""
    from ...models.mined_files import write_mined_file

    with translate_storage_errors(out):
        write_mined_file(out, mined.header, mined.questions)
    counts = dict(mined.header.counts)
    show({"out": str(out), "counts": counts}, (f"{name:<44}{num:>10,}" for name, num in counts.items() if num))
    print_to_stderr(f"{len(mined.questions):,} questions to {out}")
