"""JSON of files as dataclasses: every field of its type and in its range, or one line that says which is not."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from ..one_line import one_line

T = TypeVar("T")


def decoded(kind: type[T], text: str | bytes) -> T:
    """Return what a text describes; raise `ValueError` for the first field that is missing, unknown, of another type
    or out of its range."""
    try:
        found: T = _adapter(kind).validate_json(text, strict=True, extra="forbid")  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = one_line(".".join(map(str, first["loc"])), 80)
        said = f"{first['msg'][:1].lower()}{first['msg'][1:]}, found {one_line(repr(first['input']), 80)}"
        raise ValueError(one_line(f"{place}: {said}".removeprefix(": "))) from error
    return found


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
