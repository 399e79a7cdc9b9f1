"""What becomes of a property graph: names that are guessed, mappings that are changed and written, values, pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from lodestar.engine.data_model import XSD
from lodestar.loaders.mapping import (
    Choices,
    GraphMapping,
    LabelFacts,
    LabelMapping,
    PropertySample,
    Survey,
    TypeFacts,
    apply_choices,
    guess_mapping,
    guess_names,
    read_mapping,
)
from lodestar.loaders.property_graph import Node, PropertyGraph, PropertyGraphSource, Relationship, read_literals
from neo4j.spatial import WGS84Point
from neo4j.time import Date, DateTime, Duration, Time

from tests.made.files import refusal, written
from tests.references.read_source import ReadSource, part_rows


def label_facts(num: int, **keys: tuple[int, float, str]) -> LabelFacts:
    """Return facts of a label: of each property how many nodes have it, the share that differs, and the type."""
    samples = {
        key: PropertySample(key, f"{type_} NOT NULL", having, round(share * having), 0, 10.0)
        for key, (having, share, type_) in keys.items()
    }
    return LabelFacts(num, Counter({key: having for key, (having, _, _) in keys.items()}), samples)


TEXT = "STRING"


@pytest.mark.parametrize(
    ("label", "facts", "expected"),
    [
        ("Person", label_facts(10, name=(10, 1, TEXT), title=(10, 0.2, TEXT)), [("name",), ("title",)]),
        ("Movie", label_facts(10, title=(10, 1, TEXT), tagline=(9, 1, TEXT)), [("title",)]),
        ("Movie", label_facts(10, name=(4, 1, TEXT), title=(10, 1, TEXT)), [("title",)]),
        ("Product", label_facts(10, productName=(10, 0.3, TEXT), otherName=(10, 1, TEXT)), [("productName",), ("otherName",)]),
        ("Order", label_facts(10, orderID=(10, 1, "INTEGER"), shipName=(10, 0.1, TEXT)), []),
        ("Customer", label_facts(9, companyName=(9, 1, TEXT), contactName=(9, 1, TEXT)), [("companyName",), ("contactName",)]),
        (
            "Employee",
            label_facts(9, first_name=(9, 1, TEXT), last_name=(9, 1, TEXT), title=(9, 0.5, TEXT)),
            [("first_name", "last_name"), ("title",)],
        ),
        ("Year", label_facts(9, name=(9, 1, "INTEGER")), [("name",)]),
        ("Vector", label_facts(9, name=(9, 1, "LIST<FLOAT")), []),
        ("Airport", label_facts(9, code=(9, 1, TEXT), runs=(9, 1, "INTEGER")), [("code",)]),
        ("Nothing", LabelFacts(9), []),
    ],
)  # fmt: skip
def test_the_naming_property_is_guessed(label: str, facts: LabelFacts, expected: Sequence[tuple[str, ...]]) -> None:
    assert guess_names(label, facts) == expected


def survey_of(labels: Mapping[str, LabelFacts], types: Mapping[str, TypeFacts]) -> Survey:
    return Survey(labels, types, 10)


@pytest.fixture
def films() -> Survey:
    person = label_facts(7, name=(7, 1, TEXT), born=(3, 1, "INTEGER"), nickname=(1, 1, TEXT))
    movie = label_facts(3, title=(3, 1, TEXT), released=(3, 1, "INTEGER"), plot=(3, 1, "LIST<FLOAT"))
    movie.samples["plot"] = movie.samples["plot"]._replace(num_items=1_536)
    acted = TypeFacts(4, 3, Counter(roles=3), Counter(Person=4), Counter(Movie=4))
    return survey_of({"Person": person, "Movie": movie}, {"ACTED_IN": acted, "FOLLOWS": TypeFacts(2)})


LABELS = {
    "Movie": LabelMapping(("title",), (), ("released",)),
    "Person": LabelMapping(("name",), ("nickname",), ("born",)),
}
FILMS = GraphMapping(LABELS, {"ACTED_IN": ("roles",), "FOLLOWS": ()})


def test_a_mapping_is_guessed_without_vectors_and_with_rarer_labels_first(films: Survey) -> None:
    assert guess_mapping(films) == FILMS
    assert list(guess_mapping(films).labels) == ["Movie", "Person"]


def test_a_mapping_written_is_the_one_that_is_read(tmp_path: Path) -> None:
    odd = {"": LabelMapping(("na\x7fme",)), 'say "a"\\😀\n': LabelMapping((), ("ö",), ("a.b",))}
    mapping = GraphMapping({**FILMS.labels, **odd}, {**FILMS.relationships, "IS A": ("x y",)}, types=False)
    file = tmp_path / "mapping.toml"
    file.write_text(mapping.as_toml(), encoding="utf-8")
    assert read_mapping(file) == mapping
    assert list(read_mapping(file).labels) == list(mapping.labels)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("labels = ", "expected TOML"),
        ("lables = 1", "lables: unexpected"),
        ("labels.Person.name = 'x'", "labels.Person.name: input should be a valid tuple"),
        ("labels.Person.names = 'x'", "labels.Person.names: unexpected"),
    ],
)
def test_a_faulty_mapping_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    file = Path(written(tmp_path, text, "mapping.toml"))
    assert f"{file}: {message}" in refusal(lambda: read_mapping(file))


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        (Choices(labels=["Person"]), {"Person": FILMS.labels["Person"]}),
        (Choices(names=["Person=born"]), LABELS | {"Person": LabelMapping(("born",), ("nickname",), ("name",))}),
        (Choices(names=["released"]), LABELS | {"Movie": LabelMapping(("released",), (), ("title",))}),
        (
            Choices(names=["Person=name+nickname"]),
            LABELS | {"Person": LabelMapping(("name", "nickname"), (), ("born",))},
        ),
        (Choices(leave_out=["born"]), LABELS | {"Person": LabelMapping(("name",), ("nickname",))}),
    ],
)
def test_options_change_a_mapping(films: Survey, choices: Choices, expected: Mapping[str, LabelMapping]) -> None:
    assert apply_choices(FILMS, films, choices) == GraphMapping(expected, FILMS.relationships)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", [("text", None)]),
        (" ", []),
        (True, [("true", "boolean")]),
        (0.25, [("0.25", "double")]),
        (float("-inf"), [("-INF", "double")]),
        (Decimal("Infinity"), [("INF", "double")]),
        (Date(1992, 5, 1), [("1992-05-01", "date")]),
        (DateTime(1997, 8, 25, 10, 30, 0), [("1997-08-25T10:30:00", "dateTime")]),
        (Time(10, 30, 0, 250_000_000), [("10:30:00.25", "time")]),
        (Duration(days=28), [("P28D", "duration")]),
        (WGS84Point((13.4, 52.5)), [("POINT(13.4 52.5)", "http://www.opengis.net/ont/geosparql#wktLiteral")]),
        (["a", "b", "a", " "], [("a", None), ("b", None)]),
        ([1.5] * 65, []),
        (b"\x00", []),
    ],
)  # fmt: skip
def test_values_become_literals(value: object, expected: Sequence[tuple[str, str | None]]) -> None:
    assert [(each.text, each.datatype and each.datatype.removeprefix(XSD)) for each in read_literals(value)] == expected


class ListedGraph(PropertyGraph):
    """A graph of these elements."""

    kind = "listed"

    def __init__(self, found: Sequence[Node | Relationship]) -> None:
        super().__init__("listed")
        self.found = found

    def elements(self) -> Iterator[Node | Relationship]:
        yield from self.found


def rows_of(mapping: GraphMapping, *found: Node | Relationship) -> tuple[list[tuple[str | None, ...]], dict[str, int]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lodestar.loaders.mapping.resolve_mapping", lambda *_: mapping)
        source = PropertyGraphSource(ListedGraph(found))
    rows = [row for part in source.parts() for row in part_rows(part, ReadSource())]
    made = [(row["tag"] or row["category"], row["head"], row["relation"], row["tail"]) for row in rows if row["line"]]
    return made, dict(source.left_out)


def test_a_node_is_named_by_the_first_label_whose_property_it_has() -> None:
    node = Node("4:x:1", ["Person", "Movie"], [("name", "Ann"), ("nickname", ["A", "B"]), ("born", 1), ("shoe", 4)])
    made, left_out = rows_of(FILMS, node)
    assert made == [
        ("triple", "4:x:1", "type", "Movie"),
        ("triple", "4:x:1", "type", "Person"),
        ("name", "4:x:1", None, "Ann"),
        ("alias", "4:x:1", None, "A"),
        ("alias", "4:x:1", None, "B"),
        ("triple", "4:x:1", "born", "1"),
    ]
    assert left_out == {"properties": 1}
    assert rows_of(FILMS, Node("4:x:1", ["Other"], [])) == ([], {"nodes": 1})


def test_a_node_without_a_name_is_called_by_its_key() -> None:
    order = GraphMapping({"Order": LabelMapping(("title",), (), (), "id")})
    made, left_out = rows_of(order, Node("4:x:1", ["Order"], [("id", 10248)]), Node("4:x:2", ["Order"], [("id", "DE")]))
    assert [row for row in made if row[0] == "name"] == [
        ("name", "4:x:1", None, "Order 10248"),
        ("name", "4:x:2", None, "DE"),
    ]
    assert not left_out


def test_a_relationship_with_properties_is_a_record() -> None:
    made, left_out = rows_of(
        FILMS,
        Node("4:x:1", ["Person"]),
        Node("4:x:2", ["Movie"]),
        Node("4:x:3", ["Other"]),
        Relationship("5:x:1", "ACTED_IN", "4:x:1", "4:x:2", [("roles", ["Neo", "One"]), ("pay", 1)]),
        Relationship("5:x:2", "ACTED_IN", "4:x:1", "4:x:1", [("roles", [])]),
        Relationship("5:x:3", "FOLLOWS", "4:x:1", "4:x:3", []),
        Relationship("5:x:4", "LIKES", "4:x:1", "4:x:2", []),
    )
    assert [row for row in made if row[2] != "type"] == [
        ("triple", "4:x:1", "ACTED_IN", "5:x:1"),
        ("triple", "5:x:1", "ACTED_IN", "4:x:2"),
        ("triple", "5:x:1", "roles", "Neo"),
        ("triple", "5:x:1", "roles", "One"),
        ("triple", "4:x:1", "ACTED_IN", "4:x:1"),
    ]
    assert left_out == {"nodes": 1, "properties": 1, "values that are no literals": 1, "relationships": 2}
