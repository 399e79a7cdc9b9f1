"""Plans over a real Neo4j: what the compiled query gives is what a naive evaluator gives, with witnesses that are there."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import neo4j
import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from lodestar import Engine
from lodestar.engine.errors import InputError
from lodestar.engine.neo4j.catalogue import RelationInfo
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.plans.compile import MAX_ROWS, KindSource, PlanResult, PlanSchema, compile_plan
from lodestar.engine.plans.plan import (
    AggregateValue,
    CompareNumbers,
    ComparisonWithSet,
    CountComparison,
    CountMembers,
    Difference,
    FilteredSet,
    FindMembers,
    FollowPath,
    HasMembers,
    HasPathTo,
    Intersection,
    KindSet,
    LacksPathTo,
    RankGroups,
    TopByValue,
    TopicSet,
    Union,
    ValueComparison,
    parse_plan,
    serialise_plan,
    verbalise_plan,
)  # fmt: skip
from lodestar.engine.plans.schema import derive_kinds_from_relation_ends, group_types_by_name
from lodestar.engine.settings import Connection, Settings
from lodestar.models.wording.answer_kinds import RelationEndProfile

from tests.conftest import clear_database, examples
from tests.made.plain_graph import write_graph
from tests.references.plans import Naive

IDS = [f"e{i}" for i in range(7)]
TYPES = ["town", "river"]
VALUES = (
    "7", "1,200", "12.5 km", "3 miles", "1984", "1984-05", "1984-05-17", "2001-12-31T10:00:00", "blue", "Blue", "-4",
)  # fmt: skip
LITERALS = {f'"{value}"': value for value in VALUES}
SCHEMA = PlanSchema(
    {"joins": "joins", "size": "size", "near": "RELATED", "type": "type"},
    ("type",),
    {
        "town": KindSource(("town",)),
        "river": KindSource(("river",)),
        "sized": KindSource((), ("size",)),
        "joined": KindSource(("river",), ("^joins", "near")),
    },
)
Triples = list[tuple[str, str, str]]


def make_graph(seed: int) -> Triples:
    pick = random.Random(seed)
    made = {(pick.choice(IDS), r, pick.choice(IDS)) for r in ("joins", "near") for _ in range(9)}
    made |= {(pick.choice(IDS), "size", pick.choice(list(LITERALS))) for _ in range(10)}
    return sorted(made | {(each, "type", TYPES[at % 2]) for at, each in enumerate(IDS[:5])})


@pytest.fixture(scope="module", params=[0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def graph(
    request: pytest.FixtureRequest, gateway: Gateway, driver: neo4j.Driver, connection: Connection
) -> Iterator[Naive]:
    triples = make_graph(request.param)
    clear_database(driver, connection.database)
    names = {each: each.upper() for each in [*IDS[:-1], *TYPES]}  # the last is unnamed
    there = {tail for _, _, tail in triples}
    literals = {each: value for each, value in LITERALS.items() if each in there}
    write_graph(driver, gateway, triples, names, literals=literals, related=["near"])
    yield Naive(triples, LITERALS | {each: names.get(each, "") for each in [*IDS, *TYPES]}, SCHEMA)


step = st.sampled_from(["joins", "^joins", "near", "^near", "size", "^size", "^type"])
path = st.lists(step, min_size=1, max_size=2).map(tuple)
to_values = st.sampled_from([("size",), ("joins", "size"), ("^near", "size")])
op = st.sampled_from(["<", "<=", "=", "!=", ">=", ">"])
leaf = st.one_of(
    st.lists(st.sampled_from([*IDS, *TYPES, *LITERALS, "nowhere"]), min_size=1, max_size=3).map(tuple).map(TopicSet),
    st.sampled_from(sorted(SCHEMA.kinds)).map(KindSet),
)


def sets_of(inner: st.SearchStrategy) -> st.SearchStrategy:
    condition = st.one_of(
        st.builds(HasPathTo, path, inner),
        st.builds(LacksPathTo, path, st.none() | inner),
        st.builds(
            ValueComparison,
            to_values,
            op,
            number=st.sampled_from([7.0, 12.5, 1984.0, 0.0]),
            unit=st.sampled_from(["", "km"]),
        ),
        st.builds(ValueComparison, to_values, op, date=st.sampled_from(["1984", "1984-05", "1984-05-17", "2001"])),
        st.builds(ValueComparison, to_values, st.sampled_from(["=", "!="]), text=st.sampled_from(["blue", "7"])),
        st.builds(CountComparison, path, op, st.integers(0, 3)),
        st.builds(ComparisonWithSet, to_values, op, inner, st.sampled_from(["max", "mean"])),
    )
    pairs = st.one_of(*(st.builds(each, inner, inner) for each in (Intersection, Union, Difference)))
    how, number = st.sampled_from(["most", "least"]), st.integers(1, 3)
    best = st.builds(TopByValue, inner, to_values, how, number, st.integers(0, 1))
    most = st.builds(TopByValue, inner, path, how, number, st.integers(0, 1), st.just(True))
    return st.one_of(st.builds(FollowPath, inner, path), st.builds(FilteredSet, inner, condition), best, most, pairs)


sets = st.one_of(leaf, sets_of(leaf), sets_of(sets_of(leaf)))
numbers = st.one_of(
    st.builds(CountMembers, sets),
    st.builds(AggregateValue, sets, to_values, st.sampled_from(["sum", "mean", "min", "max"])),
)
plans = st.one_of(
    st.builds(FindMembers, sets),
    st.builds(HasMembers, sets),
    numbers,
    st.builds(CompareNumbers, numbers, op, numbers),
    st.builds(RankGroups, sets, path),
    st.builds(RankGroups, sets, path, st.sampled_from(["sum", "mean"]), to_values),
)


def gives(plan: object, found: PlanResult) -> object:
    if isinstance(plan, FindMembers):
        assert found.total == len(found.rows)
        return {row.entity.id for row in found.rows}
    if isinstance(plan, RankGroups):
        return {row.entity.id: pytest.approx(row.key) for row in found.rows}
    if isinstance(plan, HasMembers | CompareNumbers):
        return found.yes
    return None if found.number is None else pytest.approx(found.number)


@hypothesis_settings(
    max_examples=examples(15),
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(asked=st.lists(plans, min_size=4, max_size=4))
def test_a_compiled_plan_gives_what_the_naive_evaluator_gives(graph: Naive, gateway: Gateway, asked: list) -> None:
    for plan in asked:
        assert parse_plan(json.dumps(serialise_plan(plan))) == plan
        assert verbalise_plan(plan)
    results = gateway.run_all([compile_plan(plan, SCHEMA) for plan in asked])
    for plan, found in zip(asked, results, strict=True):
        assert gives(plan, found) == graph.run(plan), verbalise_plan(plan)
        for row in found.rows:
            assert {(t.head.id, t.relation, t.tail.id) for t in row.witness} <= set(graph.triples)


def find(gateway: Gateway, of: object) -> PlanResult:
    return gateway.run(compile_plan(FindMembers(of), SCHEMA))


@pytest.fixture
def towns(gateway: Gateway, driver: neo4j.Driver, connection: Connection) -> None:
    """Three towns with sizes 5, 9 and none, on a river."""
    clear_database(driver, connection.database)
    triples = [(f"t{i}", "type", "town") for i in range(3)]
    triples += [("t0", "size", '"5"'), ("t1", "size", '"9"'), ("t0", "near", "r"), ("t1", "near", "r")]
    write_graph(driver, gateway, triples, {}, literals={'"5"': "5", '"9"': "9"}, related=["near"])


@pytest.mark.usefixtures("towns")
def test_a_result_says_what_it_rests_on(gateway: Gateway) -> None:
    (row,) = find(
        gateway, TopByValue(FilteredSet(KindSet("town"), HasPathTo(("near",), TopicSet(("r",)))), ("size",))
    ).rows
    assert (row.entity.id, row.key, row.next) == ("t1", 9.0, ("t0", 5.0))
    assert [(t.head.id, t.relation, t.tail.id) for t in row.witness] == [
        ("t1", "type", "town"), ("t1", "near", "r"), ("t1", "size", '"9"'),
    ]  # fmt: skip
    mean = gateway.run(compile_plan(AggregateValue(KindSet("town"), ("size",), "mean"), SCHEMA))
    assert (mean.number, mean.missing, mean.total) == (7.0, 1, 2)
    none = gateway.run(compile_plan(AggregateValue(TopicSet(("t2",)), ("size",), "mean"), SCHEMA))
    assert (none.number, none.missing) == (None, 1)


def test_all_are_counted_and_the_first_come_back(
    gateway: Gateway, driver: neo4j.Driver, connection: Connection
) -> None:
    clear_database(driver, connection.database)
    write_graph(driver, gateway, [(f"t{i}", "type", "town") for i in range(MAX_ROWS + 7)], {})
    found = find(gateway, KindSet("town"))
    assert (found.total, len(found.rows), found.is_cut) == (MAX_ROWS + 7, MAX_ROWS, True)


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (FindMembers(FollowPath(KindSet("town"), ("joined",))), "no relation 'joined': did you mean 'joins'"),
        (FindMembers(FilteredSet(KindSet("town"), ValueComparison(("size",), ">"))), "one of number, date, text"),
        (FindMembers(FilteredSet(KindSet("town"), ValueComparison(("size",), ">", text="blue"))), "a text is compared"),
        (RankGroups(KindSet("town"), ("joins",), "mean"), "takes a path to values"),
    ],
)
def test_what_is_no_plan_of_the_graph_is_said(plan: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        compile_plan(plan, SCHEMA)


def test_a_plan_that_is_too_deep_or_too_large_is_refused() -> None:
    deep = wide = KindSet("town")
    for _ in range(9):
        deep = FollowPath(deep, ("joins",))
    with pytest.raises(InputError, match="nested more than 8 deep"):
        compile_plan(FindMembers(deep), SCHEMA)
    sides: list = [wide] * 32
    while len(sides) > 1:
        sides = [Intersection(*pair) for pair in zip(sides[::2], sides[1::2], strict=True)]
    with pytest.raises(InputError, match="more than 40 parts"):
        compile_plan(FindMembers(sides[0]), SCHEMA)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("MATCH (n) RETURN n", "not a plan"),
        ('{"do": "find"}', "at find.of: Field required"),
        ('{"do": "find", "of": {"do": "kind", "name": "a", "cypher": "x"}}', "at find.of.kind.cypher"),
        ('{"do":"find","of":' + '{"do":"follow","path":["r"],"of":' * 3000 + "1" + "}" * 3001, "not a plan"),
    ],
)
def test_what_is_no_plan_at_all_is_said_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_plan(text)


@pytest.mark.usefixtures("towns")
def test_the_engine_runs_a_plan(settings: Settings) -> None:
    text = '{"do":"find","of":{"do":"best","of":{"do":"kind","name":"town"},"path":["size"]}}'
    with Engine(settings) as engine:
        (row,) = engine.run(text).rows
        assert (row.entity.id, row.key, row.next) == ("t1", 9.0, ("t0", 5.0))
        with pytest.raises(InputError):
            engine.run("drop it")


def test_kinds_are_types_with_their_subclasses_else_ends_of_relations() -> None:
    kinds = group_types_by_name([("c", "Cities", ["p"]), ("p", "http://x.example/Place", []), ("r", "river", ["gone"])])
    assert kinds == {"city": KindSource(("c",)), "place": KindSource(("c", "p")), "river": KindSource(("r",))}
    ships = RelationInfo(
        1, "built_in", "built in", 9, domain="Ships", head=RelationEndProfile("ship"), tail=RelationEndProfile("place")
    )
    length = RelationInfo(2, "length", "length", 9, domain="Ships", tail=RelationEndProfile("number"))
    ends = derive_kinds_from_relation_ends([ships, length])
    assert ends == {"ship": KindSource((), ("built_in", "length")), "place": KindSource((), ("^built_in",))}
