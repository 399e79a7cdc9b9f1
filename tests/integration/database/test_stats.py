"""The figures of a graph written behind the library's back."""

from __future__ import annotations

import neo4j
import pytest
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j.statistics import SizeBin, graph_stats
from lodestar.engine.values import Entity

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
"""Two components, which a literal does not join; `e`, in no triple, is a third."""


def test_figures_of_a_small_graph(gateway: Gateway, driver: neo4j.Driver) -> None:
    loads = [Load(1, "first.tsv"), Load(2, "half.tsv", is_finished=False)]
    WrittenGraph(TRIPLES, {"hub": Names("Hub"), "a": Names("A")}, frozenset({"rare"}), loads, ["e"]).write(driver)
    stats = graph_stats(gateway, top=2)
    assert (stats.num_entities, stats.num_literals, stats.num_relations, stats.num_triples) == (6, 1, 4, 7)
    assert stats.num_unnamed == 4
    assert stats.unnamed_share == pytest.approx(4 / 6)
    assert [(load.source, bool(load.finished)) for load in stats.loads] == [("first.tsv", True), ("half.tsv", False)]
    assert [(relation.name, relation.count) for relation in stats.relations] == [("r", 3), ("t", 2)]
    assert stats.relation_share(stats.relations[0]) == pytest.approx(3 / 7)
    assert [(hub.entity, hub.degree) for hub in stats.hubs] == [(Entity("hub", "Hub"), 5), (Entity("a", "A"), 3)]
    assert (stats.degrees.min, stats.degrees.median, stats.degrees.max) == (0, 1, 5)
    assert stats.components is not None
    assert (stats.components.count, stats.components.largest) == (3, 3)
    assert stats.components.largest_share == pytest.approx(3 / 6)
    assert stats.components.bins == (SizeBin(1, 1, 1), SizeBin(2, 3, 2))
