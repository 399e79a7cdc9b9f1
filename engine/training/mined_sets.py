"""Question sets mined for a training, kept in the folder of its checkpoint: of this graph, as it is now."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from ...models.mined.lines import MinedFileError
from ...models.star.mined import Mined, MinedQuestion, read
from ..api import Engine
from ..errors import InputError
from ..progress.phases import Progress
from ..questions.gold import QuestionSet
from ..settings import Settings
from ..supervision.making.made_set import EVERY_DEV, apart, made_questions
from ..supervision.making.options import LENGTHS, MakingOptions
from ..supervision.mining.mine_file import mine_file
from ..supervision.mining.options import MiningOptions
from .of_graph import Made, Say, made_of_graph


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

    def mine(engine: Engine, wanted: Path) -> None:
        with mining() as (progress, _):
            mine_file(questions, engine, wanted, options, progress=progress)

    made = Made(name, ".jsonl.gz", f"another process mines {questions.name}", "mined", "mine")
    return read_mined(str(made_of_graph(folder, made, settings, mine, fresh=fresh, say=say)))


def made_sets(
    folder: Path,
    making: MakingOptions,
    options: MiningOptions,
    settings: Settings,
    *,
    fresh: bool,
    mining: Callable[[], AbstractContextManager[tuple[Progress, Say]]],
    say: Say,
) -> tuple[Mined, Mined]:
    """Return what is mined of questions made from the graph: those to learn from, and those to choose by.

    As `mined_set`, which see. Raises `GraphError` for a graph that no questions can be made of.
    """
    returning = "-returning" if options.return_to_topic else ""
    reworded = "-reworded" if making.paraphrase else ""
    lengths = (
        "" if making.lengths == LENGTHS else "".join(f"-{weight:g}" for weight in making.lengths[: options.max_hop])
    )
    asked: list[QuestionSet] = []
    found: list[Mined] = []
    for place, part in enumerate(("learn", "choose")):
        name = f"mined-made-{part}-{making.num_questions}{reworded}{returning}{lengths}-{options.max_hop}-{making.seed}"

        def mine(engine: Engine, wanted: Path, place: int = place) -> None:
            with mining() as (progress, _):
                if not asked:
                    asked.extend(apart(made_questions(engine, making, progress=progress, say=say)))
                mine_file(asked[place], engine, wanted, options, progress=progress)

        made = Made(name, ".jsonl.gz", "another process makes questions from the graph", "made", "make questions")
        found.append(read_mined(str(made_of_graph(folder, made, settings, mine, fresh=fresh, say=say))))
    return found[0], found[1]


def limited_mined(mined: Mined, limit: int | None, seed: int) -> Mined:
    """Return a sample of the questions of a mined file, in its order; all of them without a limit."""
    if limit is None or limit >= len(mined.questions):
        return mined
    places = sorted(random.Random(seed).sample(range(len(mined.questions)), limit))  # noqa: S311 - a sample, no secret
    return _part(mined, f"sample of {limit}, seed {seed}", [mined.questions[place] for place in places])


def mined_apart(mined: Mined) -> tuple[Mined, Mined]:
    """Return the questions of a mined file to learn from, and every eighth, to choose by: those with the same topics
    and right paths stay together. Raises `InputError` where there are too few."""
    learn: list[MinedQuestion] = []
    choose: list[MinedQuestion] = []
    for question in mined.questions:
        right = sorted(path.hops for path in question.paths if path.positive)
        key = hashlib.sha256(json.dumps([sorted(topic.id for topic in question.topics), right]).encode()).digest()
        (choose if key[0] % EVERY_DEV == 0 else learn).append(question)
    if not learn or not choose:
        raise InputError(
            f"{mined.mining.questions}: expected questions enough to keep one in eight apart, found "
            f"{len(mined.questions)}: give --dev"
        )
    return _part(mined, "learn", learn), _part(mined, "choose", choose)


def _part(mined: Mined, name: str, questions: Sequence[MinedQuestion]) -> Mined:
    mining = mined.mining
    said = f"{mining.questions}, to {name}"
    digest, of_set = (
        hashlib.sha256(f"{of}/{name}".encode()).hexdigest() for of in (mined.sha256, mining.questions_sha256)
    )
    return Mined(replace(mining, questions=said, questions_sha256=of_set), tuple(questions), digest)
