"""Begin a test without any schema, as a load into a new database does: a `conftest.py` takes `empty_graph` from here."""

from __future__ import annotations

import neo4j
import pytest
from lodestar.engine.neo4j.connection import Connection

from tests.conftest import clear_database


@pytest.fixture
def empty_graph(driver: neo4j.Driver, connection: Connection) -> None:
    """Delete all nodes, relationships, constraints and indexes before the test."""
    clear_database(driver, connection.database, schema=True)
