"""Requests to the database: what a stage yields in its steps to learn something of the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from .templates import Template

T = TypeVar("T")

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """One query to run: a template, its parameters, and how its rows become a value.

    `decode` gets the rows as tuples in the order of the template's ``returns``.
    """

    template: Template
    params: Mapping[str, Any]
    decode: Callable[[Sequence[Row]], T]
    names: Mapping[str, str] = field(default_factory=dict)
