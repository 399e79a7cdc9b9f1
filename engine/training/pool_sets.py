"""Read the training data of ReG@Path: candidate pools and the graph's relations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from ...models.mined import PoolFile
from ...models.reg_path.writing import RelationTokens
from ..api import Engine
from ..errors import UsageError
from ..gold_questions import QuestionSet
from ..neo4j.catalogue import read_catalogue
from ..progress import Progress
from ..relations.words import words_of_relations
from ..settings import Settings
from ..supervision.pools import PoolBounds, mine_pool
from ..supervision.refine import pool_of
from .once_per_graph import GraphFileSpec, Say, make_once_per_graph
from .subgraph_sets import WEAK


def pool_set(
    questions: QuestionSet,
    folder: Path,
    settings: Settings,
    *,
    fresh: bool,
    mining: Callable[[], AbstractContextManager[tuple[Progress, Say]]],
    say: Say,
) -> PoolFile:
    """Return the candidate pools of a question set, mined now or by an earlier run.

    See `make_once_per_graph`.
    """

    def mine(engine: Engine, wanted: Path) -> None:
        with mining() as (progress, _):
            mine_pool(questions, engine, wanted, PoolBounds(), progress=progress)

    name = f"pool-{questions.name}-{questions.sha256[:8]}"
    made = GraphFileSpec(name, ".jsonl.gz", f"another process mines {questions.name}", "mined", "mine")
    return pool_of(make_once_per_graph(folder, made, settings, mine, fresh=fresh, say=say))


def match_refined_pools(pools: Sequence[PoolFile], supervision: Sequence[str]) -> list[PoolFile]:
    """Return the pools, each replaced by its version from `lodestar refine` if one of these files is of its questions.

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


def read_relation_tokens(settings: Settings) -> RelationTokens:
    """Return the tokens of the graph's relations."""
    with Engine(settings) as engine:
        catalogue = engine.gateway().fetch(read_catalogue())
    return RelationTokens.of(words_of_relations(catalogue.relations))
