"""Chains of the parts of a question: what they lead to, and which of them agree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ...models.forms.plan import is_number_or_date
from ...models.wording import singular
from ...models.wording.kinds import value_kind
from ..evidence import Evidence
from ..values import Chain, Scored

MAX_COMBINATIONS = 20
"""Combinations that are carried on from part to part."""
SAMPLED = 3
"""Ends of a chain that stand for all of them."""

Weighted = tuple[Scored[Chain], float]
"""A chain of a part, with the logarithm of its probability; where nobody knows that, with its score."""
_Combination = tuple[float, frozenset[str] | None, list[Scored[Chain]]]


def choose_agreeing_chains(parts: Sequence[Sequence[Weighted]]) -> list[Scored[Chain]] | None:
    """Return one chain per part so that all share an end, with the highest joint probability; None if there are none.
    Only the ends that a chain lists are compared."""
    best: list[_Combination] = [(0.0, None, [])]
    for chains in parts:
        longer: list[_Combination] = []
        for weight, shared, chosen in best:
            for item, likely in chains:
                ends = frozenset(end.id for end in item.value.answers)
                common = ends if shared is None else shared & ends
                if common:
                    longer.append((weight + likely, common, [*chosen, item]))
        best = sorted(longer, key=lambda each: -each[0])[:MAX_COMBINATIONS]
    return best[0][2] if best else None


def leads_to_named_kind(evidence: Evidence[Chain], chain: Chain) -> bool:
    """Return whether a part asks for things of a kind that is an entity of the graph, and the chain leads to them:
    "Which tankers …?" asks for what has the type "tanker"."""
    if len(chain.steps) != 1 or not chain.steps[0].step.inverse or len({t.mention for t in evidence.topics}) != 1:
        return False
    words = [singular(word) for word in re.findall(r"\w+", evidence.question.text.lower())]
    name = [singular(word) for word in re.findall(r"\w+", chain.topic.label.lower())]
    return words[:1] == ["which"] and words[1 : 1 + len(name)] == name


def begins_with(chain: Chain, beginning: Chain) -> bool:
    """Return whether the first steps of a chain are those of another one."""
    return tuple(step.step for step in chain.steps[: len(beginning.steps)]) == tuple(s.step for s in beginning.steps)


def take_back_last_hop(part: Scored[Chain], value: Scored[Chain]) -> tuple[Scored[Chain], Scored[Chain]]:
    """Return a part's chain and the path to values from its ends, without the hop by which the path goes straight back
    over the chain's last one: "the longest of the ships built in X" are ships with a length, not types of ships whose
    ships have one.
    """
    chain, path = part.value, value.value
    last, first = chain.steps[-1].step, path.steps[0].step
    is_back = first.reverses(last)
    if len(chain.steps) < 2 or len(path.steps) != 2 or not is_back:
        return part, value
    ends = tuple(dict.fromkeys(target for _, target in chain.steps[-2].links))
    start = path.steps[1].links[0][0]
    links = tuple(link for link in path.steps[1].links if link[0] == start)
    shorter = replace(chain, steps=chain.steps[:-1], ends=ends, targets=())
    rest = Chain(start, (replace(path.steps[1], links=links),), tuple(dict.fromkeys(target for _, target in links)))
    return replace(part, value=shorter), replace(value, value=rest)


def leads_to_values(chain: Chain) -> bool:
    """Return whether the ends are numbers or dates."""
    return all(is_number_or_date(end.label) for end in chain.answers[:SAMPLED])


def leads_to_number(chain: Chain) -> bool:
    """Return whether the ends are numbers or years, which may be what a question asks how many for."""
    return bool(chain.answers) and all(value_kind(end.label) in ("number", "year") for end in chain.answers[:SAMPLED])
