"""`lodestar mine`: a question set to training paths."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import FORCE, LENGTHS, PARAPHRASE, RETURN_TO_TOPIC, SEED, database_options, json_option, settings_from
from .terminal import echo

if TYPE_CHECKING:
    from ..gold_questions import QuestionSet
    from ..settings import Settings


@click.command()
@click.argument("dataset", metavar="[QUESTIONS]", required=False)
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="File to write, as mined.jsonl.gz."
)
@FORCE
@click.option(
    "--from-graph", is_flag=True, help="Make the questions, too: from the graph alone, in place of QUESTIONS."
)
@click.option("--questions", type=click.IntRange(1), help="Made questions (default: 3,000).")
@LENGTHS
@PARAPHRASE
@click.option("--split", help="Of a folder of question sets: the split to mine, as train.")
@click.option("--format", "format_name", help="The set's format, where it cannot be told by looking.")
@click.option("--max-hop", type=click.IntRange(1, 4), default=2, show_default=True, help="Longest path in hops.")
@click.option("--limit", type=click.IntRange(1), help="Mine a sample of so many questions, the same for a seed.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the sample and of the random negatives.")
@click.option(
    "--negatives",
    type=click.IntRange(0, 100),
    default=5,
    show_default=True,
    help="Similar and random relations in the place of each hop of a right path.",
)
@RETURN_TO_TOPIC
@click.option(
    "--pool",
    is_flag=True,
    help="Write ReG's candidate pools instead: shortest paths and neighbourhoods (docs/reg.md); of the options above "
    "--split, --format, --limit and --seed count.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(1, 1024),
    help="Questions at a time (default: 32; of three hops 8, of four 2).",
)
@json_option
@database_options
def command(
    dataset: str | None,
    out: Path,
    force: bool,
    from_graph: bool,
    questions: int | None,
    lengths: tuple[float, ...] | None,
    paraphrase: bool,
    split: str | None,
    format_name: str | None,
    max_hop: int,
    limit: int | None,
    seed: int,
    negatives: int,
    return_to_topic: bool,
    pool: bool,
    batch_size: int | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Find the paths that a retriever is trained on: right ones, and wrong ones that are hard to tell from them.

    \b
    Example:
      lodestar mine questions-train.jsonl.gz --out train.jsonl.gz
      lodestar mine metaqa/ --split 2-hop-train --limit 10000 --out train.jsonl.gz
      lodestar mine questions-train.jsonl.gz --pool --out pool.jsonl.gz
      lodestar mine --from-graph --questions 3000 --out made.jsonl.gz
    """
    import time

    from ...loaders.questions.reading import choose_file
    from ..api import Engine
    from ..progress import progress_bar
    from ..supervision.drawing import DEFAULT_QUESTIONS, MakingOptions
    from ..supervision.drawing import LENGTHS as DEFAULT_LENGTHS
    from ..supervision.made_set import make_questions
    from ..supervision.mine_file import mine_file
    from ..supervision.miner import MiningOptions
    from ..whole_file import check_output

    check_source(
        dataset,
        from_graph=from_graph,
        questions=questions,
        lengths=lengths,
        paraphrase=paraphrase,
        only_read=(split, format_name, limit),
        pool=pool,
    )
    options = MiningOptions(max_hop=max_hop, num_negatives=negatives, return_to_topic=return_to_topic, seed=seed)
    making = MakingOptions(
        questions or DEFAULT_QUESTIONS,
        max_hop=max_hop,
        seed=seed,
        lengths=lengths or DEFAULT_LENGTHS,
        paraphrase=paraphrase,
    )
    path = dataset and choose_file(dataset, split)
    check_output("--out", out, reads=[path] if path else (), force=force)
    asked = _sample_questions(path, format_name, limit, seed) if path else None
    if asked and pool:
        _pool(asked, out, batch_size, settings_from(**flags), as_json=as_json)
        return
    started_s = time.perf_counter()
    name = asked.name if asked else "the graph"
    with Engine(settings_from(**flags)) as engine, progress_bar(name, "mining") as (progress, say):
        asked = asked or make_questions(engine, making, progress=progress, say=say)
        mining = mine_file(asked, engine, out, options, batch_size=batch_size, progress=progress)
    seconds = time.perf_counter() - started_s
    if as_json:
        echo(json.dumps({"out": str(out), "seconds": round(seconds, 1), "counts": dict(mining.counts)}))
    else:
        _print(mining.counts)
    echo(f"{mining.counts['questions']:,} questions to {out} in {seconds:.1f} s", err=True)


def _pool(questions: QuestionSet, out: Path, batch_size: int | None, settings: Settings, *, as_json: bool) -> None:
    import time

    from ..api import Engine
    from ..progress import progress_bar
    from ..supervision.pools import PAPER, PoolOptions, mine_pool, pool_figures

    started_s = time.perf_counter()
    with Engine(settings) as engine, progress_bar(questions.name, "mining") as (progress, _):
        pool = mine_pool(questions, engine, out, PoolOptions(), batch_size=batch_size, progress=progress)
    seconds = time.perf_counter() - started_s
    counts, figures = pool.header.counts, pool_figures(pool.questions)
    if as_json:
        shown = {name: round(value, 2) for name, value in figures.items()}
        echo(json.dumps({"out": str(out), "seconds": round(seconds, 1), "counts": dict(counts), "candidates": shown}))
    else:
        _print(counts)
        for name, value in figures.items():
            echo(f"{f'candidates, {name} merging':<36}{value:>10,.2f}   (the paper's, GrailQA: {PAPER[name]:,g})")
    echo(f"{counts['questions']:,} questions to {out} in {seconds:.1f} s", err=True)


def check_source(
    dataset: str | None,
    *,
    from_graph: bool,
    questions: int | None,
    lengths: tuple[float, ...] | None,
    paraphrase: bool,
    only_read: Sequence[object],
    pool: bool,
) -> None:
    """Raise `UsageError` unless there is either a question set or --from-graph, with the options of just that one."""
    from ..errors import UsageError

    if (dataset is None) is not from_graph:
        found = "both" if from_graph else "neither"
        raise UsageError(
            f"expected a question set or --from-graph, found {found}: name a file, or let questions be made"
        )
    if questions is not None and not from_graph:
        raise UsageError("--questions: only questions made from the graph have it: add --from-graph, or use --limit")
    if lengths is not None and not from_graph:
        raise UsageError("--lengths: only questions made from the graph have it: add --from-graph")
    if paraphrase and not from_graph:
        raise UsageError("--paraphrase: only questions made from the graph have it: add --from-graph")
    if from_graph and any(value is not None for value in only_read):
        raise UsageError("--split, --format, --limit: of a question set, and there is none: use --questions")
    if from_graph and pool:
        raise UsageError("--pool: of a question set: give one in the place of --from-graph")


def _sample_questions(path: str, format_name: str | None, limit: int | None, seed: int) -> QuestionSet:
    from dataclasses import replace

    from ...loaders.questions.reading import read_questions

    questions = read_questions(path, format_name)
    return replace(questions, questions=questions.sampled(limit, seed))


def _print(counts: Mapping[str, int]) -> None:
    for name, number in counts.items():
        if number:
            echo(f"{name:<36}{number:>10,}")
