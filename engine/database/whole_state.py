"""The state of a graph with whether what is unfinished in it is being worked on."""

from __future__ import annotations

from dataclasses import replace

from ..steps import Steps, one
from .catalogue import GraphState, read_graph_state
from .requests import Request
from .templates import template


def whole_state() -> Steps[GraphState]:
    """Return what the graph holds and lacks; one round trip, and one more where a load or a deletion is unfinished."""
    state = yield from one(read_graph_state())
    if not state.unfinished_loads and not state.deleting_loads:
        return state
    return replace(state, under_way=(yield from one(read_under_way())))


def read_under_way() -> Request[bool]:
    """Whether a load or a deletion of this user's is under way, by the lock that it holds."""
    return Request(template("count_lock_holders"), {}, lambda rows: bool(rows and rows[0][0]))
