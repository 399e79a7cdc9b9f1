"""ReG@Path's training as the command line asks for it: its configuration, its pools, its errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from ...models.mined.pool import Pool
from ...models.reg.paths.vocabulary import Vocabulary
from ..api import Engine
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
