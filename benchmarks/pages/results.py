"""The figures of docs/results.md: every recipe over every question set that is at hand.

    python -m benchmarks.pages.results --data FOLDER --work FOLDER --checkpoints FOLDER > docs/results.md
    python -m benchmarks.pages.results … --split test --recipes similarity star > docs/results-test.md
    python -m benchmarks.pages.results … --link --sample 200 --recipes similarity star > docs/results-linked.md

The data folder has fb237/, metaqa/ and pathquestion/. Each graph is loaded into an embedded server of its own under the
work folder, where the runs stay; run again, it asks only what was not asked yet, and prints the page anew. With
``--print-only`` it asks nothing, and prints the page of the runs that are there. The folder of checkpoints has one for
each graph, by the graph's name; where there is none, the recipe `star` is left out. With ``--link`` every question is
asked twice: with its topics given, and with those that the engine finds.
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
from lodestar.engine.neo4j.embedded import ServerPair
from lodestar.engine.recipes.recipe import Recipe, read_recipe
from lodestar.engine.settings import Settings, resolve
from lodestar.loaders.formats.delimited import MetaqaSource, PathquestionSource, TsvSource
from lodestar.loaders.loads.loading import LoadOptions, load_embedded
from lodestar.loaders.questions.question_sets import read_questions
from lodestar.loaders.source import Source
from lodestar.models.star.config import StarDescription
from lodestar.models.training.kind import load_description

from ..accuracy.ablation import table
from .results_page import LINKED, page

RECIPES = ("similarity", "star", "cosine")
SPLITS = ("dev", "test")
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
    recipes: Sequence[str],
    checkpoint: Path | None,
    changes_of_star: Sequence[str],
    sample: int,
    *,
    link: bool,
) -> Iterator[Path]:
    """Load a graph unless it is loaded, ask its questions by every recipe, and yield the folders of the runs."""
    with serve_graph(asked, settings, work) as own:
        for path, max_hop in asked.files:
            questions = read_questions(str(path))
            questions = replace(questions, name=f"{asked.name} {questions.name.partition('.')[0]}")
            for name in recipes:
                if name == "star" and checkpoint is None:
                    continue
                recipe = recipe_of(asked, name, max_hop, checkpoint, changes_of_star)
                for kind in kinds(link=link):
                    folder = folder_of(asked, path, f"{name}{kind}", work)
                    options = RunOptions(folder, limit=sample, link=bool(kind))
                    made = ask_remaining_questions(questions, recipe, own, options)
                    write_report(folder, make_report(made))
                    yield folder


@contextmanager
def serve_graph(asked: AskedGraph, settings: Settings, work: Path) -> Iterator[Settings]:
    """Load a graph into an embedded server of its own unless it is loaded, and yield the settings to ask it by."""
    own = replace(settings, name=asked.name)
    server = ServerPair.of(own)
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
    options = {"max_hop": max_hop, "return_to_topic": asked.return_to_topic}
    parts = {option: recipe.part_with(option) for option in options}
    return read_recipe(recipe, options={f"{part}.{option}": options[option] for option, part in parts.items() if part})


def kinds(*, link: bool) -> tuple[str, ...]:
    """Return what the names of a recipe's runs end in."""
    return ("", LINKED) if link else ("",)


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
    parser.add_argument("--recipes", nargs="+", default=RECIPES, help="recipes (default: all)")
    parser.add_argument("--checkpoints", type=Path, help="folder of a checkpoint for each graph, by its name")
    parser.add_argument("--set", dest="changes", action="append", default=[], help="KEY=VALUE of the recipe star")
    parser.add_argument(
        "--ablation", type=Path, help="the work folder of `benchmarks.accuracy.ablation`, for its table"
    )
    parser.add_argument("--trained", type=Path, nargs="+", default=[], help="checkpoints to set side by side")
    parser.add_argument("--paper", type=Path, nargs="+", default=[], help="runs of STAR in the paper's own setting")
    parser.add_argument("--link", action="store_true", help="ask each question with linked topics, too")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="questions of a set at most (default: %(default)s)")
    parser.add_argument("--split", choices=SPLITS, default="dev", help="the questions that are asked (default: dev)")
    arguments = parser.parse_args()
    settings = replace(resolve(), home=str(arguments.work / "home"), cache=str(resolve().cache_dir))
    chosen = [
        asked for asked in graphs(arguments.data, arguments.split) if not arguments.only or asked.name in arguments.only
    ]
    if arguments.print_only:
        asked_for = [(a, path, name) for a in chosen for path, _ in a.files for name in arguments.recipes]
        ends = kinds(link=arguments.link)
        every = [folder_of(a, path, f"{name}{end}", arguments.work) for a, path, name in asked_for for end in ends]
        folders = [folder for folder in every if (folder / "report.json").exists()]
    else:
        folders = [
            folder
            for asked in chosen
            for folder in ask(
                asked,
                settings,
                arguments.work,
                arguments.recipes,
                checkpoint_of(asked, arguments.checkpoints),
                arguments.changes,
                arguments.sample,
                link=arguments.link,
            )
        ]
    if not folders:
        parser.error(f"{arguments.work / 'runs'}: expected runs, found none of these graphs and recipes")
    ablation = list(table(arguments.ablation)) if arguments.ablation else ()
    trained = [load_description(folder, StarDescription)[0] for folder in arguments.trained]
    print(
        "\n".join(
            page(folders, arguments.split, arguments.sample, command(arguments), ablation, trained, arguments.paper)
        )
    )


def command(arguments: argparse.Namespace) -> str:
    """Return what writes the page, without the names of folders."""
    is_dev = arguments.split == "dev"
    parts = [
        "python -m benchmarks.pages.results --data FOLDER --work FOLDER --checkpoints FOLDER",
        *(f"--set {said}" for said in arguments.changes),
        *(["--ablation FOLDER"] if arguments.ablation else []),
        *(["--trained CHECKPOINT …"] if arguments.trained else []),
        *(["--paper RUN …"] if arguments.paper else []),
        *([] if is_dev else [f"--split {arguments.split}"]),
        *([f"--sample {arguments.sample}"] if arguments.sample != SAMPLE else []),
        *(["--link"] if arguments.link else []),
        *([] if is_dev and not arguments.link else [f"--recipes {' '.join(arguments.recipes)}"]),
        f"> docs/results{'-linked' if arguments.link else ''}{'' if is_dev else f'-{arguments.split}'}.md",
    ]
    return " ".join(parts)


if __name__ == "__main__":
    main()
