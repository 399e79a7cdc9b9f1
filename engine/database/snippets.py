"""What a graph made of text rests on: the snippets that two concepts are both mentioned in."""

from __future__ import annotations

from collections.abc import Sequence

from .requests import Request, Row
from .templates import template

MENTIONED_WITH = "mentioned with"
"""The relation of two concepts of one snippet."""
MENTIONED_IN = "mentioned in"
"""The relation of a concept and the text of a snippet, a literal."""

MAX_SNIPPETS = 3
MAX_DEGREE = 20_000
"""Of a concept, how many snippets are looked at."""

Pair = tuple[str, str]
"""The ids of two concepts."""


def read_snippets(pairs: Sequence[Pair], max_snippets: int = MAX_SNIPPETS) -> Request[list[tuple[str, ...]]]:
    """The texts of the first snippets that mention both of a pair, shortest first; of each pair, in their order."""

    def decode(rows: Sequence[Row]) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = [()] * len(pairs)
        for pair, texts in rows:
            found[pair] = tuple(texts)
        return found

    params = {
        "pairs": [list(pair) for pair in pairs],
        "relation": MENTIONED_IN,
        "max_snippets": max_snippets,
        "max_degree": MAX_DEGREE,
    }
    return Request(template("read_snippets"), params, decode)
