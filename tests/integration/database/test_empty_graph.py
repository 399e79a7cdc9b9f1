"""A database without a graph: whatever is asked of it, one line says what to do."""

from __future__ import annotations

from collections.abc import Callable

import neo4j
import pytest
from lodestar.engine.api import Engine
from lodestar.engine.errors import GraphError
from lodestar.engine.settings import Settings

VERBS: dict[str, Callable[[Engine], object]] = {
    "ask": lambda engine: engine.ask("What is the capital of Peru?"),
    "ask many": lambda engine: engine.ask_batch(["What is the capital of Peru?"] * 2),
    "retrieve": lambda engine: engine.retrieve("What is the capital of Peru?"),
    "entities": lambda engine: engine.link("Peru"),
    "relations": lambda engine: engine.relations("capital"),
}


@pytest.mark.usefixtures("empty_graph")
@pytest.mark.parametrize("verb", VERBS)
def test_an_empty_graph_is_one_line(verb: str, settings: Settings) -> None:
    with Engine(settings) as engine, pytest.raises(GraphError, match="the graph is empty: load one with"):
        VERBS[verb](engine)


@pytest.mark.usefixtures("empty_graph")
def test_what_other_programs_wrote_is_said_with_the_command_that_reads_it(
    driver: neo4j.Driver, settings: Settings
) -> None:
    driver.execute_query("UNWIND range(1, 1104) AS number CREATE (:Person {name: 'Person ' + number})")
    with Engine(settings) as engine, pytest.raises(GraphError, match=r"1,104 nodes .* `lodestar load neo4j`"):
        engine.ask("Who is Person 7?")
