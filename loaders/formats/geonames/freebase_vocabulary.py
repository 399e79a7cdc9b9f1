"""The relations of Freebase that the geonames source speaks in, with range and inverse as Freebase defines them.

Readings of our own: what adjoins is called a border, as in the question people ask; a number or a code is an entity
named as one reads it, since paths lead to entities; and each direction of a border has a mediator of its own, so that
a walk through it leads to the neighbour and never back.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...source import RelationFacts

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
