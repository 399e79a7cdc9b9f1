"""A question set's candidate pools, read from a graph into a file; their four figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean

from ....models.mined.pool import Pool, PooledQuestion, PoolHeader, write_pool
from ...api import Engine
from ...database.catalogue import read_catalogue, read_graph_state
from ...database.gateway import Gateway
from ...errors import GraphError, QueryTimeoutError
from ...progress.phases import Progress, silent
from ...questions.gold import GoldQuestion, QuestionSet
from ...questions.in_graph import with_known_answers
from ...whole_file import check_output, storing
from ..mining.placing import REASONS, LeftOut
from .candidates import CUTS, PoolOptions, pooled

BATCH = 32
TOO_LONG = "a query that ran past its timeout"

PAPER: Mapping[str, float] = {"mean before": 275.16, "max before": 98_602, "mean after": 13.54, "max after": 137}
"""ReG, table 1: candidates of a GrailQA question before and after answers and relation chains are merged."""

Found = PooledQuestion | LeftOut


def mine_pool(
    questions: QuestionSet,
    engine: Engine,
    out: Path,
    options: PoolOptions,
    *,
    batch_size: int | None = None,
    progress: Progress = silent,
) -> Pool:
    """Read the pools from the engine's graph, `batch_size` questions at a time, write the file and return it.

    Raises `GraphError` where no question has a path to an answer, `StorageError` where `out` cannot be written.
    """
    check_output("", out, force=True)
    gateway = engine.gateway()
    gateway.fetch(read_graph_state()).check()
    catalogue = gateway.fetch(read_catalogue())
    asked = with_known_answers(questions.questions, gateway).questions
    size = batch_size or BATCH
    found: list[Found] = []
    progress("walking", 0, len(asked))
    for start in range(0, len(asked), size):
        found += _batch(asked[start : start + size], gateway, options)
        progress("walking", len(found), len(asked))
    kept = tuple(each for each in found if isinstance(each, PooledQuestion))
    if not kept:
        reasons = Counter(each.reason for each in found if isinstance(each, LeftOut))
        why = ", ".join(f"{number:,} with {reason}" for reason, number in reasons.items())
        raise GraphError(
            f"{questions.name}: expected questions about this graph, found {why or 'none'}: load the graph they are "
            "about"
        )
    header = PoolHeader(
        questions.name, questions.sha256, catalogue.vocabulary, options=asdict(options), counts=counts_of(found)
    )
    pool = Pool(header, kept)
    with storing(out):
        write_pool(out, pool)
    return pool


def counts_of(found: Sequence[Found]) -> dict[str, int]:
    """Return how much there is of what: questions and those left out by reason, chains by kind, cuts."""
    counts = dict.fromkeys(
        (
            "questions",
            *(f"left out: {reason}" for reason in (*REASONS, TOO_LONG)),
            *(f"{kind} chains" for kind in ("path", "query", "answer")),
            *(f"cut {what}" for what in CUTS),
        ),
        0,
    )
    for name in _counted(found):
        counts[name] += 1
    return counts


def _counted(found: Sequence[Found]) -> Iterator[str]:
    for each in found:
        if isinstance(each, LeftOut):
            yield f"left out: {each.reason}"
        else:
            yield "questions"
            yield from (f"{chain.kind} chains" for chain in each.chains)
            yield from (f"cut {what}" for what in each.cut)


def pool_figures(questions: Sequence[PooledQuestion]) -> dict[str, float]:
    """Return mean and maximum of a question's candidates, before and after merging (ReG, table 1); at least one
    question. Where a bound cut there are more before."""
    before = [question.num_raw for question in questions]
    after = [len(question.chains) for question in questions]
    return {
        "mean before": fmean(before),
        "max before": max(before),
        "mean after": fmean(after),
        "max after": max(after),
    }


def _batch(questions: Sequence[GoldQuestion], gateway: Gateway, options: PoolOptions) -> list[Found]:
    """Return the pools of a batch; where a query takes too long, of each half of it, and a single one is left out."""
    try:
        return gateway.run(pooled(questions, options))
    except QueryTimeoutError:
        if len(questions) == 1:
            return [LeftOut(questions[0].id, TOO_LONG)]
    half = len(questions) // 2
    return _batch(questions[:half], gateway, options) + _batch(questions[half:], gateway, options)
