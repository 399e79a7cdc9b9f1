"""Relation paths hop by hop, as mining walks them, and as a mined file writes them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from ....models.star.mined import THROUGH
from ...values import Step

WalkedHop = tuple[Step, ...]
"""From one named entity to the next: one step, or the steps into unnamed mediators and the one out of them. That a step
leads to a mediator is said by its place in the hop alone."""

WalkedPath = tuple[WalkedHop, ...]

HopTrie = dict[WalkedHop, "HopTrie"]
"""The relation paths that leave a topic: each hop with the hops that can follow it."""


def steps_of(hops: WalkedPath) -> tuple[Step, ...]:
    """Return all steps of a path."""
    return tuple(chain.from_iterable(hops))


def written_hop(hop: WalkedHop) -> str:
    """Return a hop as a mined file has it."""
    return THROUGH.join(map(str, hop))


def written_trie(trie: HopTrie) -> Mapping[str, Any]:
    """Return a trie as a mined file has it."""
    return {written_hop(hop): written_trie(following) for hop, following in trie.items()}
