"""Graphs and records in JSON, GraphML and GEXF in the forms that the usual programs write, and what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import networkx
import pytest
from lodestar.engine.errors import InputError
from lodestar.loaders.formats import source_class
from lodestar.loaders.formats.detecting import detect_format
from lodestar.loaders.formats.graph_files import GraphmlGraph
from lodestar.loaders.mapping import Choices
from lodestar.loaders.property_graph import PropertyGraphSource

from tests.made.files import refusal, written
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
    "entity2id.txt": ("2\nAnn Ash\t0\nBo\t1\n", "this is OpenKE's numbering: write a TSV"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_read_is_named_with_what_to_do(tmp_path: Path, name: str) -> None:
    content, said = REFUSED[name]
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=said):
        detect_format(str(tmp_path / name))


@pytest.mark.parametrize(
    ("kind", "content", "fault"),
    [
        ("json", '{"nodes": [1], "links": []}', r"g\.json:1: expected nodes and links"),
        ("json", '{"nodes": [{"id": "a"}], "links": [{"x": 1}]}', r"g\.json:1: expected nodes and links"),
        ("json", '{"nodes": []}', r"g\.json:1: expected nodes and links"),
        ("tables", "[1, 2]", r"g\.json:\d"),
        ("tables", '[{"a": 1}, 2]', r"g\.json:\d"),
        ("tables", '{"a": 1}\n{bad\n', r"g\.json:\d"),
    ],
)
def test_a_fault_in_json_is_told_with_its_line(tmp_path: Path, kind: str, content: str, fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        source_class(kind)(written(tmp_path, content, "g.json"))


GEPHI = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key attr.name="label" attr.type="string" for="node" id="label"/>
<key attr.name="Edge Label" attr.type="string" for="edge" id="edgelabel"/>
<key attr.name="weight" attr.type="double" for="edge" id="weight"/>
<graph edgedefault="directed"><node id="1"><data key="label">Ann</data></node><node id="2"><data key="label">Bo</data></node>
<edge id="0" source="1" target="2"><data key="edgelabel">has_next</data><data key="weight">2.0</data></edge></graph></graphml>"""
APOC = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph id="G" edgedefault="directed">
<node id="n0" labels=":Person:Actor"><data key="labels">:Person:Actor</data><data key="name">Ann</data></node>
<node id="n1" labels=":Film"><data key="labels">:Film</data></node>
<edge id="e0" source="n0" target="n1" label="KNOWS"></edge></graph></graphml>"""
YED = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
<key for="node" id="d6" yfiles.type="nodegraphics"/><key for="edge" id="d10" yfiles.type="edgegraphics"/>
<graph><node id="n0"><data key="d6"><y:ShapeNode><y:NodeLabel>Ann</y:NodeLabel></y:ShapeNode></data></node>
<node id="n1"><data key="d6"><y:ShapeNode><y:NodeLabel>Bo</y:NodeLabel></y:ShapeNode></data></node>
<edge id="e0" source="n0" target="n1"><data key="d10"><y:PolyLineEdge><y:EdgeLabel>knows</y:EdgeLabel></y:PolyLineEdge></data></edge>
</graph></graphml>"""
DEFAULTS = """<graphml><key id="d0" for="node" attr.name="color"><default>red</default></key>
<key id="d1" for="edge" attr.name="relation"><default>likes</default></key><key id="d2" for="node" attr.name="age" attr.type="int"/>
<key id="d3" for="node" attr.name="altLabel"/><key id="d4" for="node" attr.name="kind"/>
<graph><node id="Ann"><data key="d0">blue</data><data key="d3">A | Annie</data></node>
<node id="Bo"><data key="d2"> 7 </data><data key="d4">cat</data></node>
<edge source="Ann" target="Bo"/><edge source="Bo" target="Ann" id="knows"><data key="d1">knows</data></edge></graph></graphml>"""
GEXF = """<gexf xmlns="http://gexf.net/1.3"><graph><attributes class="node"><attribute id="0" title="born" type="integer"/></attributes>
<nodes><node id="a" label="Ann"><attvalues><attvalue for="0" value="1961"/></attvalues></node><node id="b" label="Bo"/></nodes>
<edges><edge id="0" source="a" target="b" label="knows"/><edge id="1" source="b" target="a" weight="2.5"/></edges></graph></gexf>"""


def read_xml(folder: Path, text: str | bytes, form: str = "graphml") -> ReadSource:
    return read_source(source_class(form)(written(folder, text, f"kg.{form}")))


@pytest.mark.parametrize(
    ("text", "triples", "names"),
    [
        (GEPHI, {("1", "has_next", "edge/1"), ("edge/1", "has_next", "2"), ("edge/1", "weight", "2.0")}, {"1": ["Ann"], "2": ["Bo"]}),
        (
            APOC,
            {("n0", "type", "Person"), ("n0", "type", "Actor"), ("n1", "type", "Film"), ("n0", "KNOWS", "n1")},
            {"n0": ["Ann"], "n1": ["Film n1"], "Actor": ["Actor"], "Film": ["Film"], "Person": ["Person"]},
        ),
        (YED, {("n0", "knows", "n1")}, {"n0": ["Ann"], "n1": ["Bo"]}),
        (
            DEFAULTS,
            {("Ann", "likes", "Bo"), ("Bo", "knows", "Ann"), ("Ann", "color", "blue"), ("Bo", "color", "red"), ("Bo", "age", "7"), ("Bo", "type", "cat")},
            {"Ann": ["Ann", "A", "Annie"], "Bo": ["Bo"], "cat": ["cat"]},
        ),
    ],
)  # fmt: skip
def test_graphml_of_the_usual_programs(
    tmp_path: Path, text: str, triples: set[tuple[str, str, str]], names: dict[str, list[str]]
) -> None:
    found = read_xml(tmp_path, gzip.compress(text.encode()))
    assert (set(found.triples), found.names) == (triples, names)


def test_gexf(tmp_path: Path) -> None:
    found = read_xml(tmp_path, GEXF, "gexf")
    record = {("b", "linked_to", "edge/2"), ("edge/2", "linked_to", "a"), ("edge/2", "weight", "2.5")}
    assert set(found.triples) == {("a", "born", "1961"), ("a", "knows", "b")} | record
    assert found.literals[0] == ("1961", "http://www.w3.org/2001/XMLSchema#integer", None)


def test_edges_before_their_nodes_are_there_when_some_labels_are_chosen(tmp_path: Path) -> None:
    nodes = "".join(
        f'<node id="{id_}" labels=":{label}"/>' for id_, label in (("a", "Person"), ("b", "Person"), ("c", "Film"))
    )
    edges = "".join(f'<edge source="a" target="{end}" label="knows"/>' for end in "bcd")
    path = tmp_path / "kg.graphml"
    for body in (edges + nodes, nodes + edges):
        path.write_text(f"<graphml><graph>{body}</graph></graphml>", encoding="utf-8")
        source = PropertyGraphSource(GraphmlGraph(str(path)), Choices(labels=["Person"]))
        assert read_source(source).triples.count(("a", "knows", "b")) == 1
        assert source.left_out == {"nodes": 1, "relationships": 2}


def test_what_networkx_writes_is_read_and_edges_without_a_relation_are_counted(tmp_path: Path) -> None:
    networkx.write_graphml(networkx.karate_club_graph(), tmp_path / "karate.graphml")
    source = source_class("graphml")(str(tmp_path / "karate.graphml"))
    found = read_source(source)
    assert ("0", "club", "Mr. Hi") in found.triples
    assert source.left_out == {"edges without a relation, which are called linked_to": 78}
    multi = networkx.MultiDiGraph()
    multi.add_edge("Ann", "Bo", key="knows")
    networkx.write_graphml(multi, tmp_path / "multi.graphml")
    assert read_source(source_class("graphml")(str(tmp_path / "multi.graphml"))).triples == [("Ann", "knows", "Bo")]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("<graphml><node>", ":1: expected GraphML, found a fault: no element found"),
        ("<graphml><node id='a'/><edge source='a'/></graphml>", ": expected a source and a target of an edge"),
        ("<graphml><node id='a'/></graphml>", ": expected edges, found none and 1 nodes"),
        ('<!DOCTYPE x [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><graphml>&c;</graphml>', ": the XML entity c is made of"),
        (f'<!--{"-x" * 70_000}--><!DOCTYPE x [<!ENTITY % a "b">]><graphml/>', ": the XML entity a is made of"),
        ('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><graphml/>', ": the XML entity a names a file"),
        ('<?xml version="1.0" encoding="Shift_JIS"?><graphml/>', ": its encoding is not read"),
    ],
)
def test_xml_that_is_no_graph_is_refused_in_one_line(tmp_path: Path, content: str, fault: str) -> None:
    assert refusal(lambda: read_xml(tmp_path, content)).startswith(str(tmp_path / "kg.graphml") + fault)
