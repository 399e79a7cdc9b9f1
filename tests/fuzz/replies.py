"""What a language model's endpoint may send: it is read, or `LLMError` says in one line that it is not."""

from __future__ import annotations

import asyncio
import math
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from unittest.mock import patch

from lodestar.engine.answering.reply import parse_reply
from lodestar.engine.errors import LLMError
from lodestar.engine.llm import limits as bounded
from lodestar.engine.llm.limits import BadResponseBodyError, parse_completion, unpack_body
from lodestar.engine.llm.prompts import Prompt, usage_of

PLAIN = Prompt("q")
FULL = Prompt("q", json=True, logprobs=True, max_tokens=5)
FORM = b'{"choices":[{"message":{"content":%s,"refusal":%s},"logprobs":{"content":%s},"finish_reason":%s}],"usage":%s}'
ENCODINGS = ("gzip", "deflate", "", "br")
MOST = 300
PIECE = 7


def check_replies(data: bytes, folder: Path) -> None:
    """The first byte says what the others are: a body, the values in one a line each, a content, or packed pieces."""
    kind, rest = (data[0] if data else 0) % 4, data[1:]
    try:
        match kind:
            case 0:
                check_body(rest, PLAIN)
            case 1:
                check_body(FORM % (*rest.split(b"\n"), *[b"null"] * 5)[:5], FULL)
            case 2:
                check_content(rest.decode("utf-8", "surrogatepass" if data[0] & 4 else "replace"))
            case 3:
                check_unpacked(rest[1:], ENCODINGS[rest[0] % len(ENCODINGS)] if rest else "")
    except LLMError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 300
    except UnicodeDecodeError:
        assert kind == 2


def check_body(body: bytes, prompt: Prompt) -> None:
    completion = parse_completion(body, prompt, "m", "the model")
    said = completion.content if completion.refusal is None else completion.refusal
    assert said.strip()
    said.encode()
    usage = usage_of(prompt, completion)
    assert min(usage.prompt_tokens, usage.completion_tokens) >= 0
    assert len(f"{usage.tokens:,}") < 30
    for token, logprob in completion.logprobs:
        token.encode()
        assert math.isfinite(logprob)
    check_content(completion.content)


def check_content(content: str) -> None:
    reply = parse_reply(content)
    assert "\n" not in reply.text
    for claim in reply.claims:
        assert claim.name
        assert "\n" not in claim.name
        assert claim.confidence is None or 0 <= claim.confidence <= 1


def check_unpacked(packed: bytes, encoding: str) -> None:
    """As `zlib` unpacks it in one piece, where it is at most `MOST` bytes."""

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(packed), PIECE):
            yield packed[start : start + PIECE]

    async def found() -> bytes | None:
        try:
            return await unpack_body(pieces(), encoding)
        except BadResponseBodyError:
            return None

    with patch.object(bounded, "MAX_BODY_BYTES", MOST):
        body = asyncio.run(found())
    if body is None:
        return
    assert encoding != "br"
    assert max(len(packed), len(body)) <= MOST
    assert body == (zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(packed) if encoding else packed)
