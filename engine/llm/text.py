"""Put data into prompts, and read what models reply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

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
    values = {"question": escape_data(question), "evidence": escape_data(evidence)}
    return re.sub(r"\{(question|evidence)\}", lambda match: values[match[1]], template)


_ENDS_SECTION = re.compile(
    r"<(?=\s*/?\s*(?:evidence|question)\b|[|｜]|/?s>|(?:start|end)_of_turn>)|\[(?=/?INST\])", re.IGNORECASE
)
_HARMLESS = {"<": "‹", "[": "［"}


def escape_data(text: str) -> str:
    """Return external text, escaped so that it can end neither its section of the template nor its turn of a chat."""
    encodable = text.encode("utf-8", "replace").decode("utf-8")
    return _ENDS_SECTION.sub(lambda match: _HARMLESS[match[0]], encodable)


def end_of_thoughts(content: str) -> int:
    """Return where the reply begins after what the model thought."""
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


def read_numbers(reply: str, count: int, *, in_list: bool = False) -> frozenset[int] | None:
    """Return the numbers from 1 to `count` that a reply names; None where it says nothing of the kind.

    Expected is ``{"chains": [1, 3]}`` or ``1, 4, 7``: numbers stand in an object under one of several keys, else in a
    bare list, else anywhere, but for `in_list`; of several objects or lists the last counts. Numbers as text, a single
    number, ranges (``2-5``) and words around are read as well. A reply without a number, but with a word such as
    "none", names none.
    """
    content = reply[end_of_thoughts(reply) :]
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
