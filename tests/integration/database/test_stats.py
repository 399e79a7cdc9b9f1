"""The figures of a graph written behind the library's back."""

from __future__ import annotations

import neo4j
import pytest
from lodestar.engine.neo4j.catalogue import read_figures
from lodestar.engine.neo4j.gateway import Gateway

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
    assert read_figures(gateway) is None
    loads = [Load(1, "first.tsv"), Load(2, "half.tsv", is_finished=False)]
    WrittenGraph(TRIPLES, {"hub": Names("Hub"), "a": Names("A")}, frozenset({"rare"}), loads, ["e"]).write(driver)
    figures = read_figures(gateway)
    assert figures is not None
    assert [figures[f"num_{what}"] for what in ("entities", "literals", "relations", "triples")] == [6, 1, 4, 7]
    assert [(load["source"], load["state"] == "did not finish") for load in figures["loads"]] == [
        ("first.tsv", False),
        ("half.tsv", True),
    ]
