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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from lodestar.engine.evaluation.report import make_report, write_report
from lodestar.engine.evaluation.runs import RunOptions, ask_remaining_questions
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.recipes import Recipe, read_recipe
from lodestar.engine.settings import Settings, resolve_settings
from lodestar.loaders.formats.triples import MetaqaSource, PathquestionSource, TsvSource
from lodestar.loaders.loading import LoadOptions, load_embedded
from lodestar.loaders.question_sets import read_questions
from lodestar.loaders.source import Source

from .results_page import Runs, page

RECIPES = ("similarity", "star")
SAMPLE = 1_000


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
    """Yield what there is to be asked of a split."""
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


def ask(
    asked: AskedGraph,
    settings: Settings,
    work: Path,
    checkpoint: Path | None,
    changes_of_star: Sequence[str],
    sample: int,
) -> Iterator[Path]:
    """Load a graph unless it is loaded, ask its questions by every recipe, and yield the folders of the runs."""
    with serve_graph(asked, settings, work) as own:
        for path, max_hop in asked.files:
            questions = read_questions(str(path))
            questions = replace(questions, name=f"{asked.name} {questions.name.partition('.')[0]}")
            for name in RECIPES:
                if name == "star" and checkpoint is None:
                    continue
                recipe = recipe_of(asked, name, max_hop, checkpoint, changes_of_star)
                folder = folder_of(asked, path, name, work)
                options = RunOptions(folder, limit=sample)
                made = ask_remaining_questions(questions, recipe, own, options)
                write_report(folder, make_report(made))
                yield folder


@contextmanager
def serve_graph(asked: AskedGraph, settings: Settings, work: Path) -> Iterator[Settings]:
    """Load a graph into an embedded server of its own unless it is loaded, and yield the settings to ask it by."""
    own = replace(settings, name=asked.name)
    server = EmbeddedServer.of(own)
    load_embedded(asked.source, server, LoadOptions(staging=work / "staging"))
    server.start(progress=False)
    try:
        yield own
    finally:
        server.stop()


def recipe_of(
    asked: AskedGraph, name: str, max_hop: int, checkpoint: Path | None, changes_of_star: Sequence[str]
) -> Recipe:
    """Return a recipe with what a graph's questions need set in the parts that have it."""
    own = [f"star.checkpoint={json.dumps(str(checkpoint))}", *changes_of_star] if name == "star" else []
    return set_reach(asked, read_recipe(name, own), max_hop)


def set_reach(asked: AskedGraph, recipe: Recipe, max_hop: int) -> Recipe:
    """Return a recipe with the hops of a graph's questions, and whether they return to their topics."""
    wanted = {"max_hop": max_hop, "return_to_topic": asked.return_to_topic}
    parts = recipe.named_parts().items()
    options = {f"{name}.{key}": value for name, part in parts for key, value in wanted.items() if hasattr(part, key)}
    return read_recipe(recipe, options=options)


def folder_of(asked: AskedGraph, path: Path, recipe: str, work: Path) -> Path:
    """Return where a run is kept."""
    return work / "runs" / f"{asked.name}-{path.name.partition('.')[0]}-{recipe}"


def checkpoint_of(asked: AskedGraph, checkpoints: Path | None) -> Path | None:
    """Return the folder of the graph's checkpoint, where there is one."""
    folder = checkpoints / asked.name if checkpoints else None
    return folder if folder and (folder / "star.json").exists() else None


def main() -> None:
    """Ask everything, print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with fb237/, metaqa/ and pathquestion/")
    parser.add_argument("--work", type=Path, required=True, help="folder of servers and runs, kept")
    parser.add_argument("--only", nargs="+", help="names of graphs (default: all)")
    parser.add_argument("--print-only", action="store_true", help="the page of the runs that are there")
    parser.add_argument("--checkpoints", type=Path, help="folder of a checkpoint for each graph, by its name")
    parser.add_argument("--set", dest="changes", action="append", default=[], help="KEY=VALUE of the recipe star")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="questions of a set at most (default: %(default)s)")
    parser.add_argument("--paper", type=Path, nargs="+", default=[], help="runs of STAR in the paper's own setting")
    parser.add_argument("--add", type=Path, nargs="+", default=[], help="sections that other benchmarks printed")
    arguments = parser.parse_args()
    settings = replace(resolve_settings(), home=str(arguments.work / "home"), cache=str(resolve_settings().cache_dir))
    dev, test = (find_runs(split, arguments, settings) for split in ("dev", "test"))
    if not dev:
        parser.error(f"{arguments.work / 'runs'}: expected runs, found none of these graphs and recipes")
    added = (f"\n{file.read_text(encoding='utf-8').strip()}" for file in arguments.add)
    print("\n".join(page(Runs(dev, test, arguments.paper), command(arguments), arguments.sample, added)))


def find_runs(split: str, arguments: argparse.Namespace, settings: Settings) -> list[Path]:
    """Return the folders of the runs of a split; those that are not there are asked first, unless only to print."""
    work: Path = arguments.work
    graphs_asked = [each for each in graphs(arguments.data, split) if not arguments.only or each.name in arguments.only]
    if arguments.print_only:
        folders = (
            folder_of(each, path, name, work) for each in graphs_asked for path, _ in each.files for name in RECIPES
        )
        return [folder for folder in folders if (folder / "report.json").exists()]
    return [
        folder
        for each in graphs_asked
        for folder in ask(
            each,
            settings,
            work,
            checkpoint_of(each, arguments.checkpoints),
            arguments.changes,
            arguments.sample,
        )
    ]


def command(arguments: argparse.Namespace) -> str:
    """Return what writes the page, without the names of folders."""
    parts = [
        "python -m benchmarks.pages.results --data FOLDER --work FOLDER --checkpoints FOLDER",
        *([f"--sample {arguments.sample}"] if arguments.sample != SAMPLE else []),
        *(f"--set {change}" for change in arguments.changes),
        *(["--paper RUN …"] if arguments.paper else []),
        *(["--add FILE …"] if arguments.add else []),
        "> docs/results.md",
    ]
    return " ".join(parts)


if __name__ == "__main__":
    main()
