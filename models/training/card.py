"""The model card of a checkpoint: what it is for, what it learned from, how good it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from .description import ModelDescription, TrainedOn
from .loop import Trained


def model_card(
    title: str,
    about: Iterable[str],
    description: ModelDescription,
    trained: Mapping[str, Trained],
    figures: Sequence[str],
    beside: Mapping[str, int],
) -> str:
    """Return the card as Markdown. about: paragraphs. figures: which are shown. beside: how many pieces of what else
    it learned from."""
    return "\n\n".join(
        [
            f"# {title}",
            *about,
            "## Learned from",
            "\n".join(_sources(description, beside)),
            "## Dev figures of each epoch",
            "\n".join(_epochs(trained, figures)),
            "The dev questions chose the epoch, so these figures flatter. `lodestar eval` measures on questions that "
            "chose nothing.",
            f"Training took: {_minutes(description)}. Every option is in `{description.kind}.json`.\n",
        ]
    )


def _sources(description: ModelDescription, beside: Mapping[str, int]) -> Iterator[str]:
    yield "| | question set | questions | hops | SHA-256 of the set | graph |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for split, parts in (("train", description.train), ("dev", description.dev)):
        yield from (_source(split, part) for part in parts)
    for name, number in beside.items():
        yield f"| pairs | {name} | {number:,} | | | |"


def _source(split: str, part: TrainedOn) -> str:
    return (
        f"| {split} | {part.questions} | {part.num_questions:,} | {part.max_hop} | `{part.questions_sha256[:12]}` "
        f"| `{part.graph[:12]}` |"
    )


def _epochs(trained: Mapping[str, Trained], names: Sequence[str]) -> Iterator[str]:
    yield f"| network | epoch | {' | '.join(names)} | |"
    yield f"| --- | --- |{' --- |' * len(names)} --- |"
    for name, each in trained.items():
        for epoch, figures in enumerate(each.history):
            values = " | ".join(f"{figures[metric]:.3f}" if metric in figures else "" for metric in names)
            yield f"| {name} | {epoch + 1} | {values} | {'kept' if epoch == each.best_epoch else ''} |"


def _minutes(description: ModelDescription) -> str:
    return ", ".join(f"{name} {seconds / 60:.1f} minutes" for name, seconds in description.seconds.items())
