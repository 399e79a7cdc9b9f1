"""What went wrong in a call, as the rest of the line that starts with the model's name. Importing it is slow."""

from __future__ import annotations

import math
import re

import openai

from ..errors import LLMError
from .address import SET_KEY, place
from .bounded import UnreadableReplyError


def failure_said(error: openai.OpenAIError) -> str:
    """Return what failed and what to do about it, without a header or a body in it."""
    tried = _tried(error) if isinstance(error, openai.APIError) else ""
    unreadable = next((e for e in (error, error.__cause__) if isinstance(e, UnreadableReplyError)), None)
    if unreadable:  # the cause of a connection error in versions 2 of the client
        return f"sent {unreadable}: see whether LODESTAR_LLM_BASE_URL is OpenAI-compatible"
    if isinstance(error, openai.APIConnectionError):
        return f"could not be reached, or cut the connection{tried}: see whether it runs, and LODESTAR_LLM_BASE_URL"
    if isinstance(error, openai.APIStatusError):
        return _status_said(error, tried)
    return f"could not be called: {type(error).__name__}"


def _tried(error: openai.APIError) -> str:
    """Return how often the client has sent the request, as it notes itself, where that was more than once."""
    num_retries = error.request.headers.get("x-stainless-retry-count", "0")
    return f" in {int(num_retries) + 1} attempts" if num_retries.isdigit() and num_retries != "0" else ""


def _status_said(error: openai.APIStatusError, tried: str) -> str:
    status = f"HTTP {error.status_code}{_code(error)}"
    if 300 <= error.status_code < 400:
        return (
            f"sends callers on to {_redirected(error)} ({status}), where nothing was sent: "
            "set LODESTAR_LLM_BASE_URL to the address that answers itself"
        )
    if error.status_code in (401, 403):
        return f"refused the key ({status}): {SET_KEY}"
    if error.status_code == 404:
        return (
            f"was not found ({status}): check LODESTAR_LLM_MODEL, and that LODESTAR_LLM_BASE_URL is the address before "
            "/chat/completions (it often ends in /v1)"
        )
    if error.status_code == 429:
        return f"is over its rate limit or quota ({status}){_wait(error)}: try again later"
    if error.status_code >= 500:
        return f"failed{tried} ({status}){_wait(error)}: try again later"
    return f"refused the request ({status})"


def _redirected(error: openai.APIStatusError) -> str:
    """Return host and port that a redirect points to, where they are printable."""
    location = error.response.headers.get("location", "")
    if not re.match(r"(https?:)?//", location, re.IGNORECASE):
        return "another path"
    try:
        where = place(location if not location.startswith("//") else f"https:{location}")
    except LLMError:
        return "another host"
    return where if re.fullmatch(r"[A-Za-z0-9.:\[\]-]{1,100}", where) else "another host"


def _code(error: openai.APIStatusError) -> str:
    """Return an error's machine-readable code, such as insufficient_quota: nothing else of a body is safe to show."""
    return f", {error.code}" if error.code and re.fullmatch(r"[a-z]+(_[a-z]+){1,6}", error.code) else ""


def _wait(error: openai.APIStatusError) -> str:
    try:
        seconds = float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return ""
    return f" and asks to wait {seconds:,.0f} s" if math.isfinite(seconds) and seconds > 0 else ""
