"""Define prompts and their outcomes; put data into prompts, and read what models reply.

A failure is returned as a value: `LLMError` instead of `Completion`. So one failed prompt does not fail the other
questions of a batch, and the stage decides what it means.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from hashlib import sha256
from typing import Any, Literal

from ..errors import LLMError

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Token counts reported by a language model, of the prompt and of the completion."""

    prompt: int
    completion: int


@dataclass(frozen=True, slots=True)
class ChatUsage:
    """The cost of prompts: calls sent, answers from the cache, failed calls, and tokens.

    If an endpoint reports no token count or an impossibly low one, four characters count as one token.
    """

    calls: int = 0
    cached: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: ChatUsage) -> ChatUsage:
        return ChatUsage(*map(operator.add, astuple(self), astuple(other)))

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """The text of one user message, or the messages of a conversation, with options.

    json: request a JSON object; schema: of this JSON schema, of which an endpoint without schemas knows nothing.
    logprobs: request the log-probability of each token. max_tokens: longest reply, None for the endpoint's own
    limit. An endpoint that does not know an option replies without it. is_read: whether the caller can parse a
    reply; other replies are not cached.
    """

    content: str | tuple[Message, ...]
    json: bool = False
    schema: Mapping[str, Any] | None = field(default=None, hash=False)
    logprobs: bool = False
    max_tokens: int | None = None
    is_read: Callable[[str], bool] = field(default=lambda _content: True, compare=False, repr=False)

    @property
    def messages(self) -> tuple[Message, ...]:
        return (Message("user", self.content),) if isinstance(self.content, str) else self.content


@dataclass(frozen=True, slots=True)
class Completion:
    """The model's reply: its text, or the words of its refusal in `refusal`, which is None if it did not refuse.

    logprobs: each token with its natural log-probability, empty if not requested or not given. cached: whether it comes
    from the cache; `usage` is then that of the original call.
    """

    content: str
    refusal: str | None = None
    usage: TokenUsage | None = None
    logprobs: tuple[tuple[str, float], ...] = ()
    model: str = ""
    cached: bool = False


Completed = Completion | LLMError


class UnusableReplyError(LLMError):
    """A reply that cannot be used; `said` is its content, so that its tokens are counted."""

    def __init__(self, message: str, said: Completion) -> None:
        super().__init__(message)
        self.said = said


MAX_LISTED_CHARS = 200
"""Of a text in a list that a schema asks for, as long as a name in the evidence: it ends a name that repeats itself."""


def make_list_schema(most: int, *names: str, choices: Sequence[str] = (), least: int = 0) -> dict[str, Any]:
    """Return the JSON schema of an object with a list of at least and at most so many texts under each name, if there
    are choices of these, else of at most `MAX_LISTED_CHARS` characters."""
    items = {"type": "string"} | ({"enum": list(choices)} if choices else {"maxLength": MAX_LISTED_CHARS})
    each: dict[str, Any] = {"type": "array", "items": items, "maxItems": most} | ({"minItems": least} if least else {})
    return {
        "type": "object",
        "properties": dict.fromkeys(names, each),
        "required": list(names),
        "additionalProperties": False,
    }


_JSON_START = re.compile(r"[{\[]")


def drop_truncated_line(content: str) -> str:
    """Return a reply that was cut off without its last line, which may end in the middle of a name.

    JSON stays as it is, since what is whole in it can be told.
    """
    return content if _JSON_START.search(content) else content.rpartition("\n")[0]


class PromptTooLongError(LLMError):
    """The prompt is longer than the model's context, so that a shorter one may do."""


MAX_CHARS_PER_TOKEN = 20
"""Of a long text; an endpoint that reports fewer tokens reports a wrong count."""


def compute_call_usage(prompt: Prompt, completed: Completed) -> ChatUsage:
    """Return the cost of one prompt from its outcome; a failure costs one call."""
    if isinstance(completed, UnusableReplyError):
        return replace(compute_call_usage(prompt, completed.said), failed=1)
    if isinstance(completed, LLMError):
        return ChatUsage(calls=1, failed=1)
    if completed.cached:
        return ChatUsage(cached=1)
    tokens = completed.usage or TokenUsage(0, 0)
    return ChatUsage(
        calls=1,
        prompt_tokens=_num_tokens(tokens.prompt, *(message.content for message in prompt.messages)),
        completion_tokens=_num_tokens(tokens.completion, completed.content, completed.refusal or ""),
    )


MAX_REPLY_TOKENS = 400
"""Of a short reply with its reasons; a small model may write one number after the other without end."""
BYTES_PER_TOKEN = 3
"""Fewer than of English (about 4), so that an estimate is rather too high."""


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text has for most models, in any script: its bytes in UTF-8 over three."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def _num_tokens(reported: int, *texts: str) -> int:
    if reported * MAX_CHARS_PER_TOKEN >= sum(map(len, texts)):
        return reported
    return sum(-(-len(text) // 4) for text in texts)


def make_cache_key(address: str, model: str, prompt: Prompt, options: dict[str, Any]) -> str:
    """Return the cache key of a call: equal for equal content, and nothing can be read from it."""
    messages = [[message.role, message.content] for message in prompt.messages]
    return sha256(json.dumps([address, model, messages, options], sort_keys=True).encode()).hexdigest()


MAX_STARTS = 1_000
"""Braces of a reply at which an object is looked for, the first ones."""
_THOUGHTS = re.compile(
    r"(?is)\s*<(think|thinking|thoughts?|reasoning)>.*?(?:</\1>|\Z)|(?!\s*[\[{\"`]).*?</think(?:ing)?>"
)
"""What a model thinks before its reply; some servers leave out how that begins."""


def fill_placeholders(template: str, *, question: str, evidence: str) -> str:
    """Return the template with its two placeholders filled; all other braces stay as they are.

    Tags <question> and <evidence> inside the data are escaped, so that data cannot end its section, and so are the
    marks of turns in chat templates, which many servers read as such inside a message, too.
    """
    values = {"question": escape_prompt_text(question), "evidence": escape_prompt_text(evidence)}
    return re.sub(r"\{(question|evidence)\}", lambda match: values[match[1]], template)


_ENDS_SECTION = re.compile(
    r"<(?=\s*/?\s*(?:evidence|question)\b|[|｜]|/?s>|(?:start|end)_of_turn>)|\[(?=/?INST\])", re.IGNORECASE
)
_HARMLESS = {"<": "‹", "[": "［"}


def escape_prompt_text(text: str) -> str:
    """Return external text, escaped so that it can end neither its section of the template nor its turn of a chat."""
    encodable = text.encode("utf-8", "replace").decode("utf-8")
    return _ENDS_SECTION.sub(lambda match: _HARMLESS[match[0]], encodable)


def find_end_of_reasoning(content: str) -> int:
    thoughts = _THOUGHTS.match(content)
    return thoughts.end() if thoughts else 0


def find_json_objects(content: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects in a text; at most `MAX_STARTS` braces are tried."""
    decoder = json.JSONDecoder()
    start = content.find("{")
    for _ in range(MAX_STARTS):
        if start < 0:
            return
        try:
            value, end = decoder.raw_decode(content, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield value
        start = content.find("{", end)


_KEYS = {"chains", "chain", "numbers", "selected", "chosen", "answer", "answers"}
_NUMBERS = re.compile(r"(?<![\w.-])(\d{1,6})(?:\s*(?:-|–|\bto\b)\s*(\d{1,6}))?(?![\w]|\.\d|-\w)")
_NONE = re.compile(r"\b(none|no|nothing|empty)\b|\[\s*\]", re.IGNORECASE)


def parse_numbers(reply: str, count: int, *, in_list: bool = False) -> frozenset[int] | None:
    """Return the numbers from 1 to `count` that a reply names; None where it says nothing of the kind.

    Expected is ``{"chains": [1, 3]}`` or ``1, 4, 7``: numbers stand in an object under one of several keys, else in a
    bare list, else anywhere, but for `in_list`; of several objects or lists the last counts. Numbers as text, a single
    number, ranges (``2-5``) and words around are read as well. A reply without a number, but with a word such as
    "none", names none.
    """
    content = reply[find_end_of_reasoning(reply) :]
    found = [value[key] for value in find_json_objects(content) for key in _KEYS & value.keys()]
    lists = re.findall(r"\[[^\[\]]*\]", content)
    if found:
        content = json.dumps(found[-1])
    elif lists or in_list:
        content = lists[-1] if lists else ""
    numbers: set[int] = set()
    named = _NUMBERS.findall(content)
    for first, last in named:
        numbers.update(range(max(int(first), 1), min(int(last or first), count) + 1))
    return frozenset(numbers) if named or _NONE.search(content) else None
