"""Every endpoint is sent what its schema allows and what it forbids, made up by schemathesis: no 5xx, no broken reply."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.schemas import BaseSchema

from tests.conftest import examples

ENDPOINTS = (
    ("POST", "/v1/ask"),
    ("POST", "/v1/retrieve"),
    ("POST", "/v1/ask/stream"),
    ("POST", "/v1/entities"),
    ("POST", "/v1/relations"),
    ("POST", "/v1/neighbours"),
    ("POST", "/v1/verify"),
    ("POST", "/v1/browser"),
    ("POST", "/v1/chat/completions"),
    ("GET", "/v1/graph"),
    ("GET", "/v1/graph/questions"),
    ("GET", "/v1/models"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
)


@pytest.fixture(scope="module")
def schema(client: httpx.Client, url: str) -> BaseSchema:
    return schemathesis.openapi.from_dict(client.get("/openapi.json").json())


def test_every_endpoint_is_tried(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {(method.upper(), path) for path, methods in paths.items() for method in methods} == set(ENDPOINTS)


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_nothing_makes_it_fail(method: str, path: str, schema: BaseSchema, url: str) -> None:
    operation = schema[path][method]

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
