"""Every endpoint is sent what its schema allows and what it forbids, made up by schemathesis: no 5xx, no broken reply."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.schemas import BaseSchema

from tests.conftest import examples


@pytest.fixture(scope="module")
def schema(client: httpx.Client, url: str) -> BaseSchema:
    return schemathesis.openapi.from_dict(client.get("/openapi.json").json())


def test_nothing_makes_an_endpoint_fail(schema: BaseSchema, url: str) -> None:
    operations = [each.ok() for each in schema.get_all_operations()]
    assert len(operations) >= 10
    for operation in operations:

        @settings(
            max_examples=examples(8),
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def one(case: Any) -> None:
            if isinstance(case.body, dict):
                case.body.pop("timeout_s", None)  # a deadline of a microsecond is a 504, as it should be
            response = case.call(base_url=url, timeout=60)
            assert response.status_code < 500, response.text

        one()
