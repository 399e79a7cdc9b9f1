"""Fill frozen dataclasses of options from TOML and from ``KEY=VALUE``; every unknown name is an error."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ..models.message_text import one_line
from ..models.ranges import check_ranges
from .errors import UsageError

T = TypeVar("T")

MAX_BITS = 63
"""Of a whole number; larger ones do not fit a float exactly enough for any option."""


def fill_dataclass(kind: type[T], data: Mapping[str, Any], where: str) -> T:
    """Return a dataclass filled from plain data, inner dataclasses included; missing values get their defaults.

    Raises `UsageError`, beginning with `where`, for an unknown option or a value of the wrong type or out of range (a
    `ValueError` of the dataclass).
    """
    hints = get_type_hints(kind)
    names = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    given: dict[str, Any] = {}
    for name, value in data.items():
        if name not in names:
            raise UsageError(f"{where}: there is no option {name!r}: expected some of {', '.join(names)}")
        given[name] = _value(hints[name], value, name, where)
    try:
        return kind(**given)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from error


def check_options(options: Any, where: str) -> None:
    """Raise `UsageError`, beginning with `where`, for the first number outside of the range of its field's type."""
    try:
        check_ranges(options)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from error


MAX_DOTS = 10
"""Of a key; options are at most two tables deep."""


def set_option(data: dict[str, Any], text: str, example: str) -> None:
    """Put ``KEY=VALUE`` into plain data; dots in the key lead into tables. See `key_and_value`."""
    set_nested_value(data, *key_and_value(text, example), f"--set {text}")


def key_and_value(text: str, example: str) -> tuple[str, Any]:
    """Return key and value of ``KEY=VALUE``. VALUE is read as TOML, else as text. A `UsageError` shows `example`."""
    key, equals, value = text.partition("=")
    if not equals or not all(key.split(".")) or key.count(".") > MAX_DOTS:
        raise UsageError(f"--set: expected KEY=VALUE, as {example}, found {text!r}")
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        return key, value


def set_nested_value(data: dict[str, Any], key: str, value: Any, where: str) -> None:
    """Put a value into plain data under a key whose dots lead into tables."""
    *tables, last = key.split(".")
    for table in tables:
        data = data.setdefault(table, {})
        if not isinstance(data, dict):
            raise UsageError(f"{where}: {table} has no options of its own")
    data[last] = value


def _value(wanted: Any, value: Any, name: str, where: str) -> Any:
    if is_dataclass(wanted) and isinstance(wanted, type):
        if not isinstance(value, Mapping):
            raise UsageError(f"{where}: expected options of {name}, found {value!r}")
        return fill_dataclass(wanted, value, f"{where}: {name}")
    if get_origin(wanted) is Literal:
        if not isinstance(value, str | int) or value not in get_args(wanted):
            raise UsageError(f"{where}: expected one of {', '.join(get_args(wanted))} for {name}, found {value!r}")
        return value
    if get_origin(wanted) in (Union, UnionType):
        if value is None:
            return None
        (wanted,) = (kind for kind in get_args(wanted) if kind is not type(None))
    if type(value) is int and wanted in (int, float) and value.bit_length() > MAX_BITS:
        raise UsageError(f"{where}: expected a number for {name}, found one with too many digits")
    if wanted is float and type(value) is int:
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{where}: expected a finite number for {name}, found {value}")
    if type(value) is not wanted:
        raise UsageError(
            f"{where}: expected {getattr(wanted, '__name__', wanted)} for {name}, found {one_line(repr(value), 80)}"
        )
    return value
