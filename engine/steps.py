"""Drive functions that yield database requests and prompts, as long as there are such functions.

A generator yields a group of calls, which are sent together, and gets their answers back.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias, TypeVar

from .llm.prompts import Prompt
from .neo4j.templates import Request

T = TypeVar("T")

Call = Request[Any] | Prompt
Steps: TypeAlias = Generator[Sequence[Call], Any, T]


def run_steps(steps: Steps[T], send: Callable[[Sequence[Call]], Sequence[Any]]) -> T:
    """Run the steps to their end and return what they return."""
    try:
        group = next(steps)
        while True:
            group = steps.send(send(group))
    except StopIteration as stop:
        result: T = stop.value
        return result


def send_one(request: Request[T]) -> Steps[T]:
    """Send one request and return its decoded answer."""
    (answer,) = yield (request,)
    decoded: T = answer
    return decoded


def send_all(requests: Sequence[Request[T]]) -> Steps[list[T]]:
    """Send several requests at the same time and return their decoded answers, in order."""
    if not requests:
        return []
    answers = yield tuple(requests)
    return list(answers)


def check_database_requests(group: Sequence[Call]) -> list[Request[Any]]:
    """Return a group that holds database requests alone; raises `TypeError` where a prompt is among them."""
    requests = [call for call in group if isinstance(call, Request)]
    if len(requests) < len(group):
        raise TypeError("these steps ask a language model, which a gateway does not")
    return requests
