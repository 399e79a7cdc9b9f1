"""Options from plain data: what is filled in, and what is refused with its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from lodestar.engine.errors import UsageError
from lodestar.engine.settings import fill_dataclass, set_option


@dataclass(frozen=True, slots=True)
class Inner:
    size: int = 1
    rate: float = 0.5


@dataclass(frozen=True, slots=True)
class Outer:
    name: str = "x"
    kind: Literal["a", "b"] = "a"
    weight: float | None = None
    flag: bool = False
    inner: Inner = field(default_factory=Inner)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"size": 1}, "here: there is no option 'size': expected some of name, kind, weight, flag, inner"),
        ({"kind": "c"}, "here: expected one of a, b for kind, found 'c'"),
        ({"kind": ["a"]}, "here: expected one of a, b for kind, found ['a']"),
        ({"weight": "many"}, "here: expected float for weight, found 'many'"),
        ({"weight": True}, "here: expected float for weight, found True"),
        ({"name": 3}, "here: expected str for name, found 3"),
        ({"flag": 1}, "here: expected bool for flag, found 1"),
        ({"inner": 3}, "here: expected options of inner, found 3"),
        ({"inner": {"size": 1.5}}, "here: inner: expected int for size, found 1.5"),
        ({"inner": {"size": True}}, "here: inner: expected int for size, found True"),
        ({"inner": {"depth": 1}}, "here: inner: there is no option 'depth': expected some of size, rate"),
    ],
)
def test_options_of_the_wrong_kind_are_refused(data: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        fill_dataclass(Outer, data, "here")
    assert str(caught.value) == message


def test_key_and_value_change_plain_data() -> None:
    data: dict[str, Any] = {"inner": {"size": 1}, "weight": None}
    for said in ("inner.rate=0.25", "name=a b=c", 'kind="b"', "flag=true", "new.table=[1, 2]"):
        set_option(data, said, "")
    assert data == {
        "inner": {"size": 1, "rate": 0.25},
        "weight": None,
        "name": "a b=c",
        "kind": "b",
        "flag": True,
        "new": {"table": [1, 2]},
    }
    for said in ("inner", "=1", "inner.=1", ".x=1", "weight.x=1", "name.x=1"):
        with pytest.raises(UsageError, match="--set"):
            set_option(data, said, "a=1")
