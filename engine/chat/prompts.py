"""Prompts, which a stage yields in its steps beside database requests, and what comes back for each.

A failure comes back as a value: `LLMError` in the place of the `Completion`, so that one prompt that fails costs no
question of a batch, and the stage decides what it means.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ..errors import LLMError
from ..values import TokenUsage

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a language model is asked: the text of one user message, or the messages of a conversation.

    json: the reply is to be one JSON object. logprobs: the reply is to come with the log-probability of each of its
    tokens. max_tokens: the longest reply, None for the endpoint's own limit. An endpoint that knows none of these
    replies without them. is_read: whether its asker can read a reply; one that it cannot is not kept in a cache.
    on_text: told the reply piece by piece as it comes, from the thread that speaks to the endpoint; a reply from the
    cache, or of an endpoint that does not stream, in one piece or not at all.
    """

    content: str | tuple[Message, ...]
    json: bool = False
    logprobs: bool = False
    max_tokens: int | None = None
    is_read: Callable[[str], bool] = field(default=lambda _content: True, compare=False, repr=False)
    on_text: Callable[[str], None] | None = field(default=None, compare=False, repr=False)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation that is sent."""
        return (Message("user", self.content),) if isinstance(self.content, str) else self.content


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model said: its text, or the words of its refusal in `refusal`, which is None where it did not refuse.

    logprobs: each token with its natural log-probability, empty where none were asked for or given. cached: it comes
    from the cache, and `usage` is what it took then.
    """

    content: str
    refusal: str | None = None
    usage: TokenUsage | None = None
    logprobs: tuple[tuple[str, float], ...] = ()
    model: str = ""
    cached: bool = False


Completed = Completion | LLMError


class UnusableReplyError(LLMError):
    """A reply came and cannot be used; `said` is what it holds, so that its tokens are counted."""

    def __init__(self, message: str, said: Completion) -> None:
        super().__init__(message)
        self.said = said


MAX_CHARS_PER_TOKEN = 20
"""Of a long text: an endpoint that says fewer tokens does not say what it took."""


@dataclass(frozen=True, slots=True)
class ChatUsage:
    """What prompts cost: those sent and those answered from the cache, failures among those sent, and tokens sent for.

    Where an endpoint does not say how many tokens a text took, or says fewer than it can be, four characters count as
    one.
    """

    calls: int = 0
    cached: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: ChatUsage) -> ChatUsage:
        return ChatUsage(
            self.calls + other.calls,
            self.cached + other.cached,
            self.failed + other.failed,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )

    @property
    def tokens(self) -> int:
        """Tokens of prompts and completions."""
        return self.prompt_tokens + self.completion_tokens


def usage_of(prompt: Prompt, completed: Completed) -> ChatUsage:
    """Return what one prompt cost, as its outcome says; that of a failure is a call."""
    if isinstance(completed, UnusableReplyError):
        return replace(usage_of(prompt, completed.said), failed=1)
    if isinstance(completed, LLMError):
        return ChatUsage(calls=1, failed=1)
    if completed.cached:
        return ChatUsage(cached=1)
    said = completed.usage or TokenUsage(0, 0)
    return ChatUsage(
        calls=1,
        prompt_tokens=_num_tokens(said.prompt, *(message.content for message in prompt.messages)),
        completion_tokens=_num_tokens(said.completion, completed.content, completed.refusal or ""),
    )


def prompted(prompts: Sequence[Prompt]) -> Generator[Sequence[Prompt], Sequence[Completed], list[Completed]]:
    """Send prompts at the same time and return what came of each, in order: `steps.Steps`, of prompts alone."""
    if not prompts:
        return []
    completed = yield tuple(prompts)
    return list(completed)


def _num_tokens(said: int, *texts: str) -> int:
    """Return the tokens of texts: as many as an endpoint says, or an estimate where it says too few."""
    if said * MAX_CHARS_PER_TOKEN >= sum(map(len, texts)):
        return said
    return sum(-(-len(text) // 4) for text in texts)
