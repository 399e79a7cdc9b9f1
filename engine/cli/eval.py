"""Evaluate a recipe on a question set (`lodestar eval`)."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...models.atomic_files import make_private_folder
from ..errors import InputError
from ..file_access import translate_storage_errors
from ..progress import print_to_stderr
from . import show
from .options import json_option, recipe_options, worker_options

if TYPE_CHECKING:
    from ..parallel import WorkerPool
    from ..recipes import Recipe
    from ..settings import Settings

MAX_SHOWN = 10
"""Questions that are printed of each kind; all are in the report."""


@click.command()
@click.argument("dataset", metavar="QUESTIONS")
@recipe_options
@click.option("--split", help="The split to ask, such as dev, if the set is a folder.")
@click.option("--format", "format_name", help="The set's format, if it cannot be detected.")
@click.option("--limit", type=click.IntRange(1), help="Ask a random sample of this size; it is always the same.")
@worker_options
@click.option("--link", is_flag=True, help="Link topic entities instead of using those of the set.")
@click.option("--no-diagnosis", "diagnose", flag_value=False, default=True, help="Do not search for why it is wrong.")
@click.option("--against", metavar="RUN", help="Compare with another run over the same questions, by folder or name.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder (default: SET-RECIPE in runs of LODESTAR_HOME).")
@click.option("--fresh", is_flag=True, help="Start again if the folder has a run.")
@json_option
def command(
    dataset: str,
    settings: Settings,
    recipe: Recipe,
    workers: WorkerPool,
    split: str | None,
    format_name: str | None,
    against: str | None,
    out: Path | None,
    **how: Any,
) -> None:
    """Ask every question of a set: which were right, which were wrong and why, metrics with their intervals.

    Run the same command again to finish an interrupted run. --against tests the differences to another run.

    \b
    Examples:
      lodestar eval questions-dev.jsonl.gz
      lodestar eval metaqa/ --split 1-hop-dev --limit 1000
      lodestar eval questions-dev.jsonl.gz --recipe cosine --against questions-dev-similarity
    """
    from ...loaders.question_sets import choose_file, read_questions
    from ..errors import require_extra
    from ..evaluation.report import compare_runs, format_report, make_report, write_report
    from ..evaluation.runs import RunOptions, ask_remaining_questions, check_run_folder, read_records
    from ..progress import show_progress_bar

    require_extra("eval", "lodestar eval")
    path = choose_file(dataset, split)
    questions = read_questions(path, format_name)
    runs = settings.home_dir / "runs"
    other = read_records(against if Path(against).exists() else runs / against) if against else None
    if other == []:
        raise InputError(f"{against}: expected the folder of a run, found no records: `lodestar eval` writes one")
    folder = out or runs / f"{questions.name.partition('.')[0]}-{recipe.name}"
    if out is None:
        with translate_storage_errors(runs):
            make_private_folder(runs)
    check_run_folder(folder, path)
    options = RunOptions(folder, workers, **how)
    with show_progress_bar(questions.name, "asking") as (progress, _):
        run = ask_remaining_questions(
            questions, recipe, settings, options, lambda done, total: progress("questions", done, total)
        )
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
