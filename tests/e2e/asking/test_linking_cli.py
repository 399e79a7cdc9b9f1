"""The entity index is made by one command, once."""

from __future__ import annotations

import json

import pytest
from lodestar.engine.linking.entity_index import index_folder
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Settings

from tests.e2e.conftest import Lodestar
from tests.made.graphs import COUNTRY_NAMES

pytestmark = pytest.mark.usefixtures("engine")


def test_the_indexes_are_made_by_one_command_each(lodestar: Lodestar, gateway: Gateway, settings: Settings) -> None:
    try:
        first, again = (lodestar("db", "index", "--json") for _ in range(2))
        assert first.code == again.code == 0, first.err
        assert json.loads(first.out)["num_encoded"] == len(COUNTRY_NAMES)
        assert json.loads(again.out)["num_encoded"] == 0
        refused = lodestar("db", "index", "--max-entities", "3")
        assert (refused.code, "raise it with --max-entities" in refused.err) == (2, True)
    finally:
        for path in index_folder(settings, gateway.connection).glob("entities*"):
            path.unlink()
