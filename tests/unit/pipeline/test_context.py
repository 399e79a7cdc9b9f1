"""What a call's trace says: each stage without those inside it, round trips, tokens, and events as they happen."""

from __future__ import annotations

import time

import pytest
from lodestar.engine.llm import ChatUsage, Completion, Prompt
from lodestar.engine.neo4j.graph import read_signatures

from tests.fakes.call_context import make_context
from tests.fakes.memory_graph import MemoryGraph

GRAPH = MemoryGraph([("Peru", "capital", "Lima")])


def test_a_stage_is_charged_without_what_the_stages_in_it_took() -> None:
    ctx = make_context(GRAPH)
    with ctx.trace.stage("outer"):
        ctx.db.run(read_signatures(["Peru"]))
        with ctx.trace.stage("inner"):
            time.sleep(0.02)
            ctx.db.run_all([read_signatures(["Peru"]), read_signatures(["Lima"])])
        with ctx.trace.stage("inner"):
            ctx.db.run(read_signatures(["Lima"]))
    ctx.db.run(read_signatures(["Lima"]))  # of no stage
    outer, inner = ctx.trace.costs
    assert [(cost.stage, cost.round_trips) for cost in (outer, inner)] == [("outer", 1), ("inner", 3)]
    assert inner.seconds >= 0.02 > outer.seconds


def test_a_failed_stage_ends() -> None:
    ctx = make_context(GRAPH)
    with pytest.raises(ValueError, match="no"), ctx.trace.stage("a"):
        raise ValueError("no")
    with ctx.trace.stage("b"):
        ctx.db.run(read_signatures(["Peru"]))
    assert [(cost.stage, cost.round_trips) for cost in ctx.trace.costs] == [("a", 0), ("b", 1)]


def test_prompts_are_charged_to_the_stage_that_waits_for_them() -> None:
    ctx = make_context(GRAPH, reply=lambda _: Completion("four"))
    with ctx.trace.stage("answer"):
        completed = ctx.llm.complete([Prompt("a" * 40), Prompt("b" * 4)])
    assert [each.content for each in completed if isinstance(each, Completion)] == ["four", "four"]
    (cost,) = ctx.trace.costs
    assert cost.llm == ChatUsage(calls=2, prompt_tokens=11, completion_tokens=2)
