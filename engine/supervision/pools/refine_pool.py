"""A candidate pool refined, batch by batch; what was asked before a stop comes from the cache of replies."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from ....models.mined.lines import MinedFileError
from ....models.mined.pool import Pool, PooledQuestion, read_pool
from ....models.one_line import one_line
from ...chat.gateway import ChatGateway
from ...chat.prompts import Completed, Prompt
from ...errors import InputError
from ...progress.phases import Progress, silent
from ...retrieval.scoring import PathScorer
from ...settings import Settings
from ...steps import Steps, drive
from .by_llm import LLMRefiner
from .by_scorer import INVERSE, ScorerRefiner

BATCH = 64


def pool_of(path: Path) -> Pool:
    """Return a candidate pool; raise `InputError` for a file that is none, or damaged."""
    try:
        return read_pool(path)
    except MinedFileError as error:
        raise InputError(str(error)) from error


def refined_by_llm(
    pool: Pool, settings: Settings, cache: Path, *, max_retries: int = 2, progress: Progress = silent
) -> Pool:
    """Return the pool with what the settings' language model chose.

    Replies are kept in the settings' cache, else in `cache`, so that what was paid for before a stop is not paid for
    again. Raises `LLMError` where no model is configured, or none of a batch's questions is answered, as when a budget
    is spent.
    """
    chat = ChatGateway.of(settings if settings.llm_cache else replace(settings, llm_cache=str(cache)))
    refiner = LLMRefiner(max_retries=max_retries)
    found: list[PooledQuestion] = []
    try:
        progress("asking", 0, len(pool.questions))
        for start in range(0, len(pool.questions), BATCH):
            found += _driven(refiner.refine(pool.questions[start : start + BATCH]), chat)
            progress("asking", len(found), len(pool.questions))
    finally:
        chat.close()
    usage = chat.usage
    spent = {"calls": usage.calls, "from the cache": usage.cached, "tokens": usage.tokens}
    return pool.refined(found, chat.endpoint.model, {**refiner.counts, **spent})


def refined_by_scorer(
    pool: Pool,
    scorer: PathScorer,
    relations: Collection[str],
    name: str,
    margin: float,
    *,
    progress: Progress = silent,
) -> Pool:
    """Return the pool with the shortest paths that a scorer finds to agree with the question; see `ScorerRefiner`.

    relations: those that the scorer knows. Raises `InputError` for a pool of a graph with others.
    """
    steps = (step for question in pool.questions for chain in question.chains for step in chain.steps)
    unknown = next((step for step in steps if step.removeprefix(INVERSE) not in relations), None)
    if unknown is not None:
        raise InputError(
            f"the pool is of another graph: this one has no relation {one_line(unknown, 80)}: mine the pool again"
        )
    refiner = ScorerRefiner(scorer, margin)
    found: list[PooledQuestion] = []
    progress("scoring", 0, len(pool.questions))
    for start in range(0, len(pool.questions), BATCH):
        found += refiner.refine(pool.questions[start : start + BATCH])
        progress("scoring", len(found), len(pool.questions))
    return pool.refined(found, name, refiner.counts)


def chosen_figures(pool: Pool) -> dict[str, float]:
    """Return the means of a question's shortest paths and of the chains that are its supervision."""
    return {
        "shortest paths": fmean(len(question.weak) for question in pool.questions),
        "chosen": fmean(len(question.supervision) for question in pool.questions),
    }


def _driven(steps: Steps[list[PooledQuestion]], chat: ChatGateway) -> list[PooledQuestion]:
    def send(group: object) -> list[Completed]:
        assert isinstance(group, tuple)
        return chat.complete([call for call in group if isinstance(call, Prompt)])

    return drive(steps, send)
