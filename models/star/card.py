"""The model card of a checkpoint: what it is for, what it learned from, how good it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from .checkpoint import Description, TrainedOn
from .learning.figures import NAMES

if TYPE_CHECKING:
    from ..training.loop import Trained


def model_card(description: Description, trained: Mapping[str, Trained]) -> str:
    """Return the card as Markdown."""
    return "\n".join(_lines(description, trained)) + "\n"


def _lines(description: Description, trained: Mapping[str, Trained]) -> Iterable[str]:
    yield "# STAR path scorer"
    yield ""
    yield (
        "Scores relation paths of a knowledge graph against a question, after STAR (cross-attentive path scoring with "
        f"hard path mining). Scorer: `{description.scorer}`; encoder: `{description.encoder}`; weight of the cross-"
        f"attentive scorer beside the dual encoder: {description.mix:g}, over the best {description.shortlist} paths."
    )
    yield ""
    yield "Use it with `lodestar ask --checkpoint FOLDER`, on the graph it was trained on."
    yield ""
    yield "## Learned from"
    yield ""
    yield "| | question set | questions | hops | SHA-256 of the set | graph |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for split, parts in (("train", description.train), ("dev", description.dev)):
        yield from (_row(split, part) for part in parts)
    for name, number in description.pairs.items():
        yield f"| pairs | {name} | {number:,} | | | |"
    yield ""
    yield "## Dev figures of each epoch"
    yield ""
    yield f"| network | epoch | {' | '.join(NAMES)} | |"
    yield f"| --- | --- |{' --- |' * len(NAMES)} --- |"
    for name, each in trained.items():
        for epoch, figures in enumerate(each.history):
            values = " | ".join(f"{figures[metric]:.3f}" for metric in NAMES)
            yield f"| {name} | {epoch + 1} | {values} | {'kept' if epoch == each.best_epoch else ''} |"
    yield ""
    yield (
        "The figures are of the first path, over the dev questions that have a path to an answer; they chose the epoch "
        "and the weight, so they flatter. `lodestar eval` measures on questions that chose nothing."
    )
    yield ""
    minutes = ", ".join(f"{name} {seconds / 60:.1f} minutes" for name, seconds in description.seconds.items())
    yield f"Training took: {minutes}. Every option is in `star.json`."


def _row(split: str, part: TrainedOn) -> str:
    return (
        f"| {split} | {part.questions} | {part.num_questions:,} | {part.max_hop} | `{part.questions_sha256[:12]}` "
        f"| `{part.graph[:12]}` |"
    )
