"""Question sets mined for a training, kept in the folder of its checkpoint: of this graph, as it is now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from ...models.mined.lines import MinedFileError
from ...models.star.mined import Mined, MinedQuestion, read
from ..api import Engine
from ..errors import InputError
from ..progress.phases import Progress
from ..questions.gold import QuestionSet
from ..settings import Settings
from ..supervision.making.made_set import apart, made_questions
from ..supervision.making.options import MakingOptions
from ..supervision.mining.mine_file import mine_file
from ..supervision.mining.options import MiningOptions
from .of_graph import Made, Say, made_of_graph
from .relation_pairs import plain_words
from .running import Asked, check_asked_apart


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
    asked: list[QuestionSet] = []
    found: list[Mined] = []
    for place, part in enumerate(("learn", "choose")):
        name = f"mined-made-{part}-{making.num_questions}{reworded}{returning}-{options.max_hop}-{making.seed}"

        def mine(engine: Engine, wanted: Path, place: int = place) -> None:
            with mining() as (progress, _):
                if not asked:
                    asked.extend(apart(made_questions(engine, making, progress=progress, say=say)))
                mine_file(asked[place], engine, wanted, options, progress=progress)

        made = Made(name, ".jsonl.gz", "another process makes questions from the graph", "made", "make questions")
        found.append(read_mined(str(made_of_graph(folder, made, settings, mine, fresh=fresh, say=say))))
    return found[0], found[1]


def check_apart(train_on: Sequence[Mined], choose_on: Sequence[Mined]) -> None:
    """Raise `UsageError` where a question is both learned from and chosen on."""
    check_asked_apart(
        (_asked(question) for mined in train_on for question in mined.questions),
        ((question.id, _asked(question)) for mined in choose_on for question in mined.questions),
    )


def _asked(question: MinedQuestion) -> Asked:
    return plain_words(question.text), frozenset(topic.id for topic in question.topics)
