"""One server over `tests.made.graphs.COUNTRIES` for the tests of a module, and a client that uses no proxy."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import neo4j
import pytest
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.serving.server import ServerOptions
from lodestar.engine.settings import Connection, Settings

from tests.conftest import clear_database
from tests.made.graphs import COUNTRIES, COUNTRY_NAMES, TripleSource, load
from tests.made.serving import serving


@pytest.fixture(scope="module")
def countries(gateway: Gateway, driver: neo4j.Driver, connection: Connection) -> None:
    clear_database(driver, connection.database)
    load(TripleSource(COUNTRIES, COUNTRY_NAMES), gateway)


@pytest.fixture(scope="module")
def url(countries: None, settings: Settings) -> Iterator[str]:
    with serving(settings, ServerOptions(token="")) as url:
        yield url


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=60.0, trust_env=False) as client:
        yield client
