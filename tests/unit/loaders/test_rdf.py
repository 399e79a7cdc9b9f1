"""RDF of every syntax is the same graph; faults have their file and line; what cannot be a triple is counted."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lodestar.engine.errors import InputError
from lodestar.engine.writing import RelationMetadata
from lodestar.loaders.formats.detecting import detect_format
from lodestar.loaders.formats.rdf import RdfSource
from lodestar.loaders.source import Subset
from lodestar.loaders.stage import Stage, StageCounts

from tests.made.files import refusal, written
from tests.references.read_source import ReadSource, read_source

E = "http://e.org/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
XSD = "http://www.w3.org/2001/XMLSchema#"
PREFIXES = f"@prefix : <{E}> .\n@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
TURTLE = PREFIXES + ':ann :knows :bo , :cy ; :age 5 ; rdfs:label "Ann"@en .\n'
TRIPLES = f'<{E}ann> <{E}knows> <{E}bo> {{}}.\n<{E}ann> <{E}knows> <{E}cy> {{}}.\n<{E}ann> <{E}age> "5"^^<{XSD}integer> {{}}.\n<{E}ann> <{LABEL}> "Ann"@en {{}}.\n'
XML = f"""<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="{E}" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
<rdf:Description rdf:about="{E}ann"><knows rdf:resource="{E}bo"/><knows rdf:resource="{E}cy"/>
<age rdf:datatype="{XSD}integer">5</age><rdfs:label xml:lang="en">Ann</rdfs:label></rdf:Description></rdf:RDF>
"""
JSON_LD = f"""{{"@context": {{"@vocab": "{E}", "rdfs": "http://www.w3.org/2000/01/rdf-schema#"}}, "@id": "{E}ann",
"knows": [{{"@id": "{E}bo"}}, {{"@id": "{E}cy"}}], "age": 5, "rdfs:label": {{"@value": "Ann", "@language": "en"}}}}"""


def read(folder: Path, content: bytes | str, name: str = "kg.ttl", **options: Any) -> ReadSource:
    return read_source(RdfSource(written(folder, content, name), **options))


def zipped(content: bytes) -> bytes:
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("kg", content)
    return made.getvalue()


def zstd(content: bytes) -> bytes:
    made = pa.BufferOutputStream()
    with pa.CompressedOutputStream(made, "zstd") as stream:
        stream.write(content)
    return made.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("kg.nt", TRIPLES.replace("{}", "")),
        ("kg.nq", TRIPLES.replace("{}", f"<{E}g> ")),
        ("kg.ttl", TURTLE),
        ("kg.trig", PREFIXES + ":g {" + TURTLE.removeprefix(PREFIXES) + "}"),
        ("kg.n3", TURTLE),
        ("kg.rdf", XML),
        ("kg.owl", XML),
        ("kg.owl", TURTLE),
        ("kg.jsonld", JSON_LD),
        ("kg.json", JSON_LD),
        ("kg", TURTLE),
        ("kg", XML),
        ("kg.xml", XML.replace("5", "5").encode("utf-16")),
        ("kg.ttl", b"\xef\xbb\xbf" + TURTLE.replace("\n", "\r\n").encode()),
    ],
)
def test_every_syntax_is_the_same_graph(tmp_path: Path, name: str, content: str | bytes) -> None:
    assert detect_format(written(tmp_path, content, name)) == "rdf"
    found = read(tmp_path, content, name)
    assert sorted(found.triples) == [
        (f"{E}ann", f"{E}age", "5"),
        (f"{E}ann", f"{E}knows", f"{E}bo"),
        (f"{E}ann", f"{E}knows", f"{E}cy"),
    ]
    assert found.literals == [("5", f"{XSD}integer", None)]
    assert found.names == {f"{E}ann": ["Ann"]}
    assert found.counts["name of a graph"] == (name in ("kg.nq", "kg.trig"))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstd, zipped])
def test_packed_files_are_read(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = written(tmp_path, pack(TURTLE.encode()), "kg.ttl.packed")
    assert len(read_source(RdfSource(path)).triples) == 3
    with pytest.raises(InputError, match=r"in a packed file: unpack it first$"):
        read(tmp_path, pack(gzip.compress(TURTLE.encode())))


def test_blank_nodes_belong_to_their_file(tmp_path: Path) -> None:
    written(tmp_path, f"_:b0 <{E}p> <{E}one> .\n", "1.nt")
    written(tmp_path, f"_:b0 <{E}p> <{E}two> .\n", "2.nt")
    heads = {head for head, _, _ in read_source(RdfSource(str(tmp_path))).triples}
    assert len(heads) == 2
    assert all(head.startswith("_:") and head.endswith("_b0") for head in heads)
    shared = read_source(RdfSource(str(tmp_path), shared_blank_nodes=True)).triples
    assert {head for head, _, _ in shared} == {"_:b0"}


def test_a_blank_node_without_a_label_has_the_same_id_each_time(tmp_path: Path) -> None:
    first, second = (read(tmp_path, PREFIXES + ":a :has [ :p :b ] . :c :has [ :p :d ] .").triples for _ in range(2))
    assert first == second
    assert len({tail for _, relation, tail in first if relation == f"{E}has"}) == 2


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("kg.rdf", XML.replace("</knows>", "").replace("<knows ", "<knows>", 1), ":4: expected RDF/XML, found a fault: mismatched tag"),
        ("kg.rdf", '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + XML[22:], ": the XML entity x names a file"),
        ("kg.rdf", '<!DOCTYPE r [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>' + XML[22:], ": the XML entity b is made of other"),
        ("kg.jsonld", '{"@context": "https://x.org/c.jsonld", "@id": "http://e.org/a"}', ": a context is on the web, and nothing is fetched"),
        ("kg.jsonld", '{"@context": {"p": "http://e.org/p"}, "@id": "#a", "p": "x"}', "an IRI is relative and the file has no base: give one by --base"),
        ("kg.jsonld", '{"@context":\n{', ":2: "),
        ("kg.ttl", b"", ": the file is empty"),
        ("kg.nt", b'<e:a> <e:p> "%b" .' % (b"x" * 17_000_000), ": a statement is longer than 16,777,216 bytes"),
        ("kg.nt", '<e:a> <e:p> <e:b> .\n<e:a> <e:p> "broken .\n<e:a> <e:p> <e:c> .\n', ":2: unexpected end of file"),
        ("kg.ttl", PREFIXES.encode() + b':a :b "Z\xfcrich" .', ":3: invalid UTF-8"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str, content: str | bytes, fault: str) -> None:
    assert fault in refusal(lambda: read(tmp_path, content, name))


@pytest.mark.parametrize(
    ("name", "line", "fault"),
    [
        ("kg.ttl", ":a :b <c> .", "an IRI is relative and the file has no base: give one by --base"),
        ("kg.ttl", "<a> <b> <c> .", "an IRI is relative and the file has no base: give one by --base"),
        ("kg.nt", f'<{E}a> <{E}b> "C:\\dir" .', "unexpected escape character"),
        ("kg.nt", f'<< <{E}a> <{E}b> <{E}c> >> <{E}b> "1" .', "RDF-star's << … >> as a subject is not read"),
    ],
)
def test_a_bad_line_is_rejected_with_its_number(tmp_path: Path, name: str, line: str, fault: str) -> None:
    before, after = (PREFIXES, ":e :b :f .\n") if name == "kg.ttl" else ("\n\n", f"<{E}e> <{E}b> <{E}f> .\n")
    found = read(tmp_path, f"{before}{line}\n{after}", name)
    assert found.triples == [(f"{E}e", f"{E}b", f"{E}f")]
    assert found.rejects[0][1].startswith("line 3: ")
    assert fault in found.rejects[0][1]


def test_a_context_of_schema_org_needs_no_web(tmp_path: Path) -> None:
    text = '{"@context": "https://schema.org/", "@type": "Person", "@id": "http://e.org/a", "name": "Ann"}'
    assert read(tmp_path, text, "kg.jsonld").names == {"http://e.org/a": ["Ann"]}


def test_a_triple_term_is_a_record_between_its_ends(tmp_path: Path) -> None:
    found = read(tmp_path, PREFIXES + ":a :p :b {| :since 1999 |} .")
    (record,) = {head for head, _, _ in found.triples if head.startswith("_:")}
    assert sorted(found.triples) == sorted(
        [
            (f"{E}a", f"{E}p", f"{E}b"),
            (f"{E}a", f"{E}p", record),
            (record, f"{E}p", f"{E}b"),
            (record, f"{E}since", "1999"),
        ]
    )


def test_formulas_of_n3_are_not_stated(tmp_path: Path) -> None:
    found = read(tmp_path, PREFIXES + ":a :p :b . { :a :p :c } => { :a :p :d } .", "kg.n3")
    assert found.triples[0] == (f"{E}a", f"{E}p", f"{E}b")
    assert found.counts["triple in a formula"] == 2


OWL = """@prefix : <http://e.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:onto a owl:Ontology ; owl:versionInfo "1" .
:part_of rdfs:label "part of" ; a owl:ObjectProperty ; owl:inverseOf :has_part ; rdfs:range :Organ .
:Hand a owl:Class ; rdfs:subClassOf :Organ , [ a owl:Restriction ; owl:onProperty :part_of ; owl:someValuesFrom :Arm ] .
:Paw owl:equivalentClass [ owl:intersectionOf ( :Organ [ owl:onProperty :part_of ; owl:someValuesFrom :Leg ] ) ] .
:Arm owl:disjointWith :Leg ; rdfs:subClassOf [ owl:onProperty :part_of ; owl:allValuesFrom :Body ] .
[] a owl:Axiom ; owl:annotatedSource :Hand ; owl:annotatedProperty rdfs:label ; rdfs:comment "noise" .
:Arm :found [ :by :Ann ] .
"""


def test_an_ontology_is_read_as_people_mean_it(tmp_path: Path) -> None:
    source = RdfSource(written(tmp_path, OWL, "kg.owl"), bases=[E])
    found = read_source(source)
    sub = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
    (record,) = {head for head, _, _ in found.triples if head.startswith("_:")}
    assert sorted(found.triples) == sorted(
        [
            ("Hand", sub, "Organ"),
            ("Hand", "part_of", "Arm"),
            ("Paw", sub, "Organ"),
            ("Paw", "part_of", "Leg"),
            ("Arm", "found", record),
            (record, "by", "Ann"),
        ]
    )
    assert found.names == {"part_of": ["part of"]}
    assert source.relation_facts()["part_of"] == RelationMetadata(range="organ", inverse="has_part")
    assert source.relation_facts()["has_part"].inverse == "part_of"
    assert found.counts["axiom"] == 8


def staged(folder: Path, source: RdfSource) -> tuple[StageCounts, dict[str, tuple[str | None, list[str] | None]]]:
    with Stage(folder / "stage") as stage:
        counts = stage.fill(source, subset=Subset(), max_rejects=0, rejects_file=None)
        rows = [row for batch in stage.node_rows("results/entity_rows", 100) for row in batch.to_pylist()]
        stage.delete()
    return counts, {row["id"].removeprefix(E): (row["name"], row["aliases"]) for row in rows}


def test_names_come_from_the_best_that_is_there(tmp_path: Path) -> None:
    text = """@prefix : <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    @prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
    :a foaf:name "Foaf" ; skos:prefLabel "Pref"@en ; rdfs:label "Label"@en , "Schild"@de ; :p :b .
    :b skos:prefLabel "Lift"@en-GB , "Aufzug"@de ; :p :c .
    :c rdfs:label "Мильво"@ru ; :p :d .
    :d :productName "Chai" ; :p :e .
    :e :firstName "Nancy" ; :lastName "Davolio" ; :p :BattleImp .
    :BattleImp :hasAlignment :lawfulEvil ; :p <http://e.org/order/10248> .
    <http://e.org/order/10248> a :SalesOrder ; :p [ :q :a ] , <http://e.org/6b6e148d-449f-4e88-808d-cdf9cdc9bba3> .
    """
    counts, names = staged(tmp_path, RdfSource(written(tmp_path, text, "kg.ttl")))
    blank = next(id_ for id_ in names if id_.startswith("_:"))
    assert names == {
        "a": ("Label", ["Pref", "Foaf"]),
        "b": ("Lift", None),
        "c": ("Мильво", None),
        "d": ("Chai", None),
        "e": ("Nancy Davolio", None),
        "BattleImp": ("Battle Imp", None),
        "lawfulEvil": ("lawful evil", None),
        "order/10248": ("Sales Order 10248", None),
        "SalesOrder": ("Sales Order", None),
        blank: (None, None),
        "6b6e148d-449f-4e88-808d-cdf9cdc9bba3": (None, None),
    }
    assert counts.num_unnamed == 2
    assert counts.named_by == {
        "id": 4,
        LABEL: 2,
        f"{E}firstName": 1,
        f"{E}productName": 1,
        "http://www.w3.org/2004/02/skos/core#prefLabel": 1,
    }


SCHEMA = """@prefix : <http://e.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Claim a owl:Class ; rdfs:label "claim" . :Policy a owl:Class .
:against a owl:ObjectProperty ; rdfs:domain :Claim ; rdfs:range :Policy .
:size a owl:DatatypeProperty ; rdfs:domain :Claim ; rdfs:range xsd:integer .
"""


def test_an_ontology_without_individuals_is_what_domains_and_ranges_say(tmp_path: Path) -> None:
    edge = (f"{E}Claim", f"{E}against", f"{E}Policy")
    assert read(tmp_path, SCHEMA, "schema.ttl").triples == [edge]
    folder = tmp_path / "with"
    folder.mkdir()
    written(folder, SCHEMA, "a.ttl")
    written(folder, "@prefix : <http://e.org/> .\n:c1 a :Claim ; :against :p1 .\n", "b.ttl")
    assert edge not in read_source(RdfSource(str(folder))).triples
    individual = SCHEMA + ":c1 a :Claim ; :against :p1 .\n"
    assert edge not in read(tmp_path, individual, "both.ttl").triples


def test_domains_and_ranges_without_owl_are_no_facts_about_things(tmp_path: Path) -> None:
    said = ':keptBy rdfs:label "kept by" ; rdfs:domain :Hive ; rdfs:range :Keeper .\n:h1 a :Hive ; :keptBy :nora .\n'
    found = read(tmp_path, PREFIXES + said)
    assert (f"{E}h1", f"{E}keptBy", f"{E}nora") in found.triples
    assert all(head == f"{E}h1" for head, _, _ in found.triples)
    assert found.names[f"{E}keptBy"] == ["kept by"]
