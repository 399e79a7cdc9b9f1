"""GraphRAG-FI's filtering as a stage: a coarse filter, then a language model that says which items are useful."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from ...models.graphrag_fi.priorities import Priorities, coarse_filtered, prioritised
from ..chat.prompts import Completed, prompted
from ..errors import LLMError
from ..evidence.evidence import Cost, Evidence, Item, Kind
from ..evidence.text import one_line
from ..steps import Steps
from .relevance import Relevance, texts_of
from .useful import useful_numbers, useful_prompt


class Filtering:
    """A `Reorganiser` of either kind: the `coarse` most relevant items, in two groups, the useful ones first.

    GraphRAG-FI, section 4.1. The most relevant items come first, within each group, so that a later cut takes the
    others and the second group goes before the first. All items keep their scores. All questions of a batch are asked
    about together. Where the language model fails for a question, or says nothing that can be read, its items are one
    group, and the evidence says so: nothing is lost. is_fine: whether a language model is asked at all. share: the
    largest part of the items that is kept. second: keep the group of what is not called useful. reorder: put items in
    the order of the filter; else, without a language model, they keep theirs. note: what the evidence says of a filter
    that is not there.
    """

    takes: Kind | None = None
    gives: Kind | None = None

    def __init__(
        self,
        relevance: Relevance,
        *,
        coarse: int,
        is_fine: bool,
        share: float = 1.0,
        second: bool = True,
        reorder: bool = True,
        note: str = "",
    ) -> None:
        self._relevance = relevance
        self._second = second
        self._reorder = reorder
        self._share = share
        self._note = note
        self._coarse = coarse
        self._is_fine = is_fine

    def reorganise(self, evidence: Sequence[Evidence[Item]]) -> Steps[list[Evidence[Item]]]:
        """Return the evidence filtered and grouped."""
        started_s = time.perf_counter()
        coarse = [
            coarse_filtered(self._relevance.of(each), min(self._coarse, math.ceil(len(each.items) * self._share)))
            for each in evidence
        ]
        cost = Cost(f"filter {self._relevance.name}", time.perf_counter() - started_s)
        if not self._is_fine:
            taken = [
                _taken(each, kept if self._reorder else sorted(kept)).charged([cost])
                for each, kept in zip(evidence, coarse, strict=True)
            ]
            return [replace(each, left_out=(*each.left_out, self._note)) if self._note else each for each in taken]
        asked = [number for number, kept in enumerate(coarse) if kept]
        prompts = [
            useful_prompt(
                one_line(evidence[n].question.text, 10_000), texts_of([evidence[n].items[i] for i in coarse[n]])
            )
            for n in asked
        ]
        replies: dict[int, Completed] = dict(zip(asked, (yield from prompted(prompts)), strict=True))
        filtered = [
            _grouped(each, kept, replies[number], second=self._second) if number in replies else _taken(each, kept)
            for number, (each, kept) in enumerate(zip(evidence, coarse, strict=True))
        ]
        return [each.charged([cost]) for each in filtered]


def _grouped(evidence: Evidence[Item], coarse: tuple[int, ...], reply: Completed, *, second: bool) -> Evidence[Item]:
    """Return the evidence in two groups as the reply says, or in one, which says why."""
    if isinstance(reply, LLMError):
        return _unsorted(evidence, coarse, one_line(str(reply)))
    if reply.refusal is not None:
        return _unsorted(evidence, coarse, "the language model refused")
    numbers = useful_numbers(reply.content, len(coarse))
    if numbers is None:
        return _unsorted(evidence, coarse, f"expected numbers, the language model said {one_line(reply.content, 80)!r}")
    groups: Priorities = prioritised(coarse, {coarse[number - 1] for number in numbers})
    additional = groups.additional if second or not groups.high else ()
    taken = _taken(evidence, (*groups.high, *additional))
    return replace(taken, groups=(0,) * len(groups.high) + (1,) * len(additional))


def _unsorted(evidence: Evidence[Item], coarse: tuple[int, ...], why: str) -> Evidence[Item]:
    taken = _taken(evidence, coarse)
    return replace(taken, left_out=(*taken.left_out, f"the filter's groups: {why}"))


def _taken(evidence: Evidence[Item], places: Sequence[int]) -> Evidence[Item]:
    groups = tuple(evidence.groups[place] for place in places) if evidence.groups else ()
    return replace(evidence, items=tuple(evidence.items[place] for place in places), groups=groups)
