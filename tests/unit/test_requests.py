from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lodestar.engine.database.requests import Request, Steps, alongside, counted
from lodestar.engine.database.templates import parse

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


def run(steps: Steps[Any]) -> tuple[Any, list[int]]:
    """The result, and the size of each group; a request is answered by its value."""
    sizes: list[int] = []
    answers: Sequence[int] | None = None
    try:
        while True:
            group = steps.send(answers)  # type: ignore[arg-type]
            sizes.append(len(group))
            answers = [r.params["value"] for r in group]
    except StopIteration as stop:
        return stop.value, sizes


def test_a_request_alongside_goes_with_the_first_group() -> None:
    assert run(alongside(summed(1, 3, 2), request(9))) == ((1 + 6 + 3, 9), [2, 3, 2])


def test_it_is_not_counted_and_not_sent_where_there_is_no_group() -> None:
    assert run(alongside(counted(summed(1, 3)), request(9))) == (((7, 4), 9), [2, 3])
    assert run(alongside(summed(), request(9))) == ((0, None), [])
