from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from lodestar.engine.errors import LLMError
from lodestar.engine.llm.prompts import ChatUsage, Completion, Prompt, send_prompts
from lodestar.engine.neo4j.templates import Request, parse
from lodestar.engine.steps import (
    Call,
    StageCost,
    Steps,
    check_database_requests,
    gather_steps,
    measure_costs,
    run_stage,
    run_steps,
    run_steps_async,
    send_one,
)
from lodestar.engine.values import TokenUsage

TEMPLATE = parse(
    "x", "// X.\n// mode:    read\n// params:\n// returns: x :: INTEGER\n// needs:   nothing\nRETURN 1 AS x"
)


def request(value: int) -> Request[int]:
    return Request(TEMPLATE, {"value": value}, lambda rows: int(rows[0][0]))


def summed(*groups: int) -> Steps[int]:
    """Send groups of these sizes, and return the sum of what came back."""
    total = 0
    for size in groups:
        total += sum((yield tuple(request(i + 1) for i in range(size))))
    return total


ANSWER = Completion("four", usage=TokenUsage(7, 2))
CACHED = Completion("four", usage=TokenUsage(7, 2), cached=True)


def mixed() -> Steps[list[Any]]:
    """Two requests and two prompts in one group, then a prompt alone."""
    first = yield (request(1), Prompt("a"), request(2), Prompt("b"))
    return [*first, *(yield from send_prompts([Prompt("c")]))]


def run(steps: Steps[Any]) -> tuple[Any, list[int]]:
    """The result, and the size of each group; a request is answered by its value."""
    sizes: list[int] = []

    def send(group: Sequence[Call]) -> list[int]:
        sizes.append(len(group))
        return Values().send(check_database_requests(group))

    return run_steps(steps, send), sizes


class Values:
    """A database that answers a request with its value."""

    def send(self, requests: Sequence[Request[Any]]) -> list[Any]:
        return [request.params["value"] for request in requests]


def test_a_stage_is_charged_without_what_the_stages_in_it_took() -> None:
    def outer() -> Steps[int]:
        first = yield from send_one(request(1))
        left, right = yield from gather_steps(run_stage("left", summed(2, 1)), run_stage("right", summed(1)))
        total: int = first + left + right
        return total

    (total, costs), sizes = run(measure_costs(run_stage("outer", outer())))
    assert (total, sizes) == (1 + 4 + 1, [1, 3, 1])
    assert [(cost.stage, cost.round_trips) for cost in costs] == [("outer", 1), ("left", 3), ("right", 1)]
    (_, costs), _ = run(measure_costs(run_stage("outer", outer(), is_whole=True)))
    assert [(cost.stage, cost.round_trips) for cost in costs] == [("outer", 5)]
    assert costs[0] + costs[0] == StageCost("outer", 2 * costs[0].seconds, 10)


def test_an_error_of_a_stage_comes_where_it_was_run_and_ends_what_ran_beside_it() -> None:
    ended: list[str] = []

    def beside() -> Steps[None]:
        try:
            yield (request(1),)
        finally:
            ended.append("beside")

    def broken() -> Steps[None]:
        yield (request(2),)
        raise ValueError("broken")

    def outer() -> Steps[int]:
        try:
            yield from gather_steps(beside_long(), run_stage("broken", broken()))
        except ValueError:
            return (yield from summed(3))
        return 0

    def beside_long() -> Steps[None]:
        yield from run_stage("inner", beside())
        yield from run_stage("inner", beside())
        yield from run_stage("inner", beside())

    assert run(outer()) == (6, [2, 3])
    assert ended in (["beside"], ["beside", "beside"])
    with pytest.raises(ValueError, match="broken"):
        run(run_stage("outer", run_stage("broken", broken())))


def test_prompts_are_charged_and_not_counted() -> None:
    def send(group: Sequence[Call]) -> list[Any]:
        said: dict[Any, Completion | LLMError] = {"a": ANSWER, "b": CACHED, "c": LLMError("down")}
        return [said[call.content] if isinstance(call, Prompt) else call.params["value"] for call in group]

    answers, (cost,) = run_steps(measure_costs(run_stage("mixed", mixed())), send)
    assert answers[:4] == [1, ANSWER, 2, CACHED]
    assert cost.round_trips == 2
    assert cost.llm == ChatUsage(calls=2, cached=1, failed=1, prompt_tokens=7, completion_tokens=2)


def test_what_steps_compute_does_not_block_the_event_loop() -> None:
    threads: list[int] = []

    def noting() -> Steps[int]:
        threads.append(threading.get_ident())
        (value,) = yield (request(3),)
        threads.append(threading.get_ident())
        return int(value)

    async def send(group: Sequence[Call]) -> list[Any]:
        return Values().send(check_database_requests(group))

    assert asyncio.run(run_steps_async(noting(), send)) == 3
    assert threading.get_ident() not in threads
