"""The figures of docs/results.md: `similarity` and `star` over every question set that is at hand.

    python -m benchmarks.pages.results --data FOLDER --work FOLDER --checkpoints FOLDER > docs/results.md

The data folder has fb237/, metaqa/ and pathquestion/. Each graph is loaded into an embedded server of its own under the
work folder, where the runs stay; run again, it asks only what was not asked yet, and prints the page. With
``--print-only`` it asks nothing, and prints the page of the runs that are there. The folder of checkpoints has one for
each graph, by the graph's name; where there is none, the recipe `star` is left out. Topics are given. ``--add`` names
files of Markdown, what `benchmarks.accuracy.papers` and others printed, which are added as they are.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lodestar.engine.evaluation.report import compare_runs, make_report, write_report
from lodestar.engine.evaluation.runs import RunOptions, ask_remaining_questions, read_question_records
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.recipes import Recipe, read_recipe
from lodestar.engine.settings import Settings, resolve_settings
from lodestar.loaders.formats.triples import MetaqaSource, PathquestionSource, TsvSource
from lodestar.loaders.loading import LoadOptions, load_into_embedded_server
from lodestar.loaders.question_sets import read_questions
from lodestar.loaders.source import Source

RECIPES = ("similarity", "star")
SAMPLE = 1_000
Report = dict[str, Any]

SHOWN_KINDS = ("out of reach", "pruned", "not the first", "lost by the answerer", "in part")
RUN_COLUMNS = ("questions", "n", "recipe", "Hits@1", "F1", "path any", "recall@10")
PAIRED_COLUMNS = ("questions", "difference in F1", "better", "worse")


@dataclass(frozen=True)
class AskedGraph:
    """A graph and the question files over it, with the hops that are searched for each; `return_to_topic` where what
    a question is about may be its answer.
    """

    name: str
    source: Source
    files: tuple[tuple[Path, int], ...]
    return_to_topic: bool = False


def graphs(data: Path, split: str) -> Iterator[AskedGraph]:
    fb237, metaqa = data / "fb237", data / "metaqa"
    yield AskedGraph(
        "fb237",
        TsvSource(str(fb237 / "kg.tsv.gz"), str(fb237 / "names.tsv.gz")),
        ((fb237 / f"questions-{split}.jsonl.gz", 2),),
    )
    files = tuple((metaqa / f"{hops}-hop-{split}.txt.gz", max(hops, 2)) for hops in (1, 2, 3))
    yield AskedGraph("metaqa", MetaqaSource(str(metaqa / "kb.txt.gz")), files)
    for name, hops in (("pq-2h", 2), ("pq-3h", 3), ("pql-2h", 2)):
        folder = data / "pathquestion" / name
        files = ((folder / f"{split}.txt.gz", hops),)
        yield AskedGraph(name, PathquestionSource(str(folder / "kb.txt.gz")), files, return_to_topic=True)


def find_runs(split: str, given: argparse.Namespace, settings: Settings) -> Iterator[Path]:
    """Yield the folders of the runs of a split; those that are not there are asked first, unless only to print."""
    for asked in graphs(given.data, split):
        folders = {
            (path, max_hop, name): given.work / "runs" / f"{asked.name}-{path.name.partition('.')[0]}-{name}"
            for path, max_hop in asked.files
            for name in RECIPES
        }
        if given.print_only:
            yield from (folder for folder in folders.values() if (folder / "report.json").exists())
            continue
        checkpoint = given.checkpoints and given.checkpoints / asked.name
        with serve_graph(asked, settings, given.work) as own:
            for (path, max_hop, name), folder in folders.items():
                if name == "star" and not (checkpoint and (checkpoint / "star.json").exists()):
                    continue
                changes = [f"star.checkpoint={json.dumps(str(checkpoint))}", *given.changes] if name == "star" else []
                recipe = set_reach(asked, read_recipe(name, changes), max_hop)
                questions = read_questions(str(path))
                questions = replace(questions, name=f"{asked.name} {questions.name.partition('.')[0]}")
                made = ask_remaining_questions(questions, recipe, own, RunOptions(folder, limit=given.sample))
                write_report(folder, make_report(made))
                yield folder


@contextmanager
def serve_graph(asked: AskedGraph, settings: Settings, work: Path) -> Iterator[Settings]:
    """Load a graph into an embedded server of its own unless it is loaded, and yield the settings to ask it by."""
    own = replace(settings, name=asked.name)
    server = EmbeddedServer.of(own)
    load_into_embedded_server(asked.source, server, LoadOptions(staging=work / "staging"))
    server.start(progress=False)
    try:
        yield own
    finally:
        server.stop()


def set_reach(asked: AskedGraph, recipe: Recipe, max_hop: int) -> Recipe:
    """Return a recipe with the hops of a graph's questions, and whether they return to their topics."""
    wanted = {"max_hop": max_hop, "return_to_topic": asked.return_to_topic}
    parts = recipe.named_parts().items()
    options = {f"{name}.{key}": value for name, part in parts for key, value in wanted.items() if hasattr(part, key)}
    return read_recipe(recipe, options=options)


def page(dev: Mapping[Path, Report], test: Mapping[Path, Report], given: argparse.Namespace) -> Iterator[str]:
    yield from introduction(given, next(iter(dev.values()))["where"]["machine"])
    yield from section("Dev questions", RUN_COLUMNS, map(run_row, dev.values()))
    yield from section("Test questions", RUN_COLUMNS, map(run_row, test.values()))
    rows = (row for reports in (dev, test) for row in paired_rows(reports, "star", "similarity"))
    yield from section("`star` over `similarity`, question by question", PAIRED_COLUMNS, rows)
    rows = (row for report in dev.values() for row in misses_rows(report))
    about = "Share of the wrong answers; [Evaluation](evaluation.md#why-answers-are-wrong) says what the kinds mean."
    yield from section("Why answers are wrong", ("questions", "recipe", "wrong", *SHOWN_KINDS), rows, about)
    about = "By `lodestar train star --set mix=1` and `lodestar eval --checkpoint`: that scorer orders the shortlist."
    yield from section(
        "STAR, the cross-attentive scorer alone", RUN_COLUMNS, map(run_row, read_reports(given.paper).values()), about
    )
    yield from (f"\n{file.read_text(encoding='utf-8').strip()}" for file in given.add)
    datasets = (report for report in (*dev.values(), *test.values()) if recipe_of(report) == "similarity")
    yield from section("Data", ("questions", "sha256", "in the file", "triples"), map(data_row, datasets))


def introduction(given: argparse.Namespace, machine: Mapping[str, Any]) -> Iterator[str]:
    """Yield the title, and what holds for all tables."""
    yield "# Results\n"
    yield f"Written by `{command(given)}`."
    yield (
        f"Topics are given unless a table has others, seed 0, at most {given.sample:,} questions a set. Figures are "
        "means over all questions, with 95 % bootstrap intervals; [Evaluation](evaluation.md) defines them. *path "
        "any*: an end of the first path is an answer. PathQuestion (pq, pql) is asked with `return_to_topic`. `star` "
        "is a checkpoint for each graph ([Train your own scorer](training.md)): on PathQuestion the dual encoder "
        "alone, elsewhere with the cross-attentive scorer."
    )
    yield f"Machine: {machine['num_cores']} cores ({machine['processor']}), GPU: {machine['gpu'] or 'none'}."


def read_reports(folders: Sequence[Path]) -> dict[Path, Report]:
    return {folder: json.loads((folder / "report.json").read_text(encoding="utf-8")) for folder in folders}


def section(title: str, columns: Sequence[str], rows: Iterable[str], about: str = "") -> Iterator[str]:
    """Yield a heading with its table; nothing where there are no rows."""
    found = list(rows)
    if found:
        yield f"\n## {title}\n"
        if about:
            yield f"{about}\n"
        yield f"| {' | '.join(columns)} |"
        yield "|" + " --- |" * len(columns)
        yield from found


def recipe_of(report: Report) -> str:
    return str(report["what"]["recipe"]["name"])


def run_row(report: Report) -> str:
    figures = report["figures"]
    f1 = figures["strict/f1"]
    cells = (
        report["what"]["dataset"]["name"],
        f"{report['num_questions']:,}",
        recipe_of(report),
        f"{figures['strict/hits_at_1']['mean']:.3f}",
        f"{f1['mean']:.3f} [{f1['low']:.3f},{f1['high']:.3f}]",
        f"{figures['path/hits_at_1_any']['mean']:.3f}",
        f"{figures['path/answer_recall@10']['mean']:.3f}",
    )
    return f"| {' | '.join(cells)} |"


def paired_rows(reports: Mapping[Path, Report], better: str, worse: str) -> Iterator[str]:
    """Yield a row for each question set that both recipes were asked."""
    for folder, report in reports.items():
        other = folder.with_name(folder.name.removesuffix(better) + worse)
        if recipe_of(report) != better or other not in reports:
            continue
        test = compare_runs(read_question_records(str(folder)), read_question_records(str(other))).tests["strict/f1"]
        yield (
            f"| {report['what']['dataset']['name']} | {test.difference:+.3f} [{test.interval.low:+.3f},"
            f"{test.interval.high:+.3f}] | {test.num_won:,} | {test.num_lost:,} |"
        )


def misses_rows(report: Report) -> Iterator[str]:
    """Yield the row of a run with wrong answers."""
    misses = report["misses"]
    if misses["num"]:
        cells = [f"{misses['kinds'].get(kind, {'share': 0})['share']:.3f}" for kind in SHOWN_KINDS]
        name = report["what"]["dataset"]["name"]
        yield f"| {name} | {recipe_of(report)} | {misses['num']:,} | {' | '.join(cells)} |"


def data_row(report: Report) -> str:
    dataset, graph = report["what"]["dataset"], report["what"]["graph"]
    return (
        f"| {dataset['name']} | `{dataset['sha256'][:12]}` | {dataset['num_questions']:,} | {graph['num_triples']:,} |"
    )


def command(given: argparse.Namespace) -> str:
    """Return what writes the page, without the names of folders."""
    parts = [
        "python -m benchmarks.pages.results --data FOLDER --work FOLDER --checkpoints FOLDER",
        *([f"--sample {given.sample}"] if given.sample != SAMPLE else []),
        *(f"--set {change}" for change in given.changes),
        *(["--paper RUN …"] if given.paper else []),
        *(["--add FILE …"] if given.add else []),
        "> docs/results.md",
    ]
    return " ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with fb237/, metaqa/ and pathquestion/")
    parser.add_argument("--work", type=Path, required=True, help="folder of servers and runs, kept")
    parser.add_argument("--print-only", action="store_true", help="the page of the runs that are there")
    parser.add_argument("--checkpoints", type=Path, help="folder of a checkpoint for each graph, by its name")
    parser.add_argument("--set", dest="changes", action="append", default=[], help="KEY=VALUE of the recipe star")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="questions of a set at most (default: %(default)s)")
    parser.add_argument("--paper", type=Path, nargs="+", default=[], help="runs of checkpoints of --set mix=1")
    parser.add_argument("--add", type=Path, nargs="+", default=[], help="sections that other benchmarks printed")
    given = parser.parse_args()
    settings = replace(resolve_settings(), home=str(given.work / "home"), cache=str(resolve_settings().cache_dir))
    dev, test = (read_reports([*find_runs(split, given, settings)]) for split in ("dev", "test"))
    if not dev:
        parser.error(f"{given.work / 'runs'}: expected runs, found none of these graphs and recipes")
    print("\n".join(page(dev, test, given)))


if __name__ == "__main__":
    main()
