"""Every writer keeps typed values beside texts."""

from __future__ import annotations

from collections.abc import Iterator

import neo4j
import pytest
from lodestar.engine.forms.ends import Combination, EndSet, ValueBounds, combine_ends
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Connection
from lodestar.engine.values import RelationStep
from lodestar.engine.writing.changing import LiteralValue, add_triples
from lodestar.loaders.formats import source_class

from tests.conftest import clear_database
from tests.made.graphs import load

TEXT = """@prefix : <http://x.org/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:kelm :member :arkon , :bryma , :cindra .
:arkon :born "1961-05-05"^^xsd:date ; :height "900 m" . :bryma :born "1999"^^xsd:gYear ; :height "1.2 km" .
:cindra :born "1975-03"^^xsd:gYearMonth ; :height "2E2" . :kelm :founded 1900 .
"""


@pytest.fixture(scope="module")
def gateway(
    driver: neo4j.Driver, connection: Connection, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gateway]:
    clear_database(driver, connection.database)
    path = tmp_path_factory.mktemp("typed") / "kg.ttl"
    path.write_text(TEXT)
    with Gateway(connection) as gateway:
        load(source_class("rdf")(str(path), bases=["http://x.org/"]), gateway)
        add_triples(gateway, [("kelm", "height", LiteralValue("7 km"))])
        yield gateway
    clear_database(driver, connection.database)


def values(driver: neo4j.Driver) -> dict[str, tuple[object, ...]]:
    rows = driver.execute_query(
        "MATCH (l:Literal) RETURN l.value, l.number, l.dimension, l.first_day, l.last_day"
    ).records
    return {value: tuple(typed) for value, *typed in rows}


EXPECTED = {
    "1961-05-05": (None, None, 19610505, 19610505),
    "1975-03": (None, None, 19750301, 19750331),
    "1999": (None, None, 19990101, 19991231),
    "1900": (1900.0, None, 19000101, 19001231),
    "900 m": (900.0, "length", None, None),
    "1.2 km": (1200.0, "length", None, None),
    "7 km": (7000.0, "length", None, None),
    "2E2": (200.0, None, None, None),
}


def ends(gateway: Gateway, relation: str, **options: object) -> list[str]:
    path = (RelationStep("member"),)
    combination = Combination((EndSet("kelm", path),), value_steps=(RelationStep(relation),), **options)  # type: ignore[arg-type]
    return [end.entity.id for end in gateway.run(combine_ends(combination, {}, 10)).ends]


def test_comparisons_read_typed_values(driver: neo4j.Driver, gateway: Gateway) -> None:
    assert values(driver) == EXPECTED
    assert ends(gateway, "born", order="most") == ["bryma", "cindra", "arkon"]
    assert ends(gateway, "born", order="least", bound=ValueBounds(first=19700101, last=19801231)) == ["cindra"]
    assert ends(gateway, "height", order="most") == ["bryma", "arkon", "cindra"]
    assert ends(gateway, "height", order="most", bound=ValueBounds(least=800)) == ["bryma", "arkon"]
