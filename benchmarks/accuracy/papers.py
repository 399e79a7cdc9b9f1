"""The orders that the five papers report, measured again: two sides that differ in one thing, over several seeds.

    python -m benchmarks.accuracy.papers --data FOLDER --work FOLDER --out FOLDER

Each graph is loaded into a server of its own under the work folder. A cell is a side, a question set and a seed: a JSON
file in ``--out`` with a figure for each question. Run again, only missing cells are computed; ``--only`` (all of them
hold) names a side, a set or a paper. What is learned from, what chooses the epoch and what is asked are different
questions. papers.md in ``--out`` is the section of docs/results.md, which says how to read it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from pathlib import Path

import numpy as np
from lodestar.engine.api import Engine
from lodestar.engine.evaluation import compare_paired_scores
from lodestar.engine.evaluation.runs import RunOptions, ask_remaining_questions
from lodestar.engine.evidence.text import MAX_NAMES, format_evidence
from lodestar.engine.gold_questions import look_up_gold_answers
from lodestar.engine.llm import BYTES_PER_TOKEN
from lodestar.engine.recipes import read_recipe
from lodestar.engine.reorganising.filtering import predict_hops
from lodestar.engine.settings import Settings, resolve_settings
from lodestar.loaders.question_sets import read_questions
from lodestar.models.placement import Placement
from lodestar.models.star import DualTrainingOptions, PoolTrainingOptions

from ..pages.results import AskedGraph, graphs, serve_graph, set_reach
from .star_paths import ENCODER, PATH_F1, RARE, RIGHT, SHORTCUT, Scores, score_first_paths

TOKENS = 500
BATCH = 10
"""Questions that are retrieved together."""


@dataclass(frozen=True)
class Side:
    """How a side is made: by what STAR's training trains, or by a recipe.

    star: the options of the network; cross: whether it reads question and path together; mines: whether it learns from
    the positives and negatives of hard path mining. recipe, options: {folder} is the checkpoint of `kind`, trained by
    `training`. reads: whether a language model answers.
    """

    star: PoolTrainingOptions | DualTrainingOptions | None = None
    cross: bool = True
    mines: bool = True
    recipe: str = ""
    options: tuple[str, ...] = ()
    kind: str = ""
    training: tuple[str, ...] = ()
    reads: bool = False

    def with_model(self, *options: str) -> Side:
        reads = ("answerer.kind=llm", f"answerer.tokens={TOKENS}", "answerer.complete=false")
        return replace(self, options=(*self.options, *reads, *options), reads=True)


def triples(recipe: str, top_k: int, *training: str) -> Side:
    options = ("reg-triple.checkpoint={folder}", "reg-triple.keep=500", f"top_k={top_k}")
    own = ("training.epochs=8", "hidden=128", "subgraph.max_triples=600", *training)
    more = ("path-pooling.directed=false",) if "path-pooling" in recipe else ()
    return Side(recipe=f"reg-triple{recipe}", options=(*options, *more), kind="reg-triple", training=own)


def grown(recipe: str, options: Sequence[str] = (), training: Sequence[str] = ()) -> Side:
    own = ("training.epochs=8", "hidden=128", "subgraph.max_triples=600", "hop_training.epochs=20", *training)
    return Side(recipe=recipe, options=("gril.checkpoint={folder}", *options), kind="gril", training=own)


READER = ("answerer.kind=gril", "answerer.checkpoint={folder}")
JOINT = (f"joint.reader={ENCODER}", "joint.max_tokens=192", "joint_training.epochs=3")
WALKS = PoolTrainingOptions(w_min=1, w_max=1, num_positives=1, num_negatives=5, pool_size=5)
MINED = replace(WALKS, num_positives=2, pool_size=15)
FI = Side(recipe="similarity + fi", options=("top_k=30", "fi.coarse=30", "fi.model={attention}")).with_model()

SIDES = {
    "25 triples": triples("", 25),
    "25 pooled triples": triples(" + path-pooling", 25),
    "100 triples": triples("", 100),
    "chains": triples(" + reorganise", 100),
    "dual encoder, F1 shares": Side(DualTrainingOptions(), cross=False, mines=False),
    "dual encoder, hard paths": Side(DualTrainingOptions(), cross=False),
    "similarity": Side(WALKS, cross=False, mines=False),
    "cross-attentive": Side(WALKS, mines=False),
    "+ hard path mining": Side(MINED),
    "+ path weights": Side(replace(MINED, w_min=0.5, w_max=1.5)),
    "pruned": grown("gril + reorganise", ["answerer.min_probability=0"]),
    "not pruned": grown("gril + reorganise", ["answerer.min_probability=0"], ["grow.sigma=0"]),
    "predicted hops": grown("", training=["training.epochs=1"]),  # what predicts hops learns from texts alone
    "commonest hops": Side(),
    "joint": grown("gril", READER, JOINT),
    "separate": grown("gril", READER, (*JOINT, "joint.token=false")),
    "refined": triples("", 25, "refined"),
    "filtered, read": replace(FI, options=(*FI.options, "fi.integrate=false")),
    "integrated, read": replace(FI, options=(*FI.options, "fi.fine=false")),
    "filtered and integrated, read": FI,
}
SIDES |= {
    f"{name}, read": SIDES[name].with_model() for name in ("25 triples", "25 pooled triples", "100 triples", "chains")
}
SIDES["25 pooled triples, best first, read"] = SIDES["25 pooled triples"].with_model("answerer.order=best-first")

PATHS_2, PATHS_3, METAQA_2, METAQA_3 = (f"{name}, {n} hops" for name in ("PathQuestion", "MetaQA") for n in (2, 3))
FREEBASE, MIXED = "FB15k-237, two hops", "MetaQA, 1 to 3 hops"
SETS: Mapping[str, tuple[str, int, tuple[str, ...]]] = {
    PATHS_3: ("pq-3h", 3, ("{}.txt.gz",)),
    PATHS_2: ("pq-2h", 2, ("{}.txt.gz",)),
    METAQA_2: ("metaqa", 2, ("2-hop-{}.txt.gz",)),
    METAQA_3: ("metaqa", 3, ("3-hop-{}.txt.gz",)),
    FREEBASE: ("fb237", 2, ("questions-{}.jsonl.gz",)),
    MIXED: ("metaqa", 3, tuple(f"{hops}-hop-{{}}.txt.gz" for hops in (1, 2, 3))),
}
"""By name, the graph, its hops and its files by split."""
ALL, DEEP = tuple(SETS)[:5], (PATHS_3, METAQA_3)
F1, HOPS, NAMED = "F1", "hops right", f"answers named in {TOKENS} tokens"
ORDERS: Sequence[tuple[str, str, str, Mapping[str, float], Sequence[str]]] = (
    ("STAR", "cross-attentive", "similarity", {RIGHT: 0.078, SHORTCUT: 0.05}, ALL),
    ("STAR", "+ hard path mining", "cross-attentive", {RIGHT: 0.008, SHORTCUT: 0.009}, ALL),
    ("STAR", "+ path weights", "+ hard path mining", {RIGHT: 0.008, RARE: 0.005}, ALL),
    ("STAR", "dual encoder, hard paths", "dual encoder, F1 shares", {RIGHT: 0.0, PATH_F1: 0.0}, ALL),
    ("ReG", "refined", "25 triples", {NAMED: 0.02}, DEEP),
    ("ReG", "chains", "100 triples", {NAMED: 0.0}, ALL),
    ("ReG", "chains, read", "100 triples, read", {F1: 0.04}, DEEP),
    ("Path Pooling", "25 pooled triples", "25 triples", {NAMED: 0.0}, ALL),
    ("Path Pooling", "25 pooled triples", "100 triples", {NAMED: 0.0}, ALL),
    ("Path Pooling", "25 pooled triples, read", "25 triples, read", {F1: 0.028}, DEEP),
    ("Path Pooling", "25 pooled triples, read", "100 triples, read", {F1: 0.0}, DEEP),
    ("Path Pooling", "25 pooled triples, read", "25 pooled triples, best first, read", {F1: 0.0}, DEEP),
    ("GRIL", "joint", "separate", {F1: 0.006}, ALL),
    ("GRIL", "pruned", "not pruned", {F1: 0.024}, ALL),
    ("GRIL", "predicted hops", "commonest hops", {HOPS: 0.0}, (MIXED,)),
    ("GraphRAG-FI", "filtered and integrated, read", "filtered, read", {F1: 0.005}, DEEP),
    ("GraphRAG-FI", "filtered and integrated, read", "integrated, read", {F1: 0.02}, DEEP),
)
"""Paper, the better side and the worse, measures with the paper's difference (0: it has none), and the sets."""
NOTES = {
    "refined": " (refined supervision over weak)",
    "filtered and integrated, read": " (cannot be shown: no noise, model's ECE .295)",
}
"""By the better side, what an order's row says besides."""
FLOOR, CEILING = 0.05, 0.98
"""Two sides below, or above, show no order: our own choice."""


@dataclass(frozen=True)
class Cell:
    """A side over a set by a seed; given: the command line."""

    name: str
    set: str
    seed: int
    given: argparse.Namespace

    @property
    def file(self) -> Path:
        return self.given.out / f"{self.set}-{self.name}-{self.seed}.json".replace(" ", "_")

    @property
    def folder(self) -> Path:
        return self.given.work / self.set.replace(", ", "-").replace(" ", "-")

    def questions(self, part: str) -> Path:
        return next(self.folder.glob(f"{part}.*"))

    def can_run(self, settings: Settings) -> bool:
        """Return whether its models are there, and it is still to be computed."""
        side = SIDES[self.name]
        needs_model, needs_attention = side.reads or "refined" in side.training, "{attention}" in "".join(side.options)
        has_models = (settings.llm_model or not needs_model) and (self.given.attention or not needs_attention)
        return bool(has_models) and not self.file.exists()


def write_parts(cell: Cell, data: Path) -> None:
    """Write what a set is learned from, chosen and asked by: lines of its files, by the seed 0."""
    files, given = SETS[cell.set][2], cell.given
    parts: dict[str, list[str]] = {"learn": [], "choose": [], "asked": []}
    for file in files:
        lines = {}
        for split in ("train", "dev", "test"):
            with gzip.open(data / file.format(split), "rt", encoding="utf-8") as opened:
                lines[split] = [each for each in opened if cell.set != FREEBASE or json.loads(each)["min_hops"] > 1]
            random.Random(0).shuffle(lines[split])
        few = min(given.choose // len(files), len(lines["train"]) // 4)
        parts["choose"] += lines["train"][:few]
        parts["learn"] += lines["train"][few:][: given.questions // len(files)]
        parts["asked"] += [*lines["dev"], *lines["test"] * (cell.set == FREEBASE)][: given.asked // len(files)]
    cell.folder.mkdir(parents=True)
    for part, chosen in parts.items():
        (cell.folder / f"{part}.{files[0].partition('.')[2]}").write_bytes(gzip.compress("".join(chosen).encode()))


def lodestar(*words: object) -> None:
    """Run a verb of the command line; what fails ends the benchmark."""
    subprocess.run([sys.executable, "-m", "lodestar", *map(str, words)], check=True)


def mined(cell: Cell, asked: AskedGraph) -> Iterator[Path]:
    """Yield the files of mined paths to learn from, to choose the epoch and to be asked."""
    for part in ("learn", "choose", "asked"):
        out = cell.folder / f"{part}-mined.jsonl.gz"
        if not out.exists():
            hops, more = SETS[cell.set][1], ("--return-to-topic",) * asked.return_to_topic
            lodestar("mine", cell.questions(part), "--out", out, "--max-hop", hops, *more, "--name", asked.name)
        yield out


def checkpoint(cell: Cell, asked: AskedGraph) -> Path:
    """Return the folder of the checkpoint of a side's kind; sides that train alike share it."""
    side, hops, learn = SIDES[cell.name], SETS[cell.set][1], cell.questions("learn")
    name = "-".join((side.kind, *(each.replace("=", "").replace("/", "-") for each in side.training)))
    out = cell.folder / f"{name}-{cell.seed}"
    if not (out / f"{side.kind}.json").exists():
        own = [f"subgraph.num_hops={hops}", *(each for each in side.training if each != "refined")]
        more = [word for change in own for word in ("--set", change)]
        if "refined" in side.training:
            pool, refined = (cell.folder / f"{part}.jsonl.gz" for part in ("pool", "refined"))
            if not refined.exists():
                lodestar("mine", learn, "--pool", "--max-hop", hops, "--out", pool, "--force", "--name", asked.name)
                lodestar("refine", pool, "--out", refined)
            more += ["--supervision", str(refined)]
        sets = ("--dataset", learn, "--dev", cell.questions("choose"), "--out", out, "--seed", cell.seed)
        lodestar("train", side.kind, *sets, *more, "--name", asked.name)
    return out


def score_by_recipe(cell: Cell, asked: AskedGraph, settings: Settings) -> tuple[list[str], Scores]:
    side, max_hop = SIDES[cell.name], SETS[cell.set][1]
    folder = checkpoint(cell, asked) if side.kind else Path()
    dev = read_questions(str(cell.questions("asked")))
    ids, texts = ([getattr(each, name) for each in dev.questions] for name in ("id", "text"))
    if not side.recipe:
        size = cell.given.asked // len(SETS[cell.set][2])
        gold = [at // size + 1 for at in range(len(ids))]  # as many of each file: one, two and three hops
        guessed = [max(set(gold), key=gold.count)] * len(gold)
        if side.kind:
            with Engine(settings) as engine:
                guessed = predict_hops(engine.resources.model(str(folder), side.kind).hops, texts)
        return ids, {HOPS: [float(one == other) for one, other in zip(guessed, gold, strict=True)]}
    options = [each.format(folder=folder, attention=cell.given.attention) for each in side.options]
    options += [f"reorganise.max_length={max_hop}"] if "reorganise" in side.recipe else []
    recipe = set_reach(asked, read_recipe(side.recipe, options), max_hop)
    if side.reads or side.kind == "gril":
        limit = cell.given.read if side.reads else None
        run = RunOptions(cell.folder / f"run-{cell.name}-{cell.seed}", limit=limit, diagnose=False)
        shutil.rmtree(run.folder, ignore_errors=True)
        records = ask_remaining_questions(dev, recipe, settings, run).records
        return [each.id for each in records], {F1: [each.scores["strict/f1"] for each in records]}
    with Engine(settings, recipe=recipe) as engine:
        given = [each.as_question(each.topic_ids) for each in dev.questions]
        parts = (engine.retrieve_batch(given[at : at + BATCH]) for at in range(0, len(given), BATCH))
        evidence = list(chain.from_iterable(parts))
        known = look_up_gold_answers(dev.questions, engine.gateway()).questions
    chars = TOKENS * BYTES_PER_TOKEN
    written = [format_evidence(each.items, each.labels, max_names=MAX_NAMES, max_chars=chars)[0] for each in evidence]
    names = [[next(iter(one.names), one.id or "").replace("_", " ") for one in each.answers] for each in known]
    pairs = zip(names, written, strict=True)  # PathQuestion writes names with underscores, evidence without
    return ids, {NAMED: [float(np.mean([name in text.replace("_", " ") for name in some])) for some, text in pairs]}


def cells(given: argparse.Namespace) -> list[Cell]:
    """Return the cells that the orders need, set by set and seed by seed."""
    wanted = {
        (name, side)
        for paper, better, worse, _, sets in ORDERS
        for name in sets
        for side in (worse, better)
        if {paper, name, side} >= set(given.only)
    }
    every = (Cell(side, name, seed, given) for name in SETS for seed in range(given.seeds) for side in SIDES)
    return [each for each in every if (each.set, each.name) in wanted and not (each.seed and SIDES[each.name].reads)]


def compute(name: str, left: Sequence[Cell], settings: Settings) -> None:
    asked = next(each for each in graphs(left[0].given.data, "train") if each.name == SETS[name][0])
    if not left[0].folder.exists():
        write_parts(left[0], asked.files[0][0].parent)
    with serve_graph(asked, settings, left[0].given.work) as own:
        device = Placement(own.device).torch_device
        for cell in left:
            print(f"{time.strftime('%H:%M')} {name}: {cell.name}, seed {cell.seed}", file=sys.stderr, flush=True)
            if (side := SIDES[cell.name]).star:
                parts, epochs = list(mined(cell, asked)), cell.given.epochs
                ids, scores = score_first_paths(side.star, side.cross, side.mines, cell.seed, epochs, parts, device)
            else:
                ids, scores = score_by_recipe(cell, asked, own)
            cell.file.write_text(json.dumps({"ids": ids, "scores": scores}), encoding="utf-8")


def judge(given: argparse.Namespace, name: str, better: str, worse: str, measure: str, effect: float) -> str:
    """Return what an order is over a set, with the means over seeds and the interval paired by question."""
    pairs = [[Cell(side, name, seed, given).file for side in (worse, better)] for seed in range(given.seeds)]
    read = [[json.loads(each.read_text("utf-8")) for each in pair] for pair in pairs if all(map(Path.exists, pair))]
    sides = [[dict(zip(each["ids"], each["scores"][measure], strict=True)) for each in pair] for pair in read]
    if not sides:
        return "not run"
    ids = list(sides[0][0])
    below, above = (np.array([[pair[at][each] for each in ids] for pair in sides]) for at in (0, 1))
    test = compare_paired_scores(above.mean(axis=0).tolist(), below.mean(axis=0).tolist())
    low, high, means = test.interval.low, test.interval.high, (below.mean(), above.mean())
    shows = 2.8 * (high - low) / 3.92  # standard errors: 80 % power at 5 %
    verdict = f"? ({shows:.3f})" if shows else "? (equal)"
    if name in (PATHS_2, PATHS_3) and isinstance(SIDES[better].star, DualTrainingOptions):  # it learns the gold paths
        verdict = "? (trained alike)"
    elif max(means) < FLOOR or min(means) > CEILING:
        verdict = "? (floor)" if max(means) < FLOOR else "? (ceiling)"
    elif low > 0:
        verdict = "**holds**"
    elif high < 0 or 0 < shows <= effect:
        verdict = "**no**" if high < 0 or len(sides) > 1 else "? (one seed)"
    return f"{verdict} {means[0]:.3f}→{means[1]:.3f} [{low:+.3f},{high:+.3f}] {len(ids)}×{len(sides)}"


def page(given: argparse.Namespace) -> Iterator[str]:
    yield (
        "## The papers' orders\n\n"
        "By `python -m benchmarks.accuracy.papers`. Two sides differ in one thing. A cell: whether the order *holds*, "
        "means of worse→better over questions and seeds, the 95 % interval of the difference paired by question, "
        "questions×seeds. *no*: the interval is below 0, or, over several seeds, contains 0 though a difference of "
        "the paper's size would show (80 % power). *?*: it cannot be shown here; in brackets why: what would "
        f"show, both sides are below {FLOOR} (*floor*) or above {CEILING} (*ceiling*; our own choice), or *trained "
        "alike*, from gold paths. Empty: not asked. Hops are guessed in mixed sets, which serve nothing else; "
        f"language models are slow, so of three hops. At most {given.questions} questions are learned from, "
        f"{given.choose} others choose the epoch, on two cores (STAR: `--questions 400 --choose 80 --asked 400`, on "
        f"one H200). Networks over pools: {given.epochs} epochs, five negatives. *{NAMED.capitalize()}*: share of "
        "right answers named in that part of the evidence, which nobody reads. *Read*: by Qwen2.5-Coder 1.5 B, which "
        "also refines; SmolLM2-135M attends."
    )
    yield f"\n| paper: order | measure | {' | '.join(SETS)} |"
    yield "|" + " --- |" * (2 + len(SETS))
    for paper, better, worse, measures, sets in ORDERS:
        for measure, effect in measures.items():
            found = [judge(given, name, better, worse, measure, effect) if name in sets else "" for name in SETS]
            yield f"| {paper}: {better} over {worse}{NOTES.get(better, '')} | {measure} | {' | '.join(found)} |"
    yield (
        "\nIn STAR's first row both networks learn from the same pools and order one shortlist. *Filtered* is by the "
        "fine filter; both sides have the coarse one. STAR's cells are older than the rule that paths avoid their "
        'topic, and than "backwards" of hops; what a model refines or reads is of ReG\'s earlier scorer.'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with fb237/, metaqa/ and pathquestion/")
    parser.add_argument("--work", type=Path, required=True, help="folder of servers, mined files and checkpoints")
    parser.add_argument("--out", type=Path, required=True, help="folder of the cells and of papers.md")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="of a side, set or paper")
    for name, default in {"seeds": 3, "questions": 150, "choose": 40, "asked": 200, "read": 40, "epochs": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--attention", default="", help="local language model whose attention filters")
    parser.add_argument("--print-only", action="store_true", help="the section of the cells that are there")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    os.environ["LODESTAR_CACHE"] = str(resolve_settings().cache_dir)
    os.environ["LODESTAR_HOME"] = str(given.work / "home")
    os.environ.setdefault("LODESTAR_QUERY_TIMEOUT_S", "600")  # many questions are one query
    left = [] if given.print_only else [each for each in cells(given) if each.can_run(resolve_settings())]
    for name, some in groupby(left, key=lambda each: each.set):
        compute(name, list(some), resolve_settings())
    section = "\n".join(page(given)) + "\n"
    (given.out / "papers.md").write_text(section, encoding="utf-8")
    print(section)


if __name__ == "__main__":
    main()
