"""Questions with given topics through a retriever alone, and the chains of what an engine found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lodestar.engine.evidence.chain import Chain
from lodestar.engine.evidence.evidence import Evidence, Item
from lodestar.engine.linking.topics import look_up_topics
from lodestar.engine.stages import Retriever
from lodestar.engine.steps import Steps
from lodestar.engine.values import Question


def searched(retriever: Retriever, questions: Sequence[Question], top_k: int) -> Steps[list[Evidence[Any]]]:
    """Look the topics of the questions up, and return the best `top_k` items of each."""
    linked = yield from look_up_topics(questions, [()] * len(questions))
    found = yield from retriever.retrieve(linked, top_k)
    return [each.cut_to(top_k) for each in found]


def chains(evidence: Evidence[Item]) -> list[Chain]:
    """The items of evidence, which are chains all of them."""
    found = [each.value for each in evidence.items if isinstance(each.value, Chain)]
    assert len(found) == len(evidence.items)
    return found
