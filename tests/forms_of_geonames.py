"""The 120 questions of `kept/questions-of-forms.toml`, with what their queries return over the geonames graph."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

import neo4j
from lodestar.engine.evidence.answer import Answer
from lodestar.engine.evidence.extras import FormResult
from lodestar.loaders.formats import geonames as fb

from tests.places import KEPT

FILE = KEPT / "questions-of-forms.toml"
NOT_THERE = "not in the graph"

_RELATIONS = {
    "continent": fb.CONTINENT, "containedby": fb.CONTAINED_BY, "adjoins": fb.ADJOINS, "adjoin_s": fb.ADJOIN_S,
    "languages_spoken": fb.LANGUAGES_SPOKEN, "currency_used": fb.CURRENCY_USED, "capital": fb.CAPITAL,
    "official_language": fb.OFFICIAL_LANGUAGE, "time_zones": fb.TIME_ZONES, "population": fb.POPULATION,
    "number": fb.NUMBER, "area": fb.AREA, "calling_code": fb.CALLING_CODE,
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
        found = {str(value) for value in session.run(self.query).value()}  # pyright: ignore[reportArgumentType]
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


def said(form: str, answer: Answer) -> set[str]:
    """What an answer says, as `FormQuestion.expected` has it."""
    formed = answer.evidence.extra_of(FormResult)
    if not answer.found and not (formed and (formed.counted or formed.says) and not formed.reason):
        return set()
    if form == "how-many":
        return {str(formed.total if formed and formed.counted else 0)}
    if form == "yes-no":
        return {formed.says if formed else ""}
    return {entity.name for entity in answer.entities}
