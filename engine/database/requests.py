"""Requests to the database, and steps: algorithms that yield requests and leave the waiting to a gateway.

A stage is written once, as a generator that yields a group of requests (sent together) and gets their decoded answers
back. `Gateway` drives it on a blocking driver, `AsyncGateway` on an asyncio one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from .templates import Template

T = TypeVar("T")
S = TypeVar("S")

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """One query to run: a template, its parameters, and how its rows become a value.

    `decode` gets the rows as tuples in the order of the template's ``returns``.
    """

    template: Template
    params: Mapping[str, Any]
    decode: Callable[[Sequence[Row]], T]
    names: Mapping[str, str] = field(default_factory=dict)


Steps = Generator[Sequence[Request[Any]], Sequence[Any], T]


def counted(steps: Steps[T]) -> Steps[tuple[T, int]]:
    """Run the steps and return their result with the number of requests they sent."""
    num_requests = 0
    try:
        group = next(steps)
        while True:
            num_requests += len(group)
            group = steps.send((yield group))
    except StopIteration as stop:
        return stop.value, num_requests


def alongside(steps: Steps[T], request: Request[S]) -> Steps[tuple[T, S | None]]:
    """Run the steps with the request sent together with their first group; its answer is None where they send none."""
    try:
        group = next(steps)
    except StopIteration as stop:
        return stop.value, None
    answers = yield (*group, request)
    answer: S = answers[-1]
    answers = answers[:-1]
    try:
        while True:
            answers = yield steps.send(answers)
    except StopIteration as stop:
        return stop.value, answer


def one(request: Request[T]) -> Steps[T]:
    """Send one request and return its decoded answer."""
    (answer,) = yield (request,)
    decoded: T = answer
    return decoded


def together(requests: Sequence[Request[T]]) -> Steps[list[T]]:
    """Send several requests at the same time and return their decoded answers, in order."""
    if not requests:
        return []
    answers = yield tuple(requests)
    return list(answers)
