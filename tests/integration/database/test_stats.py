"""The figures of a graph written behind the library's back."""

from __future__ import annotations

import neo4j
import pytest
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j.whole_graph import read_figures

from tests.made.written_graphs import Literal, Load, Names, WrittenGraph, of_base_load

pytestmark = pytest.mark.usefixtures("empty_graph")

TRIPLES = of_base_load(
    [
        ("hub", "r", "a"),
        ("b", "r", "hub"),
        ("hub", "s", "hub"),
        ("hub", "rare", "a"),
        ("c", "r", "d"),
        ("d", "t", Literal("same")),
        ("a", "t", Literal("same")),
    ]
)


def test_figures_of_a_small_graph(gateway: Gateway, driver: neo4j.Driver) -> None:
    assert read_figures(gateway, full=True) is None
    loads = [Load(1, "first.tsv"), Load(2, "half.tsv", is_finished=False)]
    WrittenGraph(TRIPLES, {"hub": Names("Hub"), "a": Names("A")}, frozenset({"rare"}), loads, ["e"]).write(driver)
    figures = read_figures(gateway, full=True)
    assert figures is not None
    assert [figures[f"num_{what}"] for what in ("entities", "literals", "relations", "triples", "unnamed")] == [
        6,
        1,
        4,
        7,
        4,
    ]
    assert [(load["source"], load["state"] == "did not finish") for load in figures["loads"]] == [
        ("first.tsv", False),
        ("half.tsv", True),
    ]
    assert [(each["relation"], each["count"]) for each in figures["relations"][:2]] == [("r", 3), ("t", 2)]
    assert [(hub["id"], hub["name"], hub["degree"]) for hub in figures["hubs"][:2]] == [
        ("hub", "Hub", 5),
        ("a", "A", 3),
    ]
    assert [figures["degrees"][name] for name in ("min", "median", "max")] == [0, 1, 5]
