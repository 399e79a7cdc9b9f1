"""What the geonames source says: right, in Freebase's vocabulary, readable."""

from __future__ import annotations

from collections import defaultdict

import pytest
from lodestar.loaders.formats import geonames as fb
from lodestar.loaders.formats.geonames import GeonamesSource, aliases, folded_name

from tests.read_source import ReadSource, read_source


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


def test_only_mediators_are_unnamed(graph: ReadSource) -> None:
    unnamed = ids(graph) - set(graph.names)
    assert unnamed
    assert all(id_.startswith(("geo.border.", "geo.population.")) for id_ in unnamed)
    assert set(graph.names) <= ids(graph)
    assert len(set(graph.triples)) == len(graph.triples)
    assert 30_000 < len(graph.triples) < 80_000


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


def test_inverses_hold_triple_by_triple(graph: ReadSource) -> None:
    pairs: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for head, relation, tail in graph.triples:
        pairs[relation].add((head, tail))
    assert set(pairs) == set(fb.FACTS)
    for relation, facts in fb.FACTS.items():
        if facts.inverse:
            assert fb.FACTS[facts.inverse].inverse == relation
            assert pairs[relation] == {(tail, head) for head, tail in pairs[facts.inverse]}


def test_countries_have_the_names_people_use(graph: ReadSource) -> None:
    assert graph.names["geo.country.US"][0] == "United States"
    assert {"USA", "United States of America"} <= set(graph.names["geo.country.US"])
    assert {"UK", "Great Britain"} <= set(graph.names["geo.country.GB"])
    assert {"Netherlands", "Holland"} <= set(graph.names["geo.country.NL"])
    assert "Wien" in graph.names["geo.city.2761369"]


def test_aliases_are_few_and_latin() -> None:
    others = ["LIM", "lima", "Lima", "Líma", "Лима", "Limae", "LIMAE", "Cusco", "City of Kings"]
    assert aliases("Lima", others, taken={"cusco"}) == ["City of Kings", "LIMAE"]
    assert folded_name("Saint John’s") == folded_name("saint_john's")


def test_smaller_cities_on_request(graph: ReadSource) -> None:
    smaller = GeonamesSource(min_population=200_000)
    fewer = read_source(smaller)
    assert len(fewer.triples) < len(graph.triples)
    assert {id_ for id_ in ids(fewer) if id_.startswith("geo.country.")} == {
        id_ for id_ in ids(graph) if id_.startswith("geo.country.")
    }
    assert smaller.digest() != GeonamesSource().digest() == GeonamesSource().digest()
