"""JSON as people have it: records, lists of triples, nodes and links, answers of other programs, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lodestar.engine.errors import InputError
from lodestar.loaders.formats import source_class
from lodestar.loaders.formats.detecting import detect_format

from tests.references.read_source import ReadSource, read_source


def read(path: Path, content: Any, kind: str) -> ReadSource:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    assert detect_format(str(path)) == kind
    return read_source(source_class(kind)(str(path)))


PEOPLE = [
    {"id": 1, "name": "Ann", "skills": ["sql", "go"], "home": {"city": "Lima"}, "boss": None},
    {"id": 2, "name": "Bo", "skills": "go", "home": {}, "boss": 1, "pets": [{"name": "Rex"}]},
]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("name", ["people.json", "people.jsonl"])
def test_records_are_tables(tmp_path: Path, name: str, indent: int | None) -> None:
    lines = "\n".join(map(json.dumps, PEOPLE))
    found = read(tmp_path / name, lines if name.endswith("l") else json.dumps(PEOPLE, indent=indent), "tables")
    assert {
        ("person/1", "skills", "sql"),
        ("person/2", "skills", "go"),
        ("person/1", "home city", "Lima"),
        ("person/2", "boss", "person/1"),
    } <= set(found.triples)
    assert found.names["person/1"] == ["Ann"]


def test_lists_by_name_are_a_table_each(tmp_path: Path) -> None:
    content = {"people": [{"id": 1, "name": "Ann", "team_id": 7}], "teams": [{"id": 7, "name": "Red"}]}
    assert ("person/1", "team", "team/7") in read(tmp_path / "all.json", content, "tables").triples


def test_results_of_a_query_are_a_table(tmp_path: Path) -> None:
    row = {"item": "http://d.org/1", "itemLabel": "Peru", "capital": "http://d.org/8", "capitalLabel": "Lima"}
    bindings = [{key: {"type": "literal", "value": value} for key, value in row.items()}]
    found = read(tmp_path / "country.json", {"head": {}, "results": {"bindings": bindings}}, "tables")
    assert ("country/http://d.org/1", "capital", "capital/http://d.org/8") in found.triples
    assert "Lima" in found.names["capital/http://d.org/8"]


TRIPLES = {
    "objects": [{"subject": "Ann", "predicate": "knows", "object": "Bo"}, {"subject": "Bo", "predicate": "is", "object": "Cy"}],
    "lists": [["Ann", "knows", "Bo"], ["Bo", "is", "Cy"]],
}  # fmt: skip


@pytest.mark.parametrize("form", TRIPLES)
@pytest.mark.parametrize("indent", [None, 2])
def test_triples_in_one_list(tmp_path: Path, form: str, indent: int | None) -> None:
    found = read(tmp_path / "kg.json", json.dumps(TRIPLES[form], indent=indent), "jsonl")
    assert found.triples == [("Ann", "knows", "Bo"), ("Bo", "is", "Cy")]
    found = read(tmp_path / "kg.jsonl", "\n".join(map(json.dumps, TRIPLES[form])), "jsonl")
    assert found.triples == [("Ann", "knows", "Bo"), ("Bo", "is", "Cy")]


NODES = [{"id": "a", "name": "Ann", "kind": "Person", "age": 5}, {"id": "b", "name": "Bo"}]
LINK = {"source": "a", "target": "b", "type": "knows"}
GRAPHS = {
    "networkx": {"directed": True, "graph": {}, "nodes": NODES, "links": [LINK]},
    "cytoscape": {"elements": {"nodes": [{"data": node} for node in NODES], "edges": [{"data": LINK}]}},
    "vis": {"nodes": NODES, "edges": [{"from": "a", "to": "b", "label": "knows"}]},
    "apoc": "\n".join(
        [
            '{"type":"node","id":"a","labels":["Person"],"properties":{"name":"Ann","age":5}}',
            '{"type":"node","id":"b","labels":[],"properties":{"name":"Bo"}}',
            '{"id":"0","type":"relationship","label":"knows","start":{"id":"a"},"end":{"id":"b"}}',
        ]
    ),
}


@pytest.mark.parametrize("writer", GRAPHS)
def test_nodes_and_links(tmp_path: Path, writer: str) -> None:
    found = read(tmp_path / "g.json", GRAPHS[writer], "json")
    assert {("a", "knows", "b"), ("a", "age", "5"), ("a", "type", "Person")} <= set(found.triples)
    assert found.names["b"] == ["Bo"]


def test_items_of_wikidata_as_its_api_has_them(tmp_path: Path) -> None:
    item = {"type": "item", "id": "Q1", "labels": {"en": {"language": "en", "value": "universe"}}, "claims": {}}
    assert read(tmp_path / "e.json", {"entities": {"Q1": item}}, "wikidata").names == {"Q1": ["universe"]}


REFUSED = {
    "q.jsonl": ('{"id": "1", "question": "Who?", "answers": ["Ann"]}\n', "questions"),
    "page.html": ("<!doctype html><p>a, b, c", "web page"),
    "g.dot": ("digraph { a -> b }\n", "NetworkX"),
    "g.gml": ('graph [ directed 1 node [ id 0 label "Ann" ] ]\n', "NetworkX"),
    "dump.sql": ("CREATE TABLE t (id int, name text);\n", "SQLite"),
    "data.xml": ("<?xml version='1.0'?><people/>", "XML"),
    "kg.yaml": ("- head: Ann\n  relation: knows\n", "YAML"),
    "a.pdf": ("%PDF-1.4\n", "document"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_read_is_named_with_what_to_do(tmp_path: Path, name: str) -> None:
    content, said = REFUSED[name]
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=said):
        detect_format(str(tmp_path / name))


@pytest.mark.parametrize("content", ['{"nodes": [1], "links": []}', '{"nodes": [{"id": "a"}], "links": [{"x": 1}]}', '{"nodes": []}'])  # fmt: skip
def test_a_fault_in_a_graph_is_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "g.json").write_text(content)
    with pytest.raises(InputError, match=r"g\.json:1: expected nodes and links"):
        source_class("json")(str(tmp_path / "g.json"))


@pytest.mark.parametrize("content", ["[1, 2]", '[{"a": 1}, 2]', '{"a": 1}\n{bad\n'])
def test_a_fault_in_records_is_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(InputError, match=r"t\.json:\d"):
        source_class("tables")(str(tmp_path / "t.json"))
