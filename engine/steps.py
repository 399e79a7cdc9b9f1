"""Steps: algorithms that yield what they want to know, and leave the waiting to whoever drives them.

A stage is written once, as a generator that yields a group of calls (database requests and prompts, sent together) and
gets their answers back: a request's decoded rows, a prompt's completion or `LLMError`. `drive` does it on a blocking
gateway, `drive_async` on an asyncio one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Sequence
from functools import partial
from typing import Any, TypeVar

from .llm.prompts import ChatUsage, Prompt, usage_of
from .neo4j.requests import Request

T = TypeVar("T")
S = TypeVar("S")

Call = Request[Any] | Prompt
Steps = Generator[Sequence[Call], Sequence[Any], T]


def drive(steps: Steps[T], send: Callable[[Sequence[Call]], Sequence[Any]]) -> T:
    """Run the steps to their end and return what they return."""
    try:
        group = next(steps)
        while True:
            group = steps.send(send(group))
    except StopIteration as stop:
        result: T = stop.value
        return result


async def drive_async(steps: Steps[T], send: Callable[[Sequence[Call]], Awaitable[Sequence[Any]]]) -> T:
    """Do the same without blocking the event loop: what the steps compute between groups runs in a thread."""
    done, group = await asyncio.to_thread(_advance, partial(next, steps))
    while not done:
        answers = await send(group)
        done, group = await asyncio.to_thread(_advance, partial(steps.send, answers))
    result: T = group
    return result


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


def counted(steps: Steps[T]) -> Steps[tuple[T, int]]:
    """Run the steps and return their result with the number of database requests they sent."""
    num_requests = 0
    try:
        group = next(steps)
        while True:
            num_requests += sum(isinstance(call, Request) for call in group)
            group = steps.send((yield group))
    except StopIteration as stop:
        return stop.value, num_requests


def charged(steps: Steps[T]) -> Steps[tuple[T, ChatUsage]]:
    """Run the steps and return their result with what their prompts cost."""
    usage = ChatUsage()
    try:
        group = next(steps)
        while True:
            answers = yield group
            for call, answer in zip(group, answers, strict=True):
                if isinstance(call, Prompt):
                    usage += usage_of(call, answer)
            group = steps.send(answers)
    except StopIteration as stop:
        return stop.value, usage


def measured(steps: Steps[T]) -> Steps[tuple[T, int, ChatUsage]]:
    """Run the steps and return their result with the number of database requests, and what their prompts cost."""
    (result, num_requests), usage = yield from charged(counted(steps))
    return result, num_requests, usage


def in_step(*many: Steps[Any]) -> Steps[list[Any]]:
    """Run several steps side by side, what they ask at the same time sent together; return their results in order."""
    results: list[Any] = [None] * len(many)
    groups: dict[int, Sequence[Call]] = {}
    answers: dict[int, Sequence[Any] | None] = dict.fromkeys(range(len(many)))
    while answers:
        groups.clear()
        for place, answer in answers.items():
            try:
                groups[place] = next(many[place]) if answer is None else many[place].send(answer)
            except StopIteration as stop:
                results[place] = stop.value
        answers.clear()
        if groups:
            said = iter((yield tuple(call for group in groups.values() for call in group)))
            answers |= {place: [next(said) for _ in group] for place, group in groups.items()}
    return results


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


def requests_in(group: Sequence[Call]) -> list[Request[Any]]:
    """Return a group that holds database requests alone; raises `TypeError` where a prompt is among them."""
    requests = [call for call in group if isinstance(call, Request)]
    if len(requests) < len(group):
        raise TypeError("these steps ask a language model: run them with a Runner, which has a chat gateway")
    return requests


def _advance(step: Callable[[], Any]) -> tuple[bool, Any]:
    """Take one step of a generator: (False, its next group), or (True, its result) at the end."""
    try:
        return False, step()
    except StopIteration as stop:
        return True, stop.value
