"""The sources: what each reads, what its options change, and every fault with its place."""

from __future__ import annotations

import gzip
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lodestar.engine.errors import InputError
from lodestar.engine.writing.records import domain_of, label_of
from lodestar.loaders.formats.by_name import FORMATS, detect_format, source_class
from lodestar.loaders.formats.delimited import CsvSource, MetaqaSource, PathquestionSource, TsvSource
from lodestar.loaders.formats.freebase import FREEBASE_ID, FreebaseSource
from lodestar.loaders.formats.graphml import gexf_source, graphml_source
from lodestar.loaders.formats.question_subgraphs import RogSource
from lodestar.loaders.formats.rdf import RdfSource
from lodestar.loaders.formats.table_graph import tables_source
from lodestar.loaders.formats.text import TextSource
from lodestar.loaders.formats.triples_parquet import ParquetSource
from lodestar.loaders.source import Source
from pyarrow import parquet

from tests.made.pipelines import save_pipeline
from tests.references.read_source import read_source

KG = "m.1\tp.q.capital\tm.2\nm.1\tp.q.capital\tm.2\nm.2\tinside\tm.1\n"
NAMES = "m.1\tPeru\nm.2\tLima\tCity_of_Kings\nm.9\tNobody\nm.2\tLima\nm.1\tRepública del Perú\nm.1\t\n"
RECORDS: list[dict[str, Any]] = [
    {"id": "q1", "graph": [["Lima", "in", "m.0abc_1"], ["m.0abc_1", "of", "Perú"]]},
    {"id": "q2", "subgraph": [["Lima", "in", "m.0abc_1"]]},
    {"id": "q3", "subgraph": {"tuples": [["a", "b", "c"]], "entities": []}},
]
GRAPHML = """<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d1" for="edge" attr.name="relation" attr.type="string" />
  <key id="d0" for="node" attr.name="name" attr.type="string" />
  <graph edgedefault="directed">
    <node id="a"><data key="d0">A &amp; B</data></node>
    <node id="b" />
    <edge source="a" target="b" id="0"><data key="d1">likes</data></edge>
    <edge source="b" target="a" id="knows" />
    <edge source="b" target="b" id="1" />
  </graph>
</graphml>
"""
GEXF = """<gexf><graph><nodes><node id="a"/></nodes><edges><edge source="a" target="a" label="likes"/></edges></graph></gexf>"""
ITEM = json.dumps(
    {
        "type": "item", "id": "Q1", "labels": {"en": {"language": "en", "value": "one"}},
        "claims": {"P1": [{"rank": "normal", "id": "Q1-1", "mainsnak": {
            "snaktype": "value", "property": "P1", "datavalue": {"type": "string", "value": "x"}}}]},
    }
)  # fmt: skip
SAMPLES: dict[str, Callable[[Path], Source]] = {
    "csv": lambda folder: CsvSource(written(folder, KG.replace("\t", ","), "kg.csv")),
    "freebase": lambda folder: FreebaseSource(written(folder, "</a>\t</b>\t</c>\t.\n", "fb.nt")),
    "gexf": lambda folder: gexf_source(written(folder, GEXF, "kg.gexf")),
    "geonames": lambda folder: source_class("geonames")(),
    "graphml": lambda folder: graphml_source(written(folder, GRAPHML, "kg.graphml")),
    "metaqa": lambda folder: MetaqaSource(written(folder, KG.replace("\t", "|"), "kb.txt")),
    "obo": lambda folder: source_class("obo")(written(folder, "[Term]\nid: X:2\nis_a: X:1\n", "kg.obo")),
    "parquet": lambda folder: ParquetSource(str(triples_parquet(folder / "kg.parquet"))),
    "pathquestion": lambda folder: PathquestionSource(written(folder, KG, "kb.txt")),
    "rdf": lambda folder: RdfSource(written(folder, "<a> <b> <c> .\n", "kg.nt")),
    "rog": lambda folder: RogSource(written(folder, json_lines(RECORDS), "q.jsonl")),
    "tables": lambda folder: tables_source(written(folder, "id,name,size\n1,Lima,9\n", "towns.csv")),
    "text": lambda folder: TextSource(
        written(folder, "Ada met Bob in Lima. Ada met Bob in Rome.\n", "notes.txt"), save_pipeline(folder, "Ada", "Bob")
    ),
    "tsv": lambda folder: TsvSource(written(folder, KG), written(folder, NAMES, "names.tsv")),
    "wikidata": lambda folder: source_class("wikidata")(written(folder, ITEM, "kg.json")),
}


def written(folder: Path, content: bytes | str, name: str = "kg.tsv") -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def json_lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


# Every source


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_a_source(tmp_path: Path, name: str) -> None:
    source = SAMPLES[name](tmp_path)
    assert isinstance(source, Source)
    assert source.kind == name
    assert source.name
    assert source.max_rejects >= 0
    assert all(language == language.lower() for language in source.languages)
    assert json.loads(json.dumps(source.options())) == source.options()
    assert source.digest() == SAMPLES[name](tmp_path).digest()
    assert len(source.digest()) == 64
    first, second = read_source(source), read_source(source)
    assert first == second
    assert first.triples
    if source.size_bytes is not None:
        assert source.position_bytes == source.size_bytes
    assert all(fact is not None for fact in source.relation_facts().values())


@pytest.mark.parametrize(
    ("make", "changed"),
    [
        (TsvSource, {"columns": ("3", "2", "1")}),
        (TsvSource, {"header": "yes"}),
        (TsvSource, {"literals": False}),
        (TsvSource, {"separator": "\t\t"}),
        (FreebaseSource, {"languages": ("de",)}),
        (FreebaseSource, {"languages": ("en", "de")}),
        (FreebaseSource, {"languages": ("de", "en")}),
        (FreebaseSource, {"languages": ("en", "*")}),
        (RdfSource, {"bases": ("http://a/",)}),
        (RdfSource, {"name_relations": ("http://a/name",)}),
        (RdfSource, {"shared_blank_nodes": True}),
        (RdfSource, {"languages": ("*",)}),
    ],
)
def test_options_that_change_the_result_change_the_digest(
    tmp_path: Path, make: Callable[..., Source], changed: dict[str, Any]
) -> None:
    path = written(tmp_path, KG)
    assert make(path, **changed).digest() != make(path).digest()
    assert set(changed) <= set(inspect.signature(make).parameters)


# TSV and CSV


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["unix", "dos"])
def test_tsv_is_read_with_names(tmp_path: Path, pack: Callable[[bytes], bytes], line_end: str) -> None:
    kg = written(tmp_path, pack(KG.replace("\n", line_end).encode()))
    names = written(tmp_path, pack(b"\xef\xbb\xbf" + NAMES.replace("\n", line_end).encode()), "names.tsv")
    source = TsvSource(kg, names)
    read = read_source(source)
    assert source.unnamed_ids is None
    assert read.triples == [("m.1", "p.q.capital", "m.2")] * 2 + [("m.2", "inside", "m.1")]
    assert read.names == {
        "m.1": ["Peru", "República del Perú"],
        "m.2": ["Lima", "City_of_Kings"],
        "m.9": ["Nobody"],
    }
    assert read.rejects == []


@pytest.mark.parametrize(
    ("content", "options", "triples"),
    [
        ("head\trelation\ttail\na\tr\tb\n", {}, [("a", "r", "b")]),
        ("\nSubject\tObject\tPredicate\na\tb\tr\n", {}, [("a", "r", "b")]),
        ("id\ttail\thead\tscore\trelation\n1\tb\ta\t0.5\tr\n", {}, [("a", "r", "b")]),
        ("head\trelation\ttail\n", {"header": "no"}, [("head", "relation", "tail")]),
        ("x\ty\tz\na\tr\tb\n", {"header": "yes"}, [("a", "r", "b")]),
        ("x\ty\tz\na\tr\tb\n", {"columns": ("z", "y", "x")}, [("b", "r", "a")]),
        ("a\tr\tb\tsrc\n", {"columns": ("1", "2", "3")}, [("a", "r", "b")]),
        ("a\tr\tb\tsrc\n", {"columns": ("3", "2", "1")}, [("b", "r", "a")]),
        ("head\trelation\ttail\tsrc\na\tr\tb\tc\n", {"columns": ("1", "2", "3")}, [("a", "r", "b")]),
        ("a b\tr\tb\n", {"separator": "\t"}, [("a b", "r", "b")]),
        ("a||r||b\n", {"separator": "||"}, [("a", "r", "b")]),
        ("h\tr\tt\n", {}, []),
    ],
)
def test_columns(tmp_path: Path, content: str, options: dict[str, Any], triples: list[tuple[str, ...]]) -> None:
    read = read_source(TsvSource(written(tmp_path, content), **options))
    assert read.triples == triples
    assert read.rejects == []


def test_csv(tmp_path: Path) -> None:
    content = 'Subject,Predicate,Object\r\n"Lima, Perú",in,"""Mine""@en"\r\nx,"y""z",w\r\nx,"y\r\nz",w\r\n'
    read = read_source(CsvSource(written(tmp_path, content, "kg.csv")))
    assert read.triples == [("Lima, Perú", "in", "Mine"), ("x", 'y"z', "w")]
    assert read.literals == [("Mine", None, "en")]
    assert read.rejects == [(number, "a quote is out of place, or does not end on its line") for number in (4, 5)]
    assert read.counts == {"header": 1, "triple": 2, "reject": 2}


# Freebase and RDF


def test_languages_are_in_the_order_of_preference(tmp_path: Path) -> None:
    path = written(
        tmp_path, "".join(f'</a>\t</type.object.name>\t"A-{tag}"@{tag}\t.\n' for tag in ("en", "de", "pt-BR"))
    )
    source = FreebaseSource(path, languages=("pt-br", " DE"))
    assert source.languages == ("pt-br", "de")
    assert read_source(source).counts == {"name": 2, "other language": 1}
    assert read_source(FreebaseSource(path, languages=("*",))).counts == {"name": 3}
    with pytest.raises(InputError, match="expected a language such as en or pt-br, or \\* for all, found 'english!'"):
        FreebaseSource(path, languages=("english!",))


def test_bases_are_taken_off(tmp_path: Path) -> None:
    lines = [
        "<http://a/x> <http://a/b/r> <http://a/> .",
        '<http://c> <http://a/name> "N"@en .',
        "<http://a/b/> <r.*> <o> .",
    ]
    path = written(tmp_path, "\n".join(lines), "kg.nt")
    source = RdfSource(path, bases=["http://a/", "http://a/b/", "r.*"], name_relations=["http://a/name"])
    read = read_source(source)
    assert read.triples == [("x", "r", "http://a/"), ("b/", "r.*", "o")]
    assert read.names == {"http://c": ["N"]}


def test_a_rule_file_decides_what_is_noise(tmp_path: Path) -> None:
    rules = "# comment\n\na.*\n!a.b.?\na.b.c tail.*\n!a.b.c tail.ok\n*.[x]%_\\\n"
    noise = written(tmp_path, rules, "noise.txt")
    lines = {
        "a.b": "noise",
        "a.b.x": "triple",
        "a.b.xy": "noise",
        "a.b.c": "triple",
        "z": "triple",
        "a.[x]%_\\": "noise",
        "a.x%_\\": "noise",
        "b.x%_\\": "triple",
        "b.[x]%_\\": "noise",
    }
    text = "".join(f"</m.1>\t</{relation}>\t</m.2>\t.\n" for relation in lines)
    text += "</m.1>\t</a.b.c>\t</tail.x>\t.\n</m.1>\t</a.b.c>\t</tail.ok>\t.\n"
    source = FreebaseSource(written(tmp_path, text, "fb.nt"), noise_path=noise)
    kept = [relation for relation, category in lines.items() if category == "triple"] + ["a.b.c"]
    assert [relation for _, relation, _ in read_source(source).triples] == kept
    assert read_source(source).counts["noise"] == len(lines) + 2 - len(kept)


# Subgraphs of questions


@pytest.mark.parametrize("shape", ["jsonl", "gzip", "parquet"])
def test_subgraphs_are_one_graph(tmp_path: Path, shape: str) -> None:
    text = json_lines(RECORDS).encode()
    path = str(tmp_path / "questions")
    if shape == "parquet":
        graphs: list[Any] = [record.get("graph") or record["subgraph"] for record in RECORDS[:2]]
        parquet.write_table(pa.table({"id": ["q1", "q2"], "graph": graphs}), path)
    else:
        Path(path).write_bytes(gzip.compress(text) if shape == "gzip" else text)
    source = RogSource(path)
    read = read_source(source)
    expected = [("Lima", "in", "m.0abc_1"), ("m.0abc_1", "of", "Perú"), ("Lima", "in", "m.0abc_1"), ("a", "b", "c")]
    assert read.triples == (expected[:3] if shape == "parquet" else expected)
    assert source.unnamed_ids == FREEBASE_ID
    assert detect_format(path) == "rog"


def test_records_that_cannot_be_read_are_rejected(tmp_path: Path) -> None:
    lines = [
        b"\xef\xbb\xbf" + json.dumps(RECORDS[0]).encode(),
        b"",
        b'{"graph": [["a", "b"',
        b'{"graph": "none"}',
        b'{"id": 1}',
        b"[]",
        b'{"graph": [["a", "b"], ["a", "b", 1], ["", "b", "c"], ["a", "b", "\\ud800"], ["a", "\\u0000", "c"], 7]}',
        b'{"graph": [["Lim\xe1", "b", "c"]]}',
        b"[" * 100_000,
        b'{"graph": []}',
    ]
    read = read_source(RogSource(written(tmp_path, b"\n".join(lines), "q.jsonl")))
    assert len(read.triples) == 2
    text = "expected a head, a relation and a tail that are text as item {} of the graph"
    none = "expected a list called graph or subgraph, found none"
    assert read.rejects == [
        (3, "expected JSON, found a fault at character 21"),
        (4, none),
        (5, none),
        (6, none),
        *((7, text.format(number)) for number in range(1, 7)),
        (8, "expected UTF-8, found byte 0xe1"),
        (9, "expected JSON, found too many brackets"),
    ]
    assert read.counts["blank"] == 1


# Parquet


def triples_parquet(path: Path) -> Path:
    columns = {"head": ["a", "a"], "relation": ["r", "s"], "tail": ["b", "1983"], "is_literal": [False, True]}
    parquet.write_table(pa.table({**columns, "datatype": [None, "http://t"], "language": pa.nulls(2)}), path)
    return path


def test_parquet_of_triples(tmp_path: Path) -> None:
    path = triples_parquet(tmp_path / "kg.parquet")
    assert detect_format(str(path)) == "parquet"
    names = tmp_path / "names.parquet"
    parquet.write_table(pa.table({"id": ["a", "a"], "name": ["A", "Aa"], "is_alias": [False, True]}), names)
    read = read_source(ParquetSource(str(path), str(names)))
    assert read.triples == [("a", "r", "b"), ("a", "s", "1983")]
    assert read.literals == [("1983", "http://t", None)]
    assert read.names == {"a": ["A", "Aa"]}
    with pytest.raises(InputError, match=r"names\.parquet: expected a column head, found 'id, name, is_alias'"):
        read_source(ParquetSource(str(names)))
    damaged = written(tmp_path, path.read_bytes()[:-9], "damaged.parquet")
    with pytest.raises(InputError, match=r"damaged\.parquet: the parquet file is damaged"):
        read_source(ParquetSource(damaged))


# GraphML


# The real files


# Which format


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("kg.csv", "anything", "csv"),
        ("kg.TSV.gz", gzip.compress(b"anything"), "tsv"),
        ("q.jsonl", "{}", "rog"),
        ("q.parquet", "PAR1", "rog"),
        ("kg.graphml", "<graphml>", "graphml"),
        ("kb.txt", "a|b|c\n", "metaqa"),
        ("kb.txt.gz", gzip.compress(b"a\tb\tc\n"), "pathquestion"),
        ("kg.nt", "<http://rdf.freebase.com/ns/a>\t</b>\t</c>\t.\n", "freebase"),
        ("kg.nt", '# c\n<http://a> <b> <c> .\n_:b <p> "x" .\n', "rdf"),
        ("kg", '\n</a>\t</type.object.name>\t"A\\"B"@en\t.\n', "freebase"),
        ("kg", "<http://a>\t<b>\t<c>\t.\n", "rdf"),
        ("kg", "a\tb\tc\nd\te\tf\n", "tsv"),
        ("kg", "a,b,c\nd,e,f\n", "csv"),
        ("kg", "a|b|c\nd|e|f\n", "metaqa"),
        ("kg", '{"id": 1, "graph": []}\n', "rog"),
        ("kg", "PAR1", "rog"),
        ("kg.xml", GRAPHML, "graphml"),
        ("kg", "a\tb\tc\n" * 50_000, "tsv"),
    ],
)
def test_a_file_tells_its_format(tmp_path: Path, name: str, content: bytes | str, found: str) -> None:
    assert detect_format(written(tmp_path, content, name)) == found


# Names, relations and ids


@pytest.mark.parametrize(
    ("relation", "label", "domain"),
    [
        ("location.country.capital", "capital", "location.country"),
        ("people.person.place_of_birth", "place of birth", "people.person"),
        ("a.b.adjoin_s|c.d.adjoins", "adjoin s – adjoins", "a.b"),
        ("base.x.y.z", "z", "base.x.y"),
        ("starred_actors", "starred actors", None),
        ("wasBornIn", "was born in", None),
        ("/people/person/nationality", "nationality", None),
        ("http://schema.org/birthPlace", "birth place", None),
        ("a.b", "b", None),
        ("`]->() //", "`]->() //", None),
        ("首都", "首都", None),
    ],
)
def test_labels_and_domains(relation: str, label: str, domain: str | None) -> None:
    assert label_of(relation) == label
    assert domain_of(relation) == domain
