"""What a call's trace says of each stage, and a function over parts: in order or as they finish, its errors, `--ray`."""

from __future__ import annotations

import threading
import time

import pytest
from lodestar.engine.errors import MissingExtraError, UsageError
from lodestar.engine.llm import ChatUsage, Completion, Prompt
from lodestar.engine.neo4j.graph_requests import read_signatures
from lodestar.engine.parallel import WorkerPool

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


def test_prompts_are_charged_to_the_stage_that_waits_for_them() -> None:
    ctx = make_context(GRAPH, reply=lambda _: Completion("four"))
    with ctx.trace.stage("answer"):
        completed = ctx.complete([Prompt("a" * 40), Prompt("b" * 4)])
    assert [each.content for each in completed if isinstance(each, Completion)] == ["four", "four"]
    (cost,) = ctx.trace.costs
    assert cost.llm == ChatUsage(calls=2, prompt_tokens=11, completion_tokens=2)


@pytest.mark.parametrize("num", [0, 1, 3])
def test_results_are_in_the_order_of_the_parts(num: int) -> None:
    last_is_done = threading.Event()

    def work(part: int) -> int:
        if part == 4:
            last_is_done.set()
        elif part == 0 and num == 3:
            assert last_is_done.wait(30)
        return part * part

    assert list(WorkerPool(num).map(work, range(5))) == [0, 1, 4, 9, 16]


@pytest.mark.parametrize("num", [1, 2])
def test_an_error_ends_it_and_waiting_parts_are_left_undone(num: int) -> None:
    begun: list[int] = []

    def work(part: int) -> int:
        begun.append(part)
        raise UsageError(f"part {part}")

    with pytest.raises(UsageError, match="part 0"):
        list(WorkerPool(num).map(work, range(1_000)))
    assert len(begun) < 1_000


def test_a_missing_ray_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lodestar.engine.errors._is_installed", lambda name: name != "ray")
    with pytest.raises(MissingExtraError, match=r"--ray needs ray.* install .*\[ray\]"):
        next(WorkerPool(ray="local").map(abs, [1]))


def test_no_cluster_at_the_address_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lodestar.engine.errors._is_installed", lambda _: True)
    with pytest.raises(UsageError, match=r"^--ray 127\.0\.0\.1:1: no Ray of this version answers there: .*refused$"):
        next(WorkerPool(ray="127.0.0.1:1").map(abs, [1]))
