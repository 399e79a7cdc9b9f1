"""Evaluate recipes on question sets, compare runs and show misses (`lodestar eval`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import json_option, recipe_options, worker_options
from .terminal import echo, printable

if TYPE_CHECKING:
    from ..evaluation.runs import Record
    from ..parallel import Workers
    from ..recipes.recipe import Recipe
    from ..settings import Settings

SECTION = "Train"
_SHOWN_QUESTIONS = 10


class EvalGroup(click.Group):
    """Dispatch to a subcommand; if the first argument is a question set, to the subcommand `run`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named command, or `run`."""
        if args[0] in self.commands:
            return super().resolve_command(ctx, args)
        return "run", self.commands["run"], args

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Pass options that come before the question set to `run`."""
        is_option = bool(args) and args[0].startswith("-") and args[0] not in ctx.help_option_names
        return super().parse_args(ctx, ["run", *args] if is_option else args)


@click.group(cls=EvalGroup)
def command() -> None:
    """Ask every question of a set, and report metrics with their intervals.

    \b
    Example:
      lodestar eval questions-dev.jsonl.gz --recipe similarity
      lodestar eval metaqa/ --split 1-hop-dev --limit 1000
      lodestar eval compare runs/dev-similarity runs/dev-cosine
      lodestar eval show runs/dev-similarity --kind pruned
    """


@command.command()
@click.argument("dataset")
@recipe_options
@click.option("--split", help="The split to ask, such as dev, if the set is a folder.")
@click.option("--format", "format_name", help="The set's format, if it cannot be detected.")
@click.option("--limit", type=click.IntRange(1), help="Ask a random sample of this size; it is always the same.")
@worker_options
@click.option("--link", is_flag=True, help="Link topic entities instead of using those of the set.")
@click.option("--unanswerable", is_flag=True, help="Also ask each question with the relations to its answers excluded.")
@click.option("--no-diagnosis", is_flag=True, help="Do not diagnose wrong answers; saves reading the whole graph.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the run (default: runs/SET-RECIPE).")
@click.option("--fresh", is_flag=True, help="Start again if the folder has a run.")
@json_option
def run(
    settings: Settings,
    recipe: Recipe,
    workers: Workers,
    dataset: str,
    split: str | None,
    format_name: str | None,
    limit: int | None,
    link: bool,
    unanswerable: bool,
    no_diagnosis: bool,
    out: Path | None,
    fresh: bool,
    as_json: bool,
) -> None:
    """Ask every question of a set. Run the same command again to finish an interrupted run.

    \b
    Example:
      lodestar eval questions-dev.jsonl.gz
      lodestar eval questions-dev.jsonl.gz --recipe star --set max_hop=3
      lodestar eval questions-dev.jsonl.gz --unanswerable
      lodestar eval questions-dev.jsonl.gz --ray 10.0.0.1:6379
    """
    from ...loaders.questions.question_sets import choose_file, read_questions
    from ..evaluation.report import make_report, write_report
    from ..evaluation.runs import RunOptions, ask_remaining_questions
    from ..progress import progress_bar

    path = choose_file(dataset, split)
    questions = read_questions(path, format_name)
    folder = out or Path("runs") / f"{questions.name.partition('.')[0]}-{recipe.name}"
    _check_folder(folder, path)
    options = RunOptions(folder, workers, limit, link, not no_diagnosis, fresh, unanswerable)
    with progress_bar(questions.name, "asking") as (progress, _):
        asked = ask_remaining_questions(
            questions, recipe, settings, options, lambda done, total: progress("questions", done, total)
        )
    report = make_report(asked)
    write_report(folder, report)
    if as_json:
        echo(json.dumps(report, ensure_ascii=False))
    else:
        _print(report)
    echo(f"the report is in {folder / 'report.html'}", err=True)


@command.command()
@click.argument("a", metavar="RUN_A")
@click.argument("b", metavar="RUN_B")
@json_option
def compare(a: str, b: str, as_json: bool) -> None:
    """Test run A against run B on the same questions, and list the questions won and lost.

    \b
    Example:
      lodestar eval compare runs/dev-similarity runs/dev-cosine
    """
    from dataclasses import asdict

    from ..evaluation.report import compare_runs, read_records

    found = compare_runs(read_records(a), read_records(b))
    if as_json:
        tests = {metric: asdict(test) for metric, test in found.tests.items()}
        sides = {"won": [r.id for r in found.won], "lost": [r.id for r in found.lost]}
        echo(json.dumps({"num_questions": found.num_questions, "tests": tests, **sides}))
        return
    echo(f"{found.num_questions:,} questions; A is {a}, B is {b}")
    _table(
        ("metric", "A − B", "95 % interval", "p", "A better", "B better", "same"),
        (
            (
                metric,
                f"{test.difference:+.3f}",
                f"{test.interval.low:+.3f} to {test.interval.high:+.3f}",
                f"{test.p_value:.4f}",
                f"{test.num_won:,}",
                f"{test.num_lost:,}",
                f"{test.num_tied:,}",
            )
            for metric, test in found.tests.items()
        ),
    )
    for title, records in (("right in A alone", found.won), ("right in B alone", found.lost)):
        echo(f"{title}: {len(records):,}")
        for record in records[:_SHOWN_QUESTIONS]:
            echo(printable(f"  {record.id}: {record.question} → {_first(record)}"))


@command.command()
@click.argument("report", metavar="RUN")
@click.option("--kind", help="Show only wrong answers of this kind, such as pruned.")
@click.option("--limit", type=click.IntRange(1), default=5, show_default=True, help="Questions to show.")
@json_option
def show(report: str, kind: str | None, limit: int, as_json: bool) -> None:
    """Show questions that are answered wrongly, with their best paths.

    \b
    Example:
      lodestar eval show runs/dev-similarity --kind pruned
    """
    from ..errors import UsageError
    from ..evaluation.diagnosis import KINDS
    from ..evaluation.report import read_records

    if kind is not None and kind not in KINDS:
        raise UsageError(f"--kind: expected one of {', '.join(KINDS)}, found {kind!r}")
    wrong = [record for record in read_records(report) if not record.right and not record.excluded_relations]
    missed = [record for record in wrong if kind in (None, record.miss.kind if record.miss else None)]
    shown = missed[:limit]
    if as_json:
        for record in shown:
            echo(json.dumps(record.as_json(), ensure_ascii=False))
        return
    echo(f"{len(missed):,} questions{f', {len(shown)} shown' if len(shown) < len(missed) else ''}")
    for record in shown:
        echo("\n".join(map(printable, _miss_lines(record))))


@command.command()
@click.argument("reports", metavar="RUN...", nargs=-1, required=True)
def table(reports: tuple[str, ...]) -> None:
    """Print several runs as a Markdown table.

    \b
    Example:
      lodestar eval table runs/* > results.md
    """
    from ..evaluation.report import read_report, results_table, translate_report_errors

    read = [read_report(report) for report in reports]
    with translate_report_errors(reports[0]):
        lines = list(results_table(read))
    for line in lines:
        echo(printable(line))


def _check_folder(folder: Path, dataset: str) -> None:
    """Raise `UsageError` if a run would replace its question set."""
    from ..evaluation.runs import OUTPUTS
    from ..whole_file import check_output_file

    for file in (folder / name for name in (*OUTPUTS, "run.json")):
        if file.exists():
            check_output_file("--out", file, reads=[dataset], force=True)


def _print(report: dict[str, Any]) -> None:
    from ..evaluation.report import cost_line, figure_rows, format_about, format_summary, stage_rows, wrong_rows

    echo(format_summary(report))
    for question, answered, _, why in list(wrong_rows(report))[:_SHOWN_QUESTIONS]:
        echo(printable(f"  {question} → {answered}: {why}"))
    echo(format_about(report))
    _table(("metric", "mean", "95 % interval", "n"), figure_rows(report))
    _table(("stage", "p50, ms", "p95, ms", "p99, ms", "round trips", "n"), stage_rows(report))
    echo(cost_line(report))


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    lines = [tuple(header), *map(tuple, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    echo()
    for line in lines:
        first, *others = zip(line, widths, strict=True)
        cells = [first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]
        echo("  ".join(cells).rstrip())
    echo()


def _miss_lines(record: Record) -> Iterator[str]:
    from ..evaluation.report import because

    yield f"\n{record.id}: {record.question}"
    expected = "; ".join(record.expected[:3]) or "nothing"
    yield f"  answered {_first(record)}, right would be {expected}: {because(record)}"
    for rank, path in enumerate(record.paths[:3], start=1):
        right = f"{path.num_right:,} of {path.num_ends:,} ends right" if path.num_right else f"{path.num_ends:,} ends"
        yield f"  {rank}. {path.score:.3f}  {path.text}  ({right})"


def _first(record: Record) -> str:
    return record.answers[0].name if record.answers else (record.failure or "nothing")
