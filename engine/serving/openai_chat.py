"""Answer chat completions in OpenAI's format, so that chat front ends can use Lodestar.

A recipe is a model. The user's last message is the question; earlier messages are not read. The reply has the answer
and its evidence in lines; its field `lodestar` has the answer as in `/v1/ask`.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Hashable
from typing import Any

from pydantic_core import to_json
from starlette.responses import StreamingResponse

from ..errors import UsageError
from ..evidence.evidence import Answer, answer_data, answer_text
from ..values import Question
from .schemas import ChatForm
from .service import Service, Variant, keep

DEFAULT_MODEL = "lodestar"
_PIECE_CHARS = 24


def list_models(service: Service) -> dict[str, Any]:
    """Return the recipes as a list of models; `lodestar` is the default one."""
    names = [DEFAULT_MODEL, *service.recipes]
    return {
        "object": "list",
        "data": [{"id": n, "object": "model", "created": 0, "owned_by": "lodestar"} for n in names],
    }


async def complete_chat(service: Service, body: ChatForm, client: Hashable) -> bytes:
    """Return a chat completion as JSON."""
    question, variant = _read_request(service, body)

    def write(answer: Answer) -> bytes:
        message = {"role": "assistant", "content": answer_text(answer)}
        return to_json(
            {
                **_make_head(body, "chat.completion"),
                "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
                "usage": _make_usage(answer),
                "lodestar": answer_data(answer),
            }
        )

    (reply,) = await service.ask([question], variant, write, client=client)
    return reply


async def stream_chat(service: Service, body: ChatForm, client: Hashable) -> StreamingResponse:
    """Return the chat completion as chunks; the first comes with the answer, so that a failure has its own status."""
    question, variant = _read_request(service, body)
    (answer,) = await service.ask([question], variant, keep, client=client)
    head = _make_head(body, "chat.completion.chunk")
    content = answer_text(answer)

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return b"data: " + to_json({**head, "choices": [choice]}) + b"\n\n"

    async def chunks() -> AsyncIterator[bytes]:
        yield chunk({"role": "assistant", "content": ""})
        for start in range(0, len(content), _PIECE_CHARS):
            yield chunk({"content": content[start : start + _PIECE_CHARS]})
        yield chunk({}, "stop")
        if (body.stream_options or {}).get("include_usage"):
            yield b"data: " + to_json({**head, "choices": [], "usage": _make_usage(answer)}) + b"\n\n"
        yield b"data: [DONE]\n\n"

    return StreamingResponse(chunks(), media_type="text/event-stream", headers={"cache-control": "no-store"})


def _read_request(service: Service, body: ChatForm) -> tuple[Question, Variant]:
    said = [message for message in body.messages if message.role == "user"]
    if not said:
        raise UsageError("messages: expected one with the role user, found none")
    content = said[-1].content
    if isinstance(content, list):
        content = "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")
    if not content or not content.strip():
        raise UsageError("messages: expected a question in the last message of the user, found no text")
    recipe = None if body.model == DEFAULT_MODEL else body.model
    return Question(content.strip()), service.variant(recipe)


def _make_head(body: ChatForm, kind: str) -> dict[str, Any]:
    id_ = f"chatcmpl-{uuid.uuid4().hex}"
    return {"id": id_, "object": kind, "created": int(time.time()), "model": body.model}


def _make_usage(answer: Answer) -> dict[str, int]:
    """Return the language model's token counts; 0 if none was asked."""
    prompt, completion = (answer.usage.prompt, answer.usage.completion) if answer.usage else (0, 0)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
