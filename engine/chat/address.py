"""Where a language model is, as far as it may be shown, and the key for it."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from ..errors import LLMError

SET_KEY = "set LODESTAR_LLM_API_KEY or OPENAI_API_KEY in the environment"
NO_KEY = "no-key"
"""Sent to servers that want none: the client insists on a key."""


def place(base_url: str) -> str:
    """Return host and port, the part of an address that is no secret."""
    try:
        parts = urlsplit(base_url)
        scheme, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError:
        scheme, host, port = "", None, None
    if not host or scheme not in {"http", "https"}:
        raise LLMError(
            "the language model's address (LODESTAR_LLM_BASE_URL): expected http://… or https://… with a host"
        )
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{port}" if port else shown


def checked_key(api_key: str, where: str) -> str:
    """Return the key to send; raises `LLMError` where one is needed or this one cannot be sent."""
    key = api_key.strip()
    if not key:
        if where.partition(":")[0].endswith("openai.com"):
            raise LLMError(
                f"no key for the language model at {where}: {SET_KEY}, or LODESTAR_LLM_BASE_URL for your own server"
            )
        return NO_KEY
    if not re.fullmatch(r"[!-~]+", key):
        raise LLMError(f"the key for the language model holds white space or non-ASCII characters: {SET_KEY} again")
    return key
