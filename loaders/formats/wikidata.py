"""Read Wikidata's JSON dump: an item or property a line, in one list or not.

Labels and aliases in the chosen languages are names, claims are triples by the label-less id of their property, whose
own label names the relation. Of ranks the best only. A claim with qualifiers is an unnamed record between its ends, as
Freebase's mediators are. Amounts have their unit's item as the datatype, dates their precision; years before Christ are
as XML Schema 1.1 has them (-0044 is 45 BC, as in Wikidata's own RDF).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...engine.data_model import XSD
from ..reading import RereadableFile, read_json_records
from ..source import FileSource, StatementRow, read_languages, reject_row, triple_row

_LEFT_OUT = {"external-id", "commonsMedia", "globe-coordinate", "geo-shape", "tabular-data", "musical-notation", "math"}
"""Datatypes of claims that are no knowledge of this graph."""
_DAY, _MONTH, _YEAR = 11, 10, 9


class WikidataSource(FileSource):
    kind = "wikidata"

    def __init__(self, path: str, *, languages: Sequence[str] = ("en",)) -> None:
        self.languages, self.all_languages = read_languages(languages)
        super().__init__(path, languages=self.languages, all_languages=self.all_languages)

    def rows(self, file: RereadableFile) -> Iterator[StatementRow]:
        for line, item, fault in read_json_records(file):
            try:
                items = item["entities"].values() if not fault and "entities" in item else [item]  # as the API has them
                for each in items:
                    yield from (reject_row(line, fault, item),) if fault else self._of_item(line, each)
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                yield reject_row(line, f"expected an item of Wikidata, found a fault: {error!r}", str(item))

    def _of_item(self, line: int, item: Mapping[str, Any]) -> Iterator[StatementRow]:
        id_ = item["id"]
        labels, aliases = item.get("labels") or {}, item.get("aliases") or {}
        for label in self._wanted(labels):
            yield StatementRow(line, "name", id_, tail=label["value"], language=label["language"], tag="name")
        for listed in self._wanted(aliases, or_first=False):
            for alias in listed:
                yield StatementRow(line, "name", id_, tail=alias["value"], language=alias["language"], tag="alias")
        for property_, statements in (item.get("claims") or {}).items():
            preferred = [each for each in statements if each["rank"] == "preferred"]
            for claim in preferred or [each for each in statements if each["rank"] == "normal"]:
                yield from _of_claim(line, id_, property_, claim)

    def _wanted(self, by_language: Any, *, or_first: bool = True) -> list[Any]:
        if not isinstance(by_language, Mapping) or self.all_languages:
            return list(by_language.values()) if isinstance(by_language, Mapping) else []
        found = [
            said
            for language, said in by_language.items()
            if language == "mul" or any(language == each or language.startswith(f"{each}-") for each in self.languages)
        ]
        if found or not or_first or not by_language:
            return found
        return [by_language.get("en") or next(iter(by_language.values()))]


def _of_claim(line: int, id_: str, property_: str, claim: Mapping[str, Any]) -> Iterator[StatementRow]:
    main = _of_snak(line, id_, property_, claim["mainsnak"])
    qualifiers = [
        snak for of_one in (claim.get("qualifiers") or {}).values() for snak in of_one if snak["snaktype"] == "value"
    ]
    if main.category != "triple" or not qualifiers:
        yield main
        return
    record = claim["id"]
    yield triple_row(line, id_, property_, record)
    yield main._replace(head=record)
    for snak in qualifiers:
        yield _of_snak(line, record, snak["property"], snak)


def _of_snak(line: int, head: str, property_: str, snak: Mapping[str, Any]) -> StatementRow:
    if snak["snaktype"] != "value":
        return StatementRow(line, "no value" if snak["snaktype"] == "novalue" else "unknown value")
    if snak.get("datatype") in _LEFT_OUT:
        return StatementRow(line, snak["datatype"])
    value, type_ = snak["datavalue"]["value"], snak["datavalue"]["type"]
    if type_ == "wikibase-entityid":
        letter = "P" if value.get("entity-type") == "property" else "Q"
        return triple_row(line, head, property_, value.get("id") or f"{letter}{value['numeric-id']}")
    return StatementRow(line, "triple", head, property_, *_literal_of(type_, value))


def _literal_of(type_: str, value: Any) -> tuple[str, bool, str | None, str | None]:
    if type_ == "time":
        return *_of_time(value), None
    if type_ == "quantity":
        unit = value["unit"].rpartition("/")[2]
        datatype = f"{XSD}decimal" if unit == "1" else f"http://www.wikidata.org/entity/{unit}"
        return value["amount"].removeprefix("+"), True, datatype, None
    if type_ == "monolingualtext":
        return value["text"], True, None, value["language"]
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True), True, None, None


def _of_time(value: Mapping[str, Any]) -> tuple[str, bool, str]:
    """Return a date by its precision, as text, True and its datatype; before the year a date is a year.

    Wikidata's JSON has no year 0 (-0044 is 44 BC), XML Schema 1.1 has one (-0043 is 44 BC).
    """
    sign, text = value["time"][0], value["time"][1:]
    year, month, day = text.split("T")[0].split("-")
    number = -(int(year) - 1) if sign == "-" else int(year)
    shown = f"{'-' if number < 0 else ''}{abs(number):04}"
    precision = value["precision"]
    if precision >= _DAY and int(month) and int(day):
        return f"{shown}-{month}-{day}", True, f"{XSD}date"
    if precision >= _MONTH and int(month):
        return f"{shown}-{month}", True, f"{XSD}gYearMonth"
    return shown, True, f"{XSD}gYear"
