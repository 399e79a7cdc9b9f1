"""Every writer keeps typed values beside texts; a graph without them is refused,"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.plans.compile import PlanSchema, compile_plan
from lodestar.engine.plans.plan import FilteredSet, FindMembers, FollowPath, TopByValue, TopicSet, ValueComparison
from lodestar.engine.writing.changing import LiteralValue, add_triples
from lodestar.loaders.formats import source_class

from tests.conftest import OpenOver
from tests.made.files import written

TEXT = """@prefix : <http://x.org/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:kelm :member :arkon , :bryma , :cindra .
:arkon :born "1961-05-05"^^xsd:date ; :height "900 m" . :bryma :born "1999"^^xsd:gYear ; :height "1.2 km" .
:cindra :born "1975-03"^^xsd:gYearMonth ; :height "2E2" . :kelm :founded 1900 .
"""


@pytest.fixture(scope="module", autouse=True)
def graph(open_over: OpenOver, gateway: Gateway, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    path = written(tmp_path_factory.mktemp("typed"), TEXT, "kg.ttl")
    with open_over(source_class("rdf")(path, bases=["http://x.org/"])):
        add_triples(gateway, [("kelm", "height", LiteralValue("7 km"))])
        yield


MEMBERS = FollowPath(TopicSet(("kelm",)), ("member",))


def ends(gateway: Gateway, of: TopByValue | FilteredSet) -> list[str]:
    schema = PlanSchema({name: name for name in ("member", "born", "height")})
    return [row.entity.id for row in gateway.run(compile_plan(FindMembers(of), schema)).rows]


def test_comparisons_read_typed_values(gateway: Gateway) -> None:
    assert ends(gateway, TopByValue(MEMBERS, ("born",), k=3)) == ["bryma", "cindra", "arkon"]
    seventies = FilteredSet(
        FilteredSet(MEMBERS, ValueComparison(("born",), ">=", date="1970")),
        ValueComparison(("born",), "<", date="1981"),
    )
    assert ends(gateway, TopByValue(seventies, ("born",), "least")) == ["cindra"]
    assert ends(gateway, TopByValue(MEMBERS, ("height",), k=3)) == ["bryma", "arkon", "cindra"]
    high = FilteredSet(MEMBERS, ValueComparison(("height",), ">=", number=800, unit="m"))
    assert ends(gateway, TopByValue(high, ("height",), k=3)) == ["bryma", "arkon"]
    assert ends(
        gateway, FilteredSet(TopicSet(("kelm",)), ValueComparison(("height",), "=", number=7_000, unit="m"))
    ) == ["kelm"]
