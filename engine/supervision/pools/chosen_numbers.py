"""What a language model chose: the numbers in its reply, read leniently."""

from __future__ import annotations

import json
import re
from typing import Any

from ...answering.reply import json_objects
from ...errors import LLMError

_KEYS = ("chains", "chain", "numbers", "selected", "chosen", "answer", "answers")
_NUMBER = re.compile(r"(?<![\w.-])\d{1,6}(?![\w.]|-\w)")
MAX_DIGITS = 9

_LINE_OF_NUMBERS = re.compile(
    r"[\s\[\](){}#.,;:&\d]*|.*\b(?:chains?|lines?|numbers?|chosen|selected)\b.*", re.IGNORECASE
)


def chosen_numbers(content: str, num_chains: int) -> tuple[int, ...]:
    """Return the places of the chosen chains, from 0, ascending.

    Expected is ``{"chains": [1, 3]}``, counted from 1. Words and a fence around the object, a ``<think>`` section
    before it, another name for "chains", numbers as text or as objects with a number, one number instead of a list, a
    bare list, and one line of numbers are read as well; of several objects the last that has any counts. Numbers of no
    chain are passed over. Raises `LLMError` where no chain is left.
    """
    content = re.sub(r"\A.*</think>", "", content, flags=re.DOTALL).strip()
    said: list[Any] = [
        value[key] for value in json_objects(content) for key in _KEYS if isinstance(value, dict) and key in value
    ]
    try:
        numbers = _numbers(said[-1]) if said else _loose(content)
    except RecursionError:  # of lists in lists
        numbers = []
    chosen = sorted({number - 1 for number in numbers if 1 <= number <= num_chains})
    if not chosen:
        found = f"found {', '.join(map(str, numbers[:5]))}" if numbers else "found none"
        raise LLMError(f"expected numbers from 1 to {num_chains} in the reply, {found}")
    return tuple(chosen)


def _numbers(value: Any) -> list[int]:
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int):
        return [value]
    if isinstance(value, float):
        return [int(value)] if value.is_integer() else []
    if isinstance(value, str):
        return [int(number) for number in _NUMBER.findall(value) if len(number) <= MAX_DIGITS]
    if isinstance(value, dict):
        named = next((value[key] for key in ("number", "id", "index", "chain") if key in value), None)
        return _numbers(named)
    return [number for each in value for number in _numbers(each)]


def _loose(content: str) -> list[int]:
    """Return the numbers of a reply that holds no object: a bare list, else the last line that is one of numbers."""
    for text in re.findall(r"\[[^\[\]]*\]", content)[::-1]:
        try:
            return _numbers(json.loads(text))
        except (ValueError, RecursionError):
            continue
    lines = [line for line in content.splitlines() if _NUMBER.search(line) and _LINE_OF_NUMBERS.fullmatch(line)]
    return _numbers(lines[-1]) if lines else []
