"""Read the training data of ReG's and GRIL's retrievers: the subgraphs of question sets, with their supervision."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from ...models.reg_triple.config import SubgraphOptions
from ...models.subgraphs import VERSION, GraphFileError, QuestionGraphs, read_graphs, relabel_graphs
from ...models.text.encoders import EncoderUnavailableError
from ...models.text.vectors import TextVectors
from ..api import Engine
from ..errors import EncoderError, InputError, UsageError
from ..gold_questions import QuestionSet
from ..progress import Progress
from ..settings import Settings
from ..supervision.refine import pool_of
from ..supervision.subgraphs import write_question_graphs
from .once_per_graph import GraphFileSpec, Say, make_once_per_graph

WEAK = "weak"


def graph_set(
    questions: QuestionSet,
    folder: Path,
    subgraph: SubgraphOptions,
    vectors: TextVectors,
    settings: Settings,
    *,
    fresh: bool,
    reading: Callable[[], AbstractContextManager[tuple[Progress, Say]]],
    say: Say,
    open_domain: bool = False,
) -> QuestionGraphs:
    """Return the subgraphs of a question set, read from the graph now or by an earlier run.

    open_domain: also of questions whose answers are not in the graph. See `make_once_per_graph`.
    """
    mode = ["open domain"] if open_domain else []
    how = json.dumps([VERSION, vectors.encoder.name, subgraph.as_json(), *mode], sort_keys=True)
    name = f"subgraphs-{questions.name}-{questions.sha256[:8]}-{hashlib.sha256(how.encode()).hexdigest()[:8]}"

    def make(engine: Engine, wanted: Path) -> None:
        with reading() as (progress, _):
            write_question_graphs(
                questions, engine, vectors, wanted, subgraph, open_domain=open_domain, progress=progress
            )

    made = GraphFileSpec(
        name, ".safetensors", f"another process reads the subgraphs of {questions.name}", "read", "read"
    )
    try:
        return read_graphs(make_once_per_graph(folder, made, settings, make, fresh=fresh, say=say))
    except GraphFileError as error:
        raise InputError(str(error)) from error
    except EncoderUnavailableError as error:
        raise EncoderError(str(error)) from error


def supervise_subgraphs(sets: Sequence[QuestionGraphs], supervision: Sequence[str], say: Say) -> list[QuestionGraphs]:
    """Return the subgraphs with the requested supervision: `weak`, or candidate pools by file, each for its question
    set. A set without a pool has weak supervision.

    say: receives how many questions of a set keep their shortest paths. Raises `UsageError` for a pool of none of the
    sets, `InputError` for an invalid file.
    """
    pools = {pool.header.questions_sha256: pool for pool in (pool_of(Path(n)) for n in supervision if n != WEAK)}
    others = set(pools) - {graphs.texts.questions_sha256 for graphs in sets}
    if others:
        names = ", ".join(sorted(pools[sha].header.questions for sha in others))
        raise UsageError(
            f"--supervision: expected candidate pools of the question sets of this training, found one of {names}: "
            "mine it from a set of --dataset or --dev"
        )
    found = []
    for graphs in sets:
        pool = pools.get(graphs.texts.questions_sha256)
        if pool is None:
            found.append(graphs)
            continue
        changed, num_kept = relabel_graphs(graphs, pool)
        say(
            f"{graphs.texts.questions_name}: {changed.supervision}; {num_kept:,} of {len(graphs):,} questions keep "
            "their shortest paths"
        )
        found.append(changed)
    return found
