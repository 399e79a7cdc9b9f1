"""`lodestar train star`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from .training import print_trained, questions_of, sets_of, training_options, watched


@click.command()
@training_options
@click.option(
    "--preset",
    type=click.Choice(("best", "paper")),
    default="best",
    show_default=True,
    help="best: both networks' scores together; paper: STAR's alone.",
)
@click.option(
    "--scorer",
    type=click.Choice(("cross", "similarity")),
    help="similarity: the dual encoder alone, quicker (default: cross).",
)
@click.option("--pairs", multiple=True, help="Question set over any graph whose relations are learned beside.")
@click.option(
    "--any-graph",
    is_flag=True,
    help="For graphs that it has never seen, too; without --dev one question in eight of each file is chosen by.",
)
@click.option("--leave-out", multiple=True, help="Question set whose questions are not taken from --pairs, as --dev.")
def star(
    train_files: Sequence[str],
    dev_files: Sequence[str],
    from_graph: bool,
    questions: int | None,
    lengths: tuple[float, ...] | None,
    paraphrase: bool,
    out: Path,
    preset: str,
    scorer: str | None,
    encoder: str | None,
    epochs: int | None,
    precision: str | None,
    seed: int,
    max_hop: int,
    return_to_topic: bool,
    changes: Sequence[str],
    pairs: Sequence[str],
    leave_out: Sequence[str],
    any_graph: bool,
    fresh: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Train STAR's path scorer, and the dual encoder that shortlists for it.

    Stopped, it goes on where it was when the same command runs again. On several GPUs start it with torchrun.

    \b
    Examples:
      lodestar train star --dataset train.jsonl.gz --dev dev.jsonl.gz --out star
      lodestar train star --from-graph --scorer similarity --out star
      lodestar train star --any-graph --dataset made-1.jsonl.gz --dataset made-2.jsonl.gz --out general
      lodestar train star --dataset mined.jsonl.gz --dev mined-dev.jsonl.gz --out star --preset paper --seed 1
      torchrun --nproc-per-node 4 -m lodestar train star --dataset … --dev … --out star
    """
    from ....models.star.learning.figures import NAMES
    from ...training.relation_pairs import relation_pairs
    from ...training.star import star_config, trained

    beside_similarity = ["dual.similarity=1"] if from_graph else []
    precisions = [f"{part}.precision={precision}" for part in ("dual_training", "cross_training") if precision]
    config = star_config(
        preset, [*beside_similarity, *precisions, *changes], scorer=scorer, encoder=encoder, epochs=epochs, seed=seed
    )
    mining = {"max_hop": max_hop, "return_to_topic": return_to_topic, "seed": seed}
    train_on, choose_on = sets_of(
        train_files,
        dev_files,
        out,
        mining,
        flags,
        from_graph=from_graph,
        questions=questions,
        lengths=lengths,
        paraphrase=paraphrase,
        fresh=fresh,
        keep_apart=any_graph,
    )
    beside = None
    if pairs:
        apart = [(question.id, question.text) for mined in choose_on for question in mined.questions]
        apart += [(question.id, question.text) for file in leave_out for question in questions_of(file).questions]
        beside = relation_pairs(list(map(questions_of, pairs)), apart)
    with watched(out, NAMES) as watcher:
        description = trained(
            config, train_on, choose_on, out, pairs=beside, any_graph=any_graph, fresh=fresh, watcher=watcher
        )
    print_trained(description, out, NAMES, {"mix": description.mix}, as_json=as_json)
