"""What each option of `lodestar serve` makes of the server that it runs; tests/integration/serving has what servers do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner
from lodestar.engine.cli.main import main
from lodestar.engine.errors import UsageError
from lodestar.engine.recipes.recipe import Recipe
from lodestar.engine.serving import server
from lodestar.engine.serving.server import AccessRules, ServerOptions
from lodestar.engine.settings import Settings


@dataclass(frozen=True, slots=True)
class Served:
    settings: Settings
    recipes: Mapping[str, Recipe]
    options: ServerOptions


Serve = Callable[..., Served]


def asked_at(host: str) -> dict[str, Any]:
    """Return a request's scope (ASGI)."""
    return {"path": "/v1/ask", "method": "POST", "headers": [(b"host", host.encode())]}


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Return what `lodestar serve` would run."""
    for variable in (server.TOKEN_VARIABLE, "LODESTAR_NAME"):
        monkeypatch.delenv(variable, raising=False)

    def call(*arguments: str) -> Served:
        found: list[Served] = []
        monkeypatch.setattr(server, "run_server", lambda *given, **_: found.append(Served(*given)))
        ran = CliRunner().invoke(main, ["serve", *arguments])
        if ran.exception:
            raise ran.exception
        (only,) = found
        return only

    return call


def test_address_access_and_limits(served: Serve) -> None:
    default = served()
    assert (default.options.host, default.options.port) == ("127.0.0.1", 8080)
    given = served(
        *("--port", "0", "--max-batch", "7", "--max-queue", "9"),
        *("--allow-host", "a.example", "--allow-host", "b.example", "--allow-origin", "https://c.example"),
    ).options
    assert (given.port, given.limits.max_batch, given.limits.max_queue) == (0, 7, 9)
    assert (given.hosts, given.origins) == (("a.example", "b.example"), ("https://c.example",))
    accepted = AccessRules.of(given.host, more_hosts=given.hosts)
    assert [accepted.refusal(asked_at(host)) is None for host in ("b.example", "d.example")] == [True, False]
    with pytest.raises(UsageError, match="--allow-origin: expected an origin"):
        served("--allow-origin", "c.example")


def test_recipes_that_requests_may_name(served: Serve) -> None:
    assert list(served().recipes) == ["similarity"]
    found = served("--recipe", "similarity + merge", "--also", "similarity", "--also", "gril")
    assert list(found.recipes) == ["similarity+merge", "similarity", "gril"]
