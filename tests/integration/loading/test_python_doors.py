"""What Python has is loaded by an engine, asked, and handed back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import networkx
import pandas as pd
import pytest
from lodestar import Engine
from lodestar.engine.errors import InputError, UsageError
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.settings import Settings

ORDERS = pd.DataFrame({"orderID": [1, 2, 3], "customerID": ["ANN", "BO", None], "freight": [2.5, 4.0, None]})
CUSTOMERS = [{"customerID": "ANN", "companyName": "Ann & Sons"}, {"customerID": "BO", "companyName": "Bo Ltd"}]


@pytest.fixture
def engine(empty_graph: None, settings: Settings) -> Iterator[Engine]:
    with Engine(settings) as engine:
        yield engine


@pytest.mark.long
def test_python_s_tables_graphs_and_triples_are_loaded_asked_and_handed_back(engine: Engine, tmp_path: Path) -> None:
    report = engine.load({"orders": ORDERS, "customers": CUSTOMERS}, name="shop")
    assert (report.source, report.num_triples, report.num_relations) == ("shop", 9, 3)
    assert engine.ask("Who is the customer of Order 1?").text == "Ann & Sons"
    frame = engine.export_dataframe()
    assert {*frame[frame["relation"] == "customer"]["tail_name"]} == {"Ann & Sons", "Bo Ltd"}
    graph = engine.export_networkx()
    assert graph.nodes["order/1"]["freight"] == "2.5"
    assert graph.has_edge("order/1", "customer/ANN", key="customer")
    with pytest.raises(UsageError, match="append"):
        engine.load([("Lima", "mayor", "Ana")])
    people = networkx.MultiDiGraph()
    people.add_node("Ann", born=1961)
    people.add_edge("Ann", "Bo", relation="knows")
    assert engine.load(people, append=True).num_triples == 2
    triples = [("Lima", "mayor", "Ana"), ("Ana", "born", date(1961, 5, 5))]
    assert engine.load(triples, names={"Ana": ["Ana Rojas", "Anita"]}, append=True).number == 3
    assert engine.ask("Who is the mayor of Lima?").text == "Ana Rojas"
    frame = pd.DataFrame({"subject": ["Quito"], "predicate": ["mayor"], "object": ["Eva"], "weight": [1.0]})
    assert engine.load(frame, append=True).num_triples == 1
    (tmp_path / "towns.csv").write_text("id,name,mayor\n1,Cusco,Luis\n")
    assert engine.load(tmp_path / "towns.csv", append=True).kind == "tables"
    assert {*engine.export_dataframe()["head_name"]} >= {"Ann", "Lima", "Ana Rojas", "Quito", "Cusco"}
    with pytest.raises(UsageError, match="table of things"):
        engine.load(ORDERS)
    with pytest.raises(InputError, match="found int"):
        engine.load({"orders": 3})
    with pytest.raises(InputError, match="expected edges, found none"):
        engine.load(networkx.Graph(), append=True)


@pytest.mark.parametrize("relation", ["mayor", "is ruled by", "led by", "has anthem"])
def test_what_a_load_says_can_be_asked_is_answered(engine: Engine, relation: str) -> None:
    triples = [("Lima", relation, "Ana Rojas"), ("Quito", relation, "Eva Paz"), ("Quito", "in", "Ecuador")]
    report = engine.load(triples, replace=True)
    assert engine.ask(report.question or "").text in ("Ana Rojas", "Eva Paz")


@pytest.mark.long
def test_an_open_engine_asks_the_graph_that_took_the_others_place(tmp_path: Path, cache_dir: Path) -> None:
    """The new graph has fewer transactions than the old one, for whose last one nothing may wait."""
    server = EmbeddedServer("replaced", tmp_path, cache_dir)
    server.start(heap_mb=512, pagecache_mb=64, progress=False)
    try:
        with Engine(name="replaced", home=str(tmp_path), cache=str(cache_dir)) as engine:
            engine.load([("Lima", "mayor", "Ana")])
            for number in range(150):
                engine.add([(f"e{number}", "knows", "Ana")])
            assert engine.ask("Who is the mayor of Lima?").text == "Ana"
            engine.load([("Quito", "mayor", "Eva")], replace=True)
            assert engine.ask("Who is the mayor of Quito?").text == "Eva"
    finally:
        server.reset()
