"""The figures of docs/results.md: every recipe over every question set that is at hand, dev splits only.

    python -m benchmarks.results --data FOLDER --work FOLDER > docs/results.md

The data folder has fb237/, metaqa/ and pathquestion/. Each graph is loaded into an embedded server of its own under the
work folder, where the runs stay; run again, it asks only what was not asked yet, and prints the page anew. With
``--print-only`` it asks nothing, and prints the page of the runs that are there.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lodestar.engine.evaluation.comparing import compared
from lodestar.engine.evaluation.diagnosis import KINDS
from lodestar.engine.evaluation.folder import read_records, read_report, write_report
from lodestar.engine.evaluation.report import report_of
from lodestar.engine.evaluation.running import RunOptions, run
from lodestar.engine.evaluation.table import results_table
from lodestar.engine.recipes.recipe import read_recipe
from lodestar.engine.server.instance import Instance
from lodestar.engine.settings import Settings, resolve
from lodestar.loaders.delimited import TsvSource
from lodestar.loaders.loading import LoadOptions, load_embedded
from lodestar.loaders.metaqa import MetaqaSource
from lodestar.loaders.pathquestion import PathquestionSource
from lodestar.loaders.questions.reading import read_questions
from lodestar.loaders.source import Source

RECIPES = ("similarity", "cosine", "shortest", "pagerank", "random", "oracle")
SAMPLE = 1_000


@dataclass(frozen=True)
class Asked:
    """A graph and the question files over it, with the hops that are searched for each."""

    name: str
    source: Source
    files: tuple[tuple[Path, int], ...]


def graphs(data: Path) -> Iterator[Asked]:
    """Yield what there is to be asked."""
    fb237, metaqa = data / "fb237", data / "metaqa"
    yield Asked(
        "fb237",
        TsvSource(str(fb237 / "kg.tsv.gz"), str(fb237 / "names.tsv.gz")),
        ((fb237 / "questions-dev.jsonl.gz", 2),),
    )
    files = tuple((metaqa / f"{hops}-hop-dev.txt.gz", max(hops, 2)) for hops in (1, 2, 3))
    yield Asked("metaqa", MetaqaSource(str(metaqa / "kb.txt.gz")), files)
    for name, hops in (("pq-2h", 2), ("pq-3h", 3), ("pql-2h", 2)):
        folder = data / "pathquestion" / name
        yield Asked(name, PathquestionSource(str(folder / "kb.txt.gz")), ((folder / "dev.txt.gz", hops),))


def ask(asked: Asked, settings: Settings, work: Path, recipes: Sequence[str]) -> Iterator[Path]:
    """Load a graph unless it is loaded, ask its questions by every recipe, and yield the folders of the runs."""
    server = Instance.of(replace(settings, name=asked.name))
    load_embedded(asked.source, server, LoadOptions(staging=work / "staging"))
    server.start(progress=False)
    try:
        for path, max_hop in asked.files:
            questions = read_questions(str(path))
            questions = replace(questions, name=f"{asked.name} {questions.name.partition('.')[0]}")
            for name in recipes:
                recipe = read_recipe(name, [f"search.max_hop={max_hop}"])
                folder = folder_of(asked, path, name, work)
                made = run(questions, recipe, replace(settings, name=asked.name), RunOptions(folder, limit=SAMPLE))
                write_report(folder, report_of(made))
                yield folder
    finally:
        server.stop()


def folder_of(asked: Asked, path: Path, recipe: str, work: Path) -> Path:
    """Return where a run is kept."""
    return work / "runs" / f"{asked.name}-{path.name.partition('.')[0]}-{recipe}"


def page(folders: Sequence[Path]) -> Iterator[str]:
    """Yield the lines of docs/results.md."""
    reports = {folder: read_report(str(folder)) for folder in folders}
    first = next(iter(reports.values()))
    machine = first["where"]["machine"]
    yield "# Results"
    yield ""
    yield "Written by `python -m benchmarks.results --data FOLDER --work FOLDER > docs/results.md`, nothing by hand."
    yield (
        f"Dev splits only, topic entities given, seed 0, at most {SAMPLE:,} questions a set. Figures are means over "
        "all questions asked, with 95 % bootstrap intervals; for the columns see [evaluation.md](evaluation.md)."
    )
    yield f"{machine['num_cores']} cores ({machine['processor']}), GPU: {machine['gpu'] or 'none'}."
    yield ""
    yield from results_table(list(reports.values()))
    yield ""
    yield "*oracle* is the ceiling: the path in reach whose ends agree best with the answers; *random* is the floor."
    yield ""
    yield "## Where wrong first answers of `similarity` were lost"
    yield ""
    yield "| questions | wrong | " + " | ".join(KINDS) + " |"
    yield "|" + " --- |" * (len(KINDS) + 2)
    for report in reports.values():
        if report["what"]["recipe"]["name"] == "similarity":
            yield _misses(report)
    yield ""
    yield "## `similarity` against `cosine`, paired"
    yield ""
    yield "| questions | figure | difference | p | better | worse | same |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for folder, report in reports.items():
        if report["what"]["recipe"]["name"] == "similarity":
            other = folder.with_name(folder.name.replace("similarity", "cosine"))
            yield from _compared(report, folder, other)
    yield ""
    yield "## Data"
    yield ""
    yield "| questions | sha256 | asked of | triples |"
    yield "| --- | --- | --- | --- |"
    for report in reports.values():
        if report["what"]["recipe"]["name"] == "similarity":
            dataset, graph = report["what"]["dataset"], report["what"]["graph"]
            yield (
                f"| {dataset['name']} | `{dataset['sha256'][:12]}` | {report['num_questions']:,} of "
                f"{dataset['num_questions']:,} | {graph['num_triples']:,} |"
            )


def _misses(report: dict[str, Any]) -> str:
    kinds = report["misses"]["kinds"]
    cells = [f"{kinds[kind]['share']:.3f}" if kind in kinds else "" for kind in KINDS]
    return f"| {report['what']['dataset']['name']} | {report['misses']['num']:,} | {' | '.join(cells)} |"


def _compared(report: dict[str, Any], folder: Path, other: Path) -> Iterator[str]:
    found = compared(read_records(str(folder)), read_records(str(other)))
    for metric in ("strict/f1", "path/hits_at_1_any"):
        test = found.tests[metric]
        yield (
            f"| {report['what']['dataset']['name']} | {metric} | {test.difference:+.3f} "
            f"[{test.interval.low:+.3f}, {test.interval.high:+.3f}] | {test.p_value:.4f} "
            f"| {test.num_won:,} | {test.num_lost:,} | {test.num_tied:,} |"
        )


def main() -> None:
    """Ask everything, print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with fb237/, metaqa/ and pathquestion/")
    parser.add_argument("--work", type=Path, required=True, help="folder of servers and runs, kept")
    parser.add_argument("--only", nargs="+", help="names of graphs (default: all)")
    parser.add_argument("--print-only", action="store_true", help="the page of the runs that are there")
    parser.add_argument("--recipes", nargs="+", default=RECIPES, help="recipes (default: all)")
    arguments = parser.parse_args()
    settings = replace(resolve(), home=str(arguments.work / "home"), cache=str(resolve().cache_dir))
    chosen = [asked for asked in graphs(arguments.data) if not arguments.only or asked.name in arguments.only]
    if arguments.print_only:
        every = [folder_of(a, path, name, arguments.work) for a in chosen for path, _ in a.files for name in RECIPES]
        folders = [folder for folder in every if (folder / "report.json").exists()]
    else:
        folders = [folder for asked in chosen for folder in ask(asked, settings, arguments.work, arguments.recipes)]
    print("\n".join(page(folders)))


if __name__ == "__main__":
    main()
