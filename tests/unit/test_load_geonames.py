"""What the geonames source says: right, in Freebase's vocabulary, readable."""

from __future__ import annotations

from collections import defaultdict

import pytest
from lodestar.loaders import freebase_vocabulary as fb
from lodestar.loaders.checked import CheckedGraph, read_checked
from lodestar.loaders.geonames import GeonamesSource
from lodestar.loaders.place_names import aliases, fold


@pytest.fixture(scope="module")
def graph() -> CheckedGraph:
    return read_checked(GeonamesSource())


@pytest.fixture(scope="module")
def tails(graph: CheckedGraph) -> dict[tuple[str, str], set[str]]:
    """By head and relation, the names of the tails (ids where they have none)."""
    found: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for relation in graph.relations:
        for head, tail in graph.pairs(relation):
            found[head, relation].add(next(iter(graph.names.get(tail, {tail: None}))))
    return found


def test_only_mediators_are_unnamed(graph: CheckedGraph) -> None:
    unnamed = [id_ for id_ in graph.ids if id_ not in graph.names]
    assert unnamed
    assert all(id_.startswith(("geo.border.", "geo.population.")) for id_ in unnamed)
    assert graph.num_names_ignored == 0
    assert graph.num_duplicates == 0
    assert 30_000 < graph.num_triples < 80_000


@pytest.mark.parametrize(
    ("head", "relation", "expected"),
    [
        ("geo.country.PE", fb.CAPITAL, {"Lima"}),
        ("geo.country.BR", fb.CAPITAL, {"Brasília"}),
        ("geo.country.KZ", fb.CAPITAL, {"Astana"}),
        ("geo.country.CW", fb.CAPITAL, {"Willemstad"}),
        ("geo.country.PW", fb.CAPITAL, {"Melekeok"}),
        ("geo.country.PE", fb.CURRENCY_USED, {"Peruvian Sol"}),
        ("geo.country.PE", fb.CONTINENT, {"South America"}),
        ("geo.country.PE", fb.OFFICIAL_LANGUAGE, {"Spanish", "Quechua"}),
        ("geo.country.CH", fb.LANGUAGES_SPOKEN, {"German", "French", "Italian", "Romansh"}),
        ("geo.country.DO", fb.CALLING_CODE, {"+1-809", "+1-829"}),
        ("geo.country.PE", fb.INTERNET_TLD, {".pe"}),
        ("geo.city.3936456", fb.CONTAINED_BY, {"Peru"}),
        ("geo.population.city.3936456", fb.NUMBER, {"7,737,002"}),
    ],
)
def test_facts(tails: dict[tuple[str, str], set[str]], head: str, relation: str, expected: set[str]) -> None:
    assert tails[head, relation] == expected


def test_a_border_leads_to_the_neighbour_and_not_back(tails: dict[tuple[str, str], set[str]]) -> None:
    mediators = tails["geo.country.CH", fb.ADJOIN_S]
    assert {name for m in mediators for name in tails[m, fb.ADJOINS]} == {
        "Germany",
        "Italy",
        "Liechtenstein",
        "France",
        "Austria",
    }


def test_inverses_hold_triple_by_triple(graph: CheckedGraph) -> None:
    assert set(graph.relations) == set(fb.FACTS)
    for relation, facts in fb.FACTS.items():
        if facts.inverse:
            assert fb.FACTS[facts.inverse].inverse == relation
            assert set(graph.pairs(relation)) == {(tail, head) for head, tail in graph.pairs(facts.inverse)}


def test_countries_have_the_names_people_use(graph: CheckedGraph) -> None:
    assert next(iter(graph.names["geo.country.US"])) == "United States"
    assert {"USA", "United States of America"} <= set(graph.names["geo.country.US"])
    assert {"UK", "Great Britain"} <= set(graph.names["geo.country.GB"])
    assert {"Netherlands", "Holland"} <= set(graph.names["geo.country.NL"])
    assert "Wien" in graph.names["geo.city.2761369"]


def test_aliases_are_few_and_latin() -> None:
    others = ["LIM", "lima", "Lima", "Líma", "Лима", "Limae", "LIMAE", "Cusco", "City of Kings"]
    assert aliases("Lima", others, taken={"cusco"}) == ["City of Kings", "LIMAE"]
    assert fold("Saint John’s") == fold("saint_john's")


def test_smaller_cities_on_request(graph: CheckedGraph) -> None:
    smaller = GeonamesSource(min_population=200_000)
    fewer = read_checked(smaller)
    assert fewer.num_triples < graph.num_triples
    assert {id_ for id_ in fewer.ids if id_.startswith("geo.country.")} == {
        id_ for id_ in graph.ids if id_.startswith("geo.country.")
    }
    assert smaller.digest() != GeonamesSource().digest() == GeonamesSource().digest()
