"""What the graph remembers of its loads, and whether it is whole, read from a real Neo4j."""

from __future__ import annotations

import neo4j
import pytest
from lodestar.engine.api import Engine
from lodestar.engine.errors import GraphError
from lodestar.engine.neo4j.catalogue import read_graph_state
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Settings

from tests.made.graphs import COUNTRIES, COUNTRY_NAMES
from tests.made.plain_graph import write_graph, write_load

BEGUN, DONE = "2026-01-01T00:00:00.5Z", "2026-01-01T00:01:00Z"

pytestmark = pytest.mark.usefixtures("empty_graph")


def test_a_graph_is_whole_when_one_load_is_finished(gateway: Gateway, driver: neo4j.Driver) -> None:
    with pytest.raises(GraphError, match="the graph is empty"):
        gateway.run(read_graph_state()).check()
    write_graph(driver, gateway, [*COUNTRIES, ("m.peru", "motto", '"x"')], COUNTRY_NAMES, literals={'"x"': "x"})
    write_load(driver, "a" * 64, source="a.tsv", started=BEGUN)
    with pytest.raises(GraphError, match=r"the load of a\.tsv has not finished"):
        gateway.run(read_graph_state()).check()
    write_load(driver, "b" * 64, source="b.tsv", started=BEGUN, finished=DONE, graph_version=3)
    state = gateway.run(read_graph_state())
    state.check()
    assert (state.num_finished_loads, state.unfinished_loads, state.num_literals) == (1, ("a.tsv",), 1)
    assert (state.num_entities, state.num_triples, state.graph_version) == (11, len(COUNTRIES) + 1, 3)
    write_load(driver, "b" * 64, deleting=True, finished=None)
    state = gateway.run(read_graph_state())
    assert (state.num_finished_loads, state.deleting_loads) == (0, ("b.tsv",))


# A database without a graph: whatever is asked of it, one line says what to do.


@pytest.mark.usefixtures("empty_graph")
def test_an_empty_graph_is_one_line(settings: Settings) -> None:
    with Engine(settings) as engine:
        for asked in (engine.ask, engine.link, engine.relations):
            with pytest.raises(GraphError, match="the graph is empty: load one with"):
                asked("capital")


@pytest.mark.usefixtures("empty_graph")
def test_what_other_programs_wrote_is_said_with_the_command_that_reads_it(
    driver: neo4j.Driver, settings: Settings
) -> None:
    driver.execute_query("UNWIND range(1, 1104) AS number CREATE (:Person {name: 'Person ' + number})")
    with Engine(settings) as engine, pytest.raises(GraphError, match=r"1,104 nodes .* `lodestar load neo4j`"):
        engine.ask("Who is Person 7?")
