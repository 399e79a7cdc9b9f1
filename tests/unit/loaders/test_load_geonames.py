"""What the geonames source says: right, in Freebase's vocabulary, readable."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from lodestar.loaders.formats import geonames
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


@pytest.mark.parametrize(
    ("head", "relation", "expected"),
    [
        ("geo.country.PE", "location.country.capital", {"Lima"}),
        ("geo.country.BR", "location.country.capital", {"Brasília"}),
        ("geo.country.KZ", "location.country.capital", {"Astana"}),
        ("geo.country.CW", "location.country.capital", {"Willemstad"}),
        ("geo.country.PW", "location.country.capital", {"Melekeok"}),
        ("geo.country.PE", "location.country.currency_used", {"Peruvian Sol"}),
        ("geo.country.PE", "base.locations.countries.continent", {"South America"}),
        ("geo.country.PE", "location.country.official_language", {"Spanish", "Quechua"}),
        ("geo.country.CH", "location.country.languages_spoken", {"German", "French", "Italian", "Romansh"}),
        ("geo.country.DO", "location.country.calling_code", {"+1-809", "+1-829"}),
        ("geo.country.PE", "location.country.internet_tld", {".pe"}),
        ("geo.city.3936456", "location.location.containedby", {"Peru"}),
        ("geo.population.city.3936456", "measurement_unit.dated_integer.number", {"7,737,002"}),
    ],
)
def test_facts(tails: dict[tuple[str, str], set[str]], head: str, relation: str, expected: set[str]) -> None:
    assert tails[head, relation] == expected


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


def test_it_is_small_and_says_its_terms() -> None:
    folder = Path(geonames.__file__).parent
    assert sum(path.stat().st_size for path in folder.iterdir() if path.is_file()) < 2_000_000
    assert "creativecommons.org/licenses/by/4.0" in (folder / "TERMS.txt").read_text(encoding="utf-8")
