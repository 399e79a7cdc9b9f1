"""The checkpoints that docs/results.md is asked with: mined and trained from the data, one for each graph.

    python -m benchmarks.pages.checkpoints --data FOLDER --work FOLDER --out FOLDER [--only fb237] [--set KEY=VALUE …]

The folders are those of `benchmarks.pages.results`; mined files are kept under the work folder, and what is mined or
trained already is not done again. Test questions are read by nobody here.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from lodestar.engine.api import Engine
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.settings import Settings, resolve
from lodestar.engine.supervision.mining import MiningOptions, mine_to_file
from lodestar.engine.training.running import train_in_folder, training_config
from lodestar.engine.training.sources import read_mined
from lodestar.loaders.loads.loading import LoadOptions, load_embedded
from lodestar.loaders.questions.question_sets import read_questions
from lodestar.models.placement import Placement
from lodestar.models.star.config import KIND
from lodestar.models.star.mined import MinedFile
from lodestar.models.text.encoders import SentenceEncoder
from lodestar.models.text.vectors import TextVectors
from lodestar.models.training.kind import Inputs
from lodestar.models.training.trainer import TrainingCallbacks

from .results import AskedGraph, graphs

SCORERS = {"fb237": "cross", "metaqa": "cross"}
"""PathQuestion's first paths are right by the dual encoder alone: a second network would only cost time."""

CHANGES = {"metaqa": ["cross_training.epochs=1"], "pq-3h": ["dual_training.epochs=3"]}
"""Of the configuration, where it is not the default: questions from templates are soon learned, paths of three hops are
many."""

LIMITS = {"metaqa": {2: (1_500, 300), 3: (1_000, 200)}}
"""Questions to learn from and to choose by, of the sets that have tens of thousands; by the hops that are searched."""


@dataclass(frozen=True)
class Sets:
    """What a checkpoint learns from, and what chooses its epoch."""

    train: list[MinedFile]
    dev: list[MinedFile]


def mined(asked: AskedGraph, settings: Settings, work: Path) -> Sets:
    """Return the mined training and dev questions of a graph; those that are not there are mined first."""
    found = Sets([], [])
    wanted = [
        (split, path.with_name(path.name.replace("dev", split)), hops)
        for path, hops in asked.files
        for split in ("train", "dev")
    ]
    files = [(split, path, hops, work / "mined" / f"{asked.name}-{path.name.partition('.')[0]}.jsonl.gz")
             for split, path, hops in wanted]  # fmt: skip
    missing = [(split, path, hops, file) for split, path, hops, file in files if not file.exists()]
    if missing:
        (work / "mined").mkdir(parents=True, exist_ok=True)
        server = EmbeddedServer.of(replace(settings, name=asked.name))
        load_embedded(asked.source, server, LoadOptions(staging=work / "staging"))
        server.start(progress=False)
        try:
            with Engine(replace(settings, name=asked.name)) as engine:
                for split, path, hops, file in missing:
                    questions = read_questions(str(path))
                    limit = LIMITS.get(asked.name, {}).get(hops, (None, None))[split == "dev"]
                    questions = replace(questions, questions=questions.sample(limit, 0))
                    mine_to_file(
                        questions, engine, file, MiningOptions(max_hop=hops, return_to_topic=asked.return_to_topic)
                    )
                    print(f"{file} is mined", file=sys.stderr)
        finally:
            server.stop()
    for split, _, _, file in files:
        (found.train if split == "train" else found.dev).append(read_mined(str(file)))
    return found


def train_one(asked: AskedGraph, arguments: argparse.Namespace, settings: Settings, changes: Sequence[str]) -> None:
    """Train the checkpoint of one graph, unless it is there."""
    sets = mined(asked, settings, arguments.work)
    scorer = arguments.scorer or (SCORERS.get(asked.name, "similarity") if arguments.preset == "best" else None)
    config = training_config(
        KIND,
        [*CHANGES.get(asked.name, []), *changes],
        preset=arguments.preset,
        values={name: value for name, value in (("scorer", scorer), ("encoder", arguments.encoder)) if value},
        precision="bf16",
        seed=arguments.seed,
    )
    watcher = TrainingCallbacks(
        epoch=lambda name, epoch, figures: print(asked.name, name, epoch + 1, figures, flush=True)
    )
    encoders: dict[str, TextVectors] = {}
    inputs = Inputs(
        sets.train,
        sets.dev,
        Placement().torch_device,
        lambda name: encoders.setdefault(name, TextVectors(SentenceEncoder(name))),
    )
    description = train_in_folder(
        KIND, config, inputs, arguments.out / asked.name, watching=lambda: nullcontext(watcher)
    )
    print(asked.name, {name: round(seconds) for name, seconds in description.seconds.items()}, "seconds", flush=True)


def main() -> None:
    """Mine and train for every graph."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with fb237/, metaqa/ and pathquestion/")
    parser.add_argument("--work", type=Path, required=True, help="folder of servers and mined files, kept")
    parser.add_argument("--out", type=Path, required=True, help="folder of a checkpoint for each graph")
    parser.add_argument("--only", nargs="+", help="names of graphs (default: all)")
    parser.add_argument("--preset", default="best", help="best or paper (default: best)")
    parser.add_argument("--scorer", help="cross or similarity (default: similarity for PathQuestion, else cross)")
    parser.add_argument("--encoder", help="Hugging Face encoder, by name or path (default: the preset's)")
    parser.add_argument("--seed", type=int, default=0, help="of everything that is left to chance (default: 0)")
    parser.add_argument("--set", dest="changes", action="append", default=[], help="KEY=VALUE of the configuration")
    arguments = parser.parse_args()
    settings = replace(resolve(), home=str(arguments.work / "home"), cache=str(resolve().cache_dir))
    for asked in graphs(arguments.data, "dev"):
        if not arguments.only or asked.name in arguments.only:
            train_one(asked, arguments, settings, arguments.changes)


if __name__ == "__main__":
    main()
