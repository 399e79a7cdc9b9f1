"""Run steps that ask both a database and a language model; the calls of a group are sent together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from .errors import LLMError
from .llm.prompts import Completed, Prompt
from .neo4j.templates import Request
from .steps import Call, Steps, drive, drive_async

if TYPE_CHECKING:
    from .llm.gateway import ChatGateway

T = TypeVar("T")

Chat: TypeAlias = "ChatGateway | Callable[[], ChatGateway | None] | None"


class Database(Protocol):
    """What sends database requests: `Gateway`."""

    def send(self, requests: Sequence[Request[Any]]) -> list[Any]:
        """Return the decoded answers, in order."""
        ...


class AsyncDatabase(Protocol):
    """The same for asyncio: `AsyncGateway`."""

    def send(self, requests: Sequence[Request[Any]]) -> Awaitable[list[Any]]:
        """Return the decoded answers, in order."""
        ...


class Runner:
    """Drives steps on a blocking database gateway and a chat gateway; without one every prompt is an `LLMError`.

    chat: the gateway, or what returns it once there is a prompt to send.
    """

    def __init__(self, database: Database, chat: Chat = None) -> None:
        self._database = database
        self._chat = chat

    def run(self, steps: Steps[T]) -> T:
        """Drive the steps to their end and return what they return."""
        return drive(steps, self._send)

    def _send(self, group: Sequence[Call]) -> list[Any]:
        requests, prompts = _by_kind(group)
        if not prompts:
            return self._database.send(requests)
        chat = _open_chat(self._chat)
        if chat is None:
            return _in_order(group, self._database.send(requests), _fail_unconfigured(prompts))
        completing = chat.submit(prompts)
        try:
            answers = self._database.send(requests)
            return _in_order(group, answers, completing.result())
        except BaseException:
            completing.cancel()
            raise


class AsyncRunner:
    """The same for asyncio."""

    def __init__(self, database: AsyncDatabase, chat: Chat = None) -> None:
        self._database = database
        self._chat = chat

    async def run(self, steps: Steps[T]) -> T:
        """Drive the steps to their end and return what they return."""
        return await drive_async(steps, self._send)

    async def _send(self, group: Sequence[Call]) -> list[Any]:
        requests, prompts = _by_kind(group)
        if not prompts:
            return await self._database.send(requests)
        chat = _open_chat(self._chat)
        if chat is None:
            return _in_order(group, await self._database.send(requests), _fail_unconfigured(prompts))
        completing = asyncio.ensure_future(chat.acomplete(prompts))
        try:
            answers = await self._database.send(requests)
            return _in_order(group, answers, await completing)
        except BaseException:
            completing.cancel()
            raise


def _open_chat(chat: Chat) -> ChatGateway | None:
    return chat() if callable(chat) else chat


def _by_kind(group: Sequence[Call]) -> tuple[list[Request[Any]], list[Prompt]]:
    requests = [call for call in group if isinstance(call, Request)]
    return requests, [call for call in group if isinstance(call, Prompt)]


def _in_order(group: Sequence[Call], answers: Sequence[Any], completed: Sequence[Completed]) -> list[Any]:
    """Return what came of each call of the group, in its order."""
    answered, said = iter(answers), iter(completed)
    return [next(said) if isinstance(call, Prompt) else next(answered) for call in group]


def _fail_unconfigured(prompts: Sequence[Prompt]) -> list[Completed]:
    return [
        LLMError(
            "no language model is configured: set LODESTAR_LLM_MODEL, or llm_model in lodestar.toml, and "
            "LODESTAR_LLM_BASE_URL for a server of your own"
        )
        for _ in prompts
    ]
