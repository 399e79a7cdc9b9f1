"""Questions with given topics through a retriever alone, and the chains of what an engine found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lodestar.engine.evidence import Evidence, Item
from lodestar.engine.linking import look_up_topics
from lodestar.engine.values import Chain, Question

from tests.fakes.call_context import make_context


def searched(db: Any, retriever: Any, questions: Sequence[Question], top_k: int) -> list[Evidence[Any]]:
    """Look the topics of the questions up, and return the best `top_k` items of each."""
    ctx = make_context(db)
    linked = look_up_topics(ctx.db, questions, [()] * len(questions))
    return [each.cut_to(top_k) for each in retriever(ctx, linked, top_k)]


def chains(evidence: Evidence[Item]) -> list[Chain]:
    """The items of evidence, which are chains all of them."""
    found = [each.value for each in evidence.items if isinstance(each.value, Chain)]
    assert len(found) == len(evidence.items)
    return found
