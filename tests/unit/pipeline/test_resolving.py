"""Keys and values that change plain data."""

from __future__ import annotations

from typing import Any

import pytest
from lodestar.engine.errors import UsageError
from lodestar.engine.settings import set_option


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
