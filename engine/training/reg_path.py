"""ReG@Path's training as the command line asks for it: its configuration, its pools, its errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from ...models.mined.pool import Pool
from ...models.reg.paths.checkpoint import PathDescription
from ...models.reg.paths.config import PathConfig
from ...models.reg.paths.train_paths import train_paths
from ...models.reg.paths.vocabulary import Vocabulary
from ...models.text_vectors import TextVectors
from ...models.training.objective import NothingToLearnError
from ...models.training.trainer import Watcher
from ..api import Engine
from ..code_hash import code_sha256
from ..database.catalogue import read_catalogue
from ..errors import UsageError
from ..progress.phases import Progress
from ..questions.gold import QuestionSet
from ..relations.words import words_of_relation
from ..settings import Settings
from ..supervision.pools.candidates import PoolOptions
from ..supervision.pools.mine_pool import mine_pool
from ..supervision.pools.refine_pool import pool_of
from .of_graph import Made, Say, made_of_graph
from .question_graphs import WEAK
from .relation_pairs import plain_words
from .running import Asked, changed, check_asked_apart, training_in


def path_config(changes: Sequence[str], *, encoder: str | None, epochs: int | None, seed: int) -> PathConfig:
    """Return the configuration with what the command line changes; raise `UsageError` for an unknown option."""
    return changed(PathConfig(), changes, "train reg-path", epochs=epochs, seed=seed, encoder=encoder)


def pool_set(
    questions: QuestionSet,
    folder: Path,
    settings: Settings,
    *,
    fresh: bool,
    mining: Callable[[], AbstractContextManager[tuple[Progress, Say]]],
    say: Say,
) -> Pool:
    """Return the candidate pools of a question set, mined now or when the training in this folder began.

    See `made_of_graph`.
    """

    def mine(engine: Engine, wanted: Path) -> None:
        with mining() as (progress, _):
            mine_pool(questions, engine, wanted, PoolOptions(), progress=progress)

    name = f"pool-{questions.name}-{questions.sha256[:8]}"
    made = Made(name, ".jsonl.gz", f"another process mines {questions.name}", "mined", "mine")
    return pool_of(made_of_graph(folder, made, settings, mine, fresh=fresh, say=say))


def refined_sets(pools: Sequence[Pool], supervision: Sequence[str]) -> list[Pool]:
    """Return the pools, each in the form that `lodestar refine` gave it where one of these files is of its questions.

    Raises `UsageError` for a file of none of the sets.
    """
    refined = {pool.header.questions_sha256: pool for pool in (pool_of(Path(n)) for n in supervision if n != WEAK)}
    others = set(refined) - {pool.header.questions_sha256 for pool in pools}
    if others:
        names = ", ".join(sorted(refined[sha].header.questions for sha in others))
        raise UsageError(
            f"--supervision: expected candidate pools of the question sets of this training, found one of {names}: "
            "mine it from a set of --dataset or --dev"
        )
    return [refined.get(pool.header.questions_sha256, pool) for pool in pools]


def graph_vocabulary(settings: Settings) -> Vocabulary:
    """Return the tokens of the relations of the graph."""
    with Engine(settings) as engine:
        catalogue = engine.gateway().fetch(read_catalogue())
    return Vocabulary.of({relation.name: words_of_relation(relation) for relation in catalogue.relations})


def trained_paths(
    config: PathConfig,
    train_on: Sequence[Pool],
    choose_on: Sequence[Pool],
    vocabulary: Vocabulary,
    vectors: TextVectors,
    folder: Path,
    *,
    fresh: bool,
    watcher: Watcher,
) -> PathDescription:
    """Train, or take a training up, and return the description of the checkpoint; one training at a time in a folder.

    Raises `UsageError` for sets that have questions in common and for questions that teach nothing, and what
    `training_in` raises.
    """
    with learning_paths(train_on, choose_on), training_in(folder, PathDescription, fresh=fresh) as is_first:
        return train_paths(
            config,
            train_on,
            choose_on,
            vocabulary,
            vectors.encoder.encode,
            folder,
            revision=code_sha256(),
            watcher=watcher if is_first else None,
        )


@contextmanager
def learning_paths(train_on: Sequence[Pool], choose_on: Sequence[Pool]) -> Iterator[None]:
    """Raise `UsageError` for sets that have questions in common, and in the block for questions that teach nothing."""
    learned = [asked for pool in train_on for _, asked in _asked(pool)]
    check_asked_apart(learned, [each for pool in choose_on for each in _asked(pool)])
    try:
        yield
    except NothingToLearnError as error:
        raise UsageError(str(error)) from error


def _asked(pool: Pool) -> list[tuple[str, Asked]]:
    return [(each.id, (plain_words(each.text), frozenset(each.topics))) for each in pool.questions]
