"""What an engine knows of its graph: whether it is whole, and what is loaded while it is open, with nothing encoded twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import neo4j
import pytest
from lodestar import Engine
from lodestar.engine.data_model import Question
from lodestar.engine.errors import GraphError
from lodestar.engine.neo4j.catalogue import read_graph_edition, read_graph_state
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Connection, Settings

from tests.conftest import clear_database
from tests.made.evidence import chains
from tests.made.graphs import COUNTRIES, COUNTRY_NAMES
from tests.made.plain_graph import write_graph, write_load

BEGUN, DONE = "2026-01-01T00:00:00.5Z", "2026-01-01T00:01:00Z"
LATER_BEGUN, LATER_DONE = "2026-01-02T00:00:00Z", "2026-01-02T00:01:00Z"
MORE = (
    ("m.peru", "location.country.national_anthem", "m.anthem"),
    ("m.arequipa", "location.location.containedby", "m.peru"),
)
MORE_NAMES = {"m.anthem": "Himno Nacional", "m.arequipa": "Arequipa"}


@dataclass
class Encoded:
    """Every text that an engine's encoder was given."""

    sentences: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)


@pytest.fixture
def graph(empty_graph: None, driver: neo4j.Driver, gateway: Gateway) -> None:
    write_graph(driver, gateway, COUNTRIES, COUNTRY_NAMES)
    write_load(driver, "a" * 64, source="first.tsv", started=BEGUN, finished=DONE)


@pytest.fixture
def live(graph: None, settings: Settings) -> Iterator[Engine]:
    with Engine(settings) as engine:
        yield engine


def recorded(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Encoded:
    encoded = Encoded()
    encode, encode_tokens = engine.resources.vectors.encoder.encode, engine.resources.vectors.encoder.encode_tokens

    def sentences(texts: Sequence[str]) -> Any:
        encoded.sentences += texts
        return encode(texts)

    def tokens(texts: Sequence[str]) -> Any:
        encoded.tokens += texts
        return encode_tokens(texts)

    monkeypatch.setattr(engine.resources.vectors.encoder, "encode", sentences)
    monkeypatch.setattr(engine.resources.vectors.encoder, "encode_tokens", tokens)
    return encoded


def append(driver: neo4j.Driver, gateway: Gateway) -> None:
    write_load(driver, "b" * 64, source="more.tsv", started=LATER_BEGUN)
    write_graph(driver, gateway, MORE, MORE_NAMES)
    write_load(driver, "b" * 64, finished=LATER_DONE)


def ends(engine: Engine, question: str | Question) -> set[str]:
    return {end.label for end in chains(engine.retrieve(question))[0].ends}


def test_the_next_question_sees_triples_names_and_relations(
    live: Engine, gateway: Gateway, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded = recorded(live, monkeypatch)
    assert ends(live, "What is the capital of Peru?") == {"Lima"}
    before = Encoded(list(encoded.sentences), list(encoded.tokens))
    append(driver, gateway)
    encoded.sentences.clear()
    encoded.tokens.clear()
    assert ends(live, "What is the national anthem of Peru?") == {"Himno Nacional"}
    arequipa = live.retrieve("Which country is Arequipa contained by?")
    assert [topic.entity.label for topic in arequipa.topics] == ["Arequipa"]
    assert {"Peru"} in [{end.label for end in chain.ends} for chain in chains(arequipa)]
    assert set(encoded.sentences) & set(before.sentences) <= {"warm"}
    assert set(encoded.tokens) & set(before.tokens) == set()
    assert any("anthem" in text for text in encoded.sentences)


def test_a_graph_in_the_place_of_another_is_read_by_its_own_numbers(
    live: Engine, gateway: Gateway, driver: neo4j.Driver, connection: Connection
) -> None:
    capital = Question("What is the capital?", ("m.peru",))
    assert ends(live, capital) == {"Lima"}
    clear_database(driver, connection.database, schema=True)
    contains = "location.location.contains"
    others = [("m.peru", "aaa.first.of_all", "m.sol"), *(triple for triple in COUNTRIES if triple[1] != contains)]
    write_graph(driver, gateway, others, COUNTRY_NAMES)
    write_load(driver, "c" * 64, source="other.tsv", started=LATER_BEGUN, finished=LATER_DONE)
    assert ends(live, capital) == {"Lima"}


def test_a_load_after_the_clock_was_set_back_is_seen(live: Engine, gateway: Gateway, driver: neo4j.Driver) -> None:
    write_load(driver, "d" * 64, source="other.tsv", started="2036-01-01T00:00:00Z", finished="2036-01-01T00:01:00Z")
    before = gateway.run(read_graph_edition())
    write_load(driver, "a" * 64, started=LATER_BEGUN, finished=LATER_DONE)  # loaded anew
    assert gateway.run(read_graph_edition()) != before


@pytest.mark.usefixtures("empty_graph")
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
