"""What each answerer makes of what each recipe retrieves: extractive, the reader's weights, and a perfect reader.

    python -m benchmarks.accuracy.reading --work FOLDER --dev FILE [--dev FILE …] --train FILE [--train FILE …] \\
        --recipe similarity --recipe "star | reg-triple" --set star.checkpoint=FOLDER --set reg-triple.checkpoint=FOLDER

Questions are a sample of each file, topics given, over the graph of the settings (`LODESTAR_NAME`). Each recipe is
asked once; what it found is kept in the work folder, and the same command goes on after a stop. Nothing is abstained
from, but in *abstaining*: the F1 of *shipped* and the share of questions that it answers, as `lodestar ask` does it.
*extractive* reads the first 10 items; *shipped* is the reader with Lodestar's own weights, *own* with weights
fitted on the training files together; *perfect* is the highest F1 of any set of the candidates. Differences are those
of own (or, without training files, shipped) and extractive, and of a union and each of its sides, read and by its best
chain, with 95 % intervals and p of a paired test. Fit on questions that no checkpoint of the recipe learned from.
`--reader` is a checkpoint of `lodestar train reader` in the place of own: one of another graph, for example.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from lodestar.engine.answering import Extractive
from lodestar.engine.api import Engine
from lodestar.engine.evaluation import compare_pairs
from lodestar.engine.evaluation.runs import judge_answer
from lodestar.engine.evidence import LEAST_PROBABILITY
from lodestar.engine.evidence.bridges import to_chains
from lodestar.engine.recipes import read_recipe
from lodestar.engine.resources import Resources
from lodestar.engine.settings import make_connection, resolve
from lodestar.engine.supervision.readings import build_reader_training_set, retrieve_for_reader
from lodestar.loaders.question_sets import read_questions
from lodestar.models.reader import READS, SourceChainColumns, shipped_reader
from lodestar.models.reader.fitting import ReaderTrainingSet, figures, figures_of_questions, fit_reader
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

TOP_K = 10
SEED = 1
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """What a recipe found for a sample: the readings, and F1 and Hits@1 of extractive, (num_questions,)."""

    readings: ReaderTrainingSet
    f1: Floats
    hits: Floats


def write_asked(path: Path, asked: Asked) -> None:
    """Write what was found: columns as tensors, texts and numbers as JSON in the metadata."""
    tensors = {"f1": asked.f1, "hits": asked.hits}
    said: dict[str, Any] = {"sources": []}
    for each in fields(ReaderTrainingSet):
        value = getattr(asked.readings, each.name)
        if each.name == "topics":
            said["topics"] = [sorted(topics) for topics in value]
        elif isinstance(value, np.ndarray):
            tensors[each.name] = value
        elif each.name != "sources":
            said[each.name] = value
    for place, (name, kind, columns) in enumerate(asked.readings.sources):
        said["sources"].append((name, kind, columns.num_candidates))
        own = {each.name: getattr(columns, each.name) for each in fields(columns) if each.name != "num_candidates"}
        tensors |= {f"{place}.{column}": value for column, value in own.items()}
    save_file({name: np.ascontiguousarray(each) for name, each in tensors.items()}, path, {"said": json.dumps(said)})


def read_asked(path: Path) -> Asked:
    with safe_open(path, framework="numpy") as file:
        said: dict[str, Any] = json.loads(file.metadata()["said"])
    tensors = load_file(path)
    sources = []
    for place, (name, kind, num_candidates) in enumerate(said.pop("sources")):
        own = {key.partition(".")[2]: value for key, value in tensors.items() if key.startswith(f"{place}.")}
        sources.append((name, kind, SourceChainColumns(**own, num_candidates=num_candidates)))
    said["texts"], said["topics"] = tuple(said["texts"]), tuple(map(frozenset, said["topics"]))
    rest: dict[str, Any] = {
        name: value for name, value in tensors.items() if "." not in name and name not in ("f1", "hits")
    }
    return Asked(ReaderTrainingSet(**said, **rest, sources=tuple(sources)), tensors["f1"], tensors["hits"])


def ask(
    recipe: str, changes: Sequence[str], file: str, limit: int, reads: int, resources: Resources, work: Path
) -> Asked:
    """Return what a recipe finds for a sample of a file; kept in the work folder."""
    settings = resources.settings
    said = repr((recipe, sorted(changes), file, limit, reads, SEED, settings.name))
    key = hashlib.sha256(said.encode()).hexdigest()[:16]
    kept = work / f"{key}.safetensors"
    if kept.exists():
        return read_asked(kept)
    print(f"{recipe}: {Path(file).name}", file=sys.stderr, flush=True)
    given = read_questions(file)
    given = replace(given, questions=given.sample(limit, SEED))
    answerer = Extractive(min_probability=0.0)
    parts = [each for each in changes if each.partition(".")[0] in recipe]
    with Engine(settings, recipe=read_recipe(recipe, parts), resources=resources) as engine:
        asked, evidence = retrieve_for_reader(given, engine, reads=reads)
        readings = build_reader_training_set(given, asked, evidence, engine, resources.vectors)
        chains = to_chains(engine.gateway(), [each.cut_to(TOP_K) for each in evidence])
    answers = list(map(answerer.answer_of, chains))
    judged = [judge_answer(question, answer).scores for question, answer in zip(asked, answers, strict=True)]
    f1, hits = (np.array([each[name] for each in judged]) for name in ("strict/f1", "strict/hits_at_1"))
    work.mkdir(parents=True, exist_ok=True)
    found = Asked(readings, f1, hits)
    write_asked(kept, found)
    return found


def compare(one: Sequence[float] | Floats, other: Sequence[float] | Floats, *, seed: int = SEED) -> str:
    test = compare_pairs(list(map(float, one)), list(map(float, other)), seed=seed)
    low, high = test.interval.low, test.interval.high
    return f"{test.difference:+.3f} [{low:+.3f}, {high:+.3f}], {test.p_value:.3f}"


def print_row(recipe: str, file: str, asked: Asked, own: Any) -> Floats:
    shown = [f"{asked.f1.mean():.3f} / {asked.hits.mean():.3f}"]
    read = figures_of_questions(asked.readings, shipped_reader())
    shown.append(f"{read['f1'].mean():.3f} / {read['hits_at_1'].mean():.3f}")
    answers = read["confidence"] >= LEAST_PROBABILITY
    shown.append(f"{(read['f1'] * answers).mean():.3f}, {answers.mean():.0%}")
    last = figures_of_questions(asked.readings, own or shipped_reader())
    ece = figures(asked.readings, own or shipped_reader())["ece"]
    shown.append(f"{last['f1'].mean():.3f} / {last['hits_at_1'].mean():.3f}" if own else "")
    shown += [compare(last["f1"], asked.f1), f"{ece:.3f}", f"{last['oracle'].mean():.3f}"]
    name = Path(file).name.partition(".")[0]
    print(f"| {recipe} | {name} | {len(asked.f1)} | {' | '.join(shown)} |", flush=True)
    return last["f1"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for what was found")
    parser.add_argument("--dev", action="append", required=True, help="questions that the figures are of")
    parser.add_argument("--train", action="append", default=[], help="questions that own weights are fitted on")
    parser.add_argument("--recipe", action="append", required=True, help="what retrieves")
    parser.add_argument("--set", action="append", default=[], dest="changes", help="KEY=VALUE of the recipes")
    parser.add_argument("--limit", type=int, default=150, help="questions of each dev file (default: %(default)s)")
    parser.add_argument("--train-limit", type=int, default=250, help="of each training file (default: %(default)s)")
    parser.add_argument("--reads", type=int, default=READS, help="items that the reader reads (default: %(default)s)")
    parser.add_argument("--reader", default="", help="checkpoint of a reader, instead of one that is fitted here")
    given = parser.parse_args()
    settings = resolve()
    resources = Resources(settings, make_connection(settings))
    print(
        "| recipe | questions | n | extractive F1 / Hits@1 | shipped | abstaining | own | own − extractive, p | ECE "
        "| perfect F1 |"
    )
    print("| --- " * 10 + "|")
    f1: dict[tuple[str, str], tuple[Floats, Floats]] = {}
    for recipe in given.recipe:
        train = [
            ask(recipe, given.changes, file, given.train_limit, given.reads, resources, given.work)
            for file in given.train
        ]
        own = fit_reader([each.readings for each in train]) if train else None
        if given.reader:
            own = resources.model(given.reader, "reader")[1]
        for file in given.dev:
            asked = ask(recipe, given.changes, file, given.limit, given.reads, resources, given.work)
            f1[recipe, file] = print_row(recipe, file, asked, own), asked.f1
    unions = [(recipe, file, side.strip()) for recipe, file in f1 if "|" in recipe for side in recipe.split("|")]
    for recipe, file, side in unions:
        for way, of_side in zip(("read", "extractive"), f1.get((side, file), ()), strict=False):
            print(f"\n{recipe} − {side} ({way}), {Path(file).name}: {compare(f1[recipe, file][0], of_side)}")


if __name__ == "__main__":
    main()
