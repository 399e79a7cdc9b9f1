"""Define the database requests that a stage yields in its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from .templates import Template

T = TypeVar("T")

Row = tuple[Any, ...]

MAX_REQUEST_CHARS = 4_000_000
"""Bound of the texts of one request, because the database holds several copies of them."""


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """One query: a template, its parameters, and a function that decodes its rows.

    `decode` gets the rows as tuples in the order of the template's ``returns``.
    """

    template: Template
    params: Mapping[str, Any]
    decode: Callable[[Sequence[Row]], T]
    names: Mapping[str, str] = field(default_factory=dict)


def in_requests(
    items: Iterable[T], size: int, num_chars: Callable[[T], int], max_chars: int = MAX_REQUEST_CHARS
) -> Iterator[list[T]]:
    """Yield the items in batches for one request each: at most `size` items and about `max_chars` characters."""
    batch: list[T] = []
    chars = 0
    for item in items:
        length = num_chars(item)
        if batch and (len(batch) == size or chars + length > max_chars):
            yield batch
            batch, chars = [], 0
        batch.append(item)
        chars += length
    if batch:
        yield batch
