"""Question sets mined for a training, kept in the folder of its checkpoint: of this graph, as it is now."""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from ...models.star.mined import Mined, MinedFileError, MinedQuestion, read
from ..api import Engine
from ..database.catalogue import read_catalogue
from ..errors import DatabaseUnavailableError, InputError, UsageError
from ..progress.phases import Progress
from ..questions.gold import QuestionSet
from ..server.file_lock import locked
from ..settings import Settings
from ..supervision.mining.mine_file import mine_file
from ..supervision.mining.options import MiningOptions
from ..whole_file import storing
from .relation_pairs import plain_words

Say = Callable[[str], None]

DIGITS = 12
"""Of the graph's fingerprint, in the name of the file."""


def read_mined(path: str) -> Mined:
    """Return a mined file; raise `InputError` for one that is missing or damaged."""
    try:
        return read(Path(path))
    except MinedFileError as error:
        raise InputError(str(error)) from error


def mined_set(
    questions: QuestionSet,
    folder: Path,
    options: MiningOptions,
    settings: Settings,
    *,
    fresh: bool,
    mining: Callable[[], AbstractContextManager[tuple[Progress, Say]]],
    say: Say,
) -> Mined:
    """Return what is mined of a question set, now or when the training in this folder began; one process mines for all.

    mining: shows that something is mined. say: told what is to be known beside. Where the graph cannot be reached, what
    was mined has to do. Raises `UsageError` where the folder has it of another graph, or of this one before it was
    changed, unless `fresh`; `StorageError` where the folder cannot be written.
    """
    returning = "-returning" if options.return_to_topic else ""
    name = f"mined-{questions.name}-{questions.sha256[:8]}{returning}-{options.max_hop}-{options.seed}"
    with storing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / f".{name}.lock", f"another process mines {questions.name}"):
            kept = sorted(folder.glob(f"{glob.escape(name)}-{'[0-9a-f]' * DIGITS}.jsonl.gz"))
            try:
                with Engine(settings) as engine:
                    fingerprint = engine.gateway().fetch(read_catalogue()).fingerprint
                    wanted = folder / f"{name}-{fingerprint[:DIGITS]}.jsonl.gz"
                    _let_go([path for path in kept if path != wanted], fresh=fresh)
                    if not wanted.exists():
                        with mining() as (progress, _):
                            mine_file(questions, engine, wanted, options, progress=progress)
            except DatabaseUnavailableError as error:
                if not kept:
                    raise
                wanted = kept[-1]
                say(f"{wanted.name} was mined before; whether the graph has changed since is not known: {error}")
    return read_mined(str(wanted))


def check_apart(train_on: Sequence[Mined], choose_on: Sequence[Mined]) -> None:
    """Raise `UsageError` where a question is both learned from and chosen on."""
    learned = {_asked(question) for mined in train_on for question in mined.questions}
    shared = [question.id for mined in choose_on for question in mined.questions if _asked(question) in learned]
    if shared:
        raise UsageError(
            f"--dev: {len(shared):,} of its questions are in --dataset as well (the first is {shared[0]}): "
            "give questions that are not learned from"
        )


def _asked(question: MinedQuestion) -> tuple[str, frozenset[str]]:
    return plain_words(question.text), frozenset(topic.id for topic in question.topics)


def _let_go(others: list[Path], *, fresh: bool) -> None:
    """Remove what was mined of another graph, where that is asked for."""
    if others and not fresh:
        raise UsageError(
            f"{others[0]} was mined from another graph, or from this one before it was changed: name another --out, or "
            "give --fresh to mine and train anew"
        )
    for path in others:
        path.unlink(missing_ok=True)
