"""What the geonames source says: right, in Freebase's vocabulary, readable."""

from __future__ import annotations

from collections import defaultdict

import pytest
from lodestar.loaders.formats.geonames import GeonamesSource

from tests.references.read_source import ReadSource, read_source


@pytest.fixture(scope="module")
def graph() -> ReadSource:
    return read_source(GeonamesSource())


def ids(graph: ReadSource) -> set[str]:
    return {id_ for head, _, tail in graph.triples for id_ in (head, tail)}


@pytest.fixture(scope="module")
def tails(graph: ReadSource) -> dict[tuple[str, str], set[str]]:
    """By head and relation, the names of the tails (ids where they have none)."""
    found: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for head, relation, tail in graph.triples:
        found[head, relation].add(graph.names.get(tail, [tail])[0])
    return found


def test_a_border_leads_to_the_neighbour_and_not_back(tails: dict[tuple[str, str], set[str]]) -> None:
    mediators = tails["geo.country.CH", "location.location.adjoin_s"]
    assert {name for m in mediators for name in tails[m, "location.adjoining_relationship.adjoins"]} == {
        "Germany",
        "Italy",
        "Liechtenstein",
        "France",
        "Austria",
    }


def test_countries_have_the_names_people_use(graph: ReadSource) -> None:
    assert graph.names["geo.country.US"][0] == "United States"
    assert {"USA", "United States of America"} <= set(graph.names["geo.country.US"])
    assert {"UK", "Great Britain"} <= set(graph.names["geo.country.GB"])
    assert {"Netherlands", "Holland"} <= set(graph.names["geo.country.NL"])
    assert "Wien" in graph.names["geo.city.2761369"]
