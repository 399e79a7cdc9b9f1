"""Turn the values of a property graph into literals: texts with a datatype of XML Schema, as RDF writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from neo4j.spatial import Point
from neo4j.time import Date, DateTime, Duration, Time

XSD = "http://www.w3.org/2001/XMLSchema#"
WKT = "http://www.opengis.net/ont/geosparql#wktLiteral"

MAX_NUMBERS = 64
"""A longer list of numbers is a vector, such as an embedding, of which no number says anything."""


class LiteralText(NamedTuple):
    """A literal: its text and its datatype, None for plain text."""

    text: str
    datatype: str | None = None


def literals_of(value: object) -> Iterator[LiteralText]:
    """Yield the literals of a property's value: one of a scalar, one of each distinct item of a list.

    Bytes, vectors and blank texts have none. Times are in ISO 8601, points in well-known text: longitude or x first.
    """
    if isinstance(value, list):
        if len(value) > MAX_NUMBERS and isinstance(value[0], int | float):
            return
        yield from dict.fromkeys(found for item in value for found in literals_of(item))
    elif (found := _literal_of(value)) is not None:
        yield found


def _literal_of(value: object) -> LiteralText | None:  # noqa: PLR0911 - a line a type
    match value:
        case str():
            return LiteralText(value) if value.strip() else None
        case bool():
            return LiteralText(str(value).lower(), f"{XSD}boolean")
        case int():
            return LiteralText(str(value), f"{XSD}integer")
        case float():
            special = {"inf": "INF", "-inf": "-INF", "nan": "NaN"}
            return LiteralText(special.get(repr(value), repr(value)), f"{XSD}double")
        case Point():
            parts = " ".join(repr(part).removesuffix(".0") for part in value)
            return LiteralText(f"POINT{' Z' if len(value) > 2 else ''}({parts})", WKT)
        case DateTime():
            return LiteralText(_without_zeros(value.iso_format()), f"{XSD}dateTime")
        case Date():
            return LiteralText(value.iso_format(), f"{XSD}date")
        case Time():
            return LiteralText(_without_zeros(value.iso_format()), f"{XSD}time")
        case Duration():
            return LiteralText(value.iso_format(), f"{XSD}duration")
    return None


def _without_zeros(text: str) -> str:
    """Return a time without the zeros that end the fraction of its seconds."""
    return re.sub(r"\.?0*(?=$|[Z+-]\d*:?\d*$)", "", text, count=1) if "." in text else text
