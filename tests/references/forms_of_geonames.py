"""The 120 questions of `kept/questions-of-forms.toml`, with what their queries return over the geonames graph."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

import neo4j
from lodestar.engine.evidence import Answer

from tests.places import KEPT

FILE = KEPT / "questions-of-forms.toml"
NOT_THERE = "not in the graph"

_RELATIONS = {
    "continent": "base.locations.countries.continent", "containedby": "location.location.containedby", "adjoins": "location.adjoining_relationship.adjoins", "adjoin_s": "location.location.adjoin_s",
    "languages_spoken": "location.country.languages_spoken", "currency_used": "location.country.currency_used", "capital": "location.country.capital",
    "official_language": "location.country.official_language", "time_zones": "location.location.time_zones", "population": "location.statistical_region.population",
    "number": "measurement_unit.dated_integer.number", "area": "location.location.area", "calling_code": "location.country.calling_code",
}  # fmt: skip
_NUMBERS = {
    "$area(c)": "coalesce(toInteger(replace(split(head([(c)-[:area]->(v) | v.name]), ' ')[0], ',', '')), 0)",
    "$population(c)": "coalesce(toInteger(replace(head([(c)-[:population]->()-[:number]->(v) | v.name]), ',', '')), 0)",
}


@dataclass(frozen=True, slots=True)
class FormQuestion:
    """A question of a form, and the query that says what is right."""

    form: str
    text: str
    query: str

    def expected(self, session: neo4j.Session) -> set[str]:
        """What is right: names, a number, "yes", or that it is not in the graph."""
        found = {str(value) for value in session.run(self.query).value()}
        if self.form == "yes-no":
            return {"yes"} if found else {NOT_THERE}
        return found


def form_questions() -> Iterator[FormQuestion]:
    """The questions, with their queries written out."""
    data = tomllib.loads(FILE.read_text(encoding="utf-8"))
    macros = data.pop("macros")
    for form, questions in data.items():
        for text, query in questions.items():
            yield FormQuestion(form, text, _written_out(query, macros))


def _written_out(query: str, macros: dict[str, str]) -> str:
    query = re.sub(r"@(\w+)\(([^)]*)\)", lambda m: macros[m[1]].replace("{1}", m[2]), query)
    for short, whole in _NUMBERS.items():
        query = query.replace(short, whole)
    return re.sub(r"\[(\w*):(\w+)\]", lambda m: f"[{m[1]}:`{_RELATIONS[m[2]]}`]", query)


def said(answer: Answer) -> set[str]:
    """What an answer says, as `FormQuestion.expected` has it."""
    if answer.number is not None:
        return {str(answer.number)}
    if answer.yes is not None:
        return {"yes" if answer.yes else NOT_THERE}
    return {entity.name for entity in answer.answers}
