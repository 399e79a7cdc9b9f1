"""The sources: what each reads, what its options change, and every fault with its place."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from lodestar.engine.cli.load import load_command
from lodestar.engine.errors import InputError, UsageError
from lodestar.engine.writing import make_relation_label, parse_relation_head_type
from lodestar.loaders.formats import source_class
from lodestar.loaders.formats.detecting import detect_format
from lodestar.loaders.formats.neo4j_graphs import split_script
from lodestar.loaders.formats.triples import CsvSource, FreebaseSource, ParquetSource, RogSource, TsvSource
from lodestar.loaders.loading import LoadOptions, preview
from lodestar.loaders.reading import use_spool_folder
from lodestar.loaders.source import FREEBASE_ID
from pyarrow import parquet

from tests.made.files import refusal, written
from tests.references.read_source import read_source

KG = "m.1\tp.q.capital\tm.2\nm.1\tp.q.capital\tm.2\nm.2\tinside\tm.1\n"
RECORDS: list[dict[str, Any]] = [
    {"id": "q1", "graph": [["Lima", "in", "m.0abc_1"], ["m.0abc_1", "of", "Perú"]]},
    {"id": "q2", "subgraph": [["Lima", "in", "m.0abc_1"]]},
    {"id": "q3", "subgraph": {"tuples": [["a", "b", "c"]], "entities": []}},
]
GRAPHML = """<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed">
<node id="a"/><node id="b"/><edge source="a" target="b" label="likes"/></graph></graphml>
"""


def json_lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


# Every source


@pytest.mark.parametrize(
    ("name", "content"),
    [("tsv", KG), ("rdf", "<a:a> <a:b> <a:c> .\n"), ("graphml", GRAPHML), ("tables", "id,name,size\n1,Lima,9\n")],
)
def test_a_source_says_the_same_each_time_it_is_read(tmp_path: Path, name: str, content: str) -> None:
    path = written(tmp_path, content, "kg.csv" if name == "tables" else "kg")
    source = source_class(name)(path)
    assert source.digest() == source_class(name)(path).digest()
    assert json.loads(json.dumps(source.options())) == source.options()
    first, second = read_source(source), read_source(source)
    assert first == second
    assert first.triples
    assert source.position_bytes == (source.size_bytes or 0)


# TSV and CSV


@pytest.mark.parametrize(
    ("content", "options", "triples"),
    [
        ("head\trelation\ttail\na\tr\tb\n", {}, [("a", "r", "b")]),
        ("\nSubject\tObject\tPredicate\na\tb\tr\n", {}, [("a", "r", "b")]),
        ("id\ttail\thead\tscore\trelation\n1\tb\ta\t0.5\tr\n", {}, [("a", "r", "b")]),
        ("head\trelation\ttail\n", {"has_header": False}, [("head", "relation", "tail")]),
        ("x\ty\tz\na\tr\tb\n", {"columns": ("z", "y", "x")}, [("b", "r", "a")]),
        ("a\tr\tb\tsrc\n", {"columns": ("1", "2", "3")}, [("a", "r", "b")]),
        ("a\tr\tb\tsrc\n", {"columns": ("3", "2", "1")}, [("b", "r", "a")]),
        ("head\trelation\ttail\tsrc\na\tr\tb\tc\n", {"columns": ("1", "2", "3")}, [("a", "r", "b")]),
        ("a;r;b, c\n", {}, [("a", "r", "b, c")]),
    ],
)
def test_columns(tmp_path: Path, content: str, options: dict[str, Any], triples: list[tuple[str, ...]]) -> None:
    read = read_source(TsvSource(written(tmp_path, content), **options))
    assert read.triples == triples
    assert read.rejects == []


def test_a_tail_that_is_too_long_for_an_id_is_a_literal(tmp_path: Path) -> None:
    read = read_source(TsvSource(written(tmp_path, f"a\tr\t{'x' * 70_000}\n")))
    assert [len(value) for value, _, _ in read.literals] == [70_000]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("city,country,population\nLima,Peru,10000000\nQuito,Ecuador,2000000\n", "the first row is unlike the others"),
        ("id,name,born\n1,Ann,1961\n2,Bo,1975\n3,Cy,1999\n", "the first row is unlike the others"),
        ("name,team,year\nAnn,2,1961\nBo,3,1975\n", "the relations are numbers, dates, or yes and no"),
        ("source,target,weight\na,b,1\na,c,2\n", "the header names two ends and no relation"),
        ("person,city,hobby\n" + "".join(f"p{i},c{i % 3},h{i % 4}\n" for i in range(8)), "the first row is unlike the others"),
        ("1961-05-05,red,Lima\n1971-02-01,blue,Quito\n", "the heads are amounts, dates"),
        ("personId:ID,name,:LABEL\np1,Ann,Person\n", "as neo4j-admin's nodes or relationships are"),
        ("id,name,price,supplier\n1,Chai,18,1\n", "load it as a table by `lodestar load tables FILE`"),
    ],
)  # fmt: skip
def test_a_table_is_not_taken_for_triples(tmp_path: Path, content: str, reason: str) -> None:
    path = written(tmp_path, content, "kg.csv")
    said = refusal(lambda: read_source(CsvSource(path)))
    assert said.startswith(f"{path}:1: ") and reason in said
    if len(content.split("\n", maxsplit=1)[0].split(",")) == 3 and ":" not in content:
        assert read_source(CsvSource(path, columns=("1", "2", "3"))).triples


@pytest.mark.parametrize(
    "content",
    [
        "Ann,type,person\nAnn,age,5\n",
        "".join(f"drug {i},treats,illness {i % 4}\n" for i in range(9)),
        "".join(
            f"Film {i},{('director', 'year', 'genre')[i % 3]},{('Ann', 1990 + i, 'drama')[i % 3]}\n" for i in range(9)
        ),
        "".join(
            f"Film {i},{('made_by', 'hasYear', 'shown in')[i % 3]},{('Ann', 1990 + i, 'Rome')[i % 3]}\n"
            for i in range(9)
        ),
        "Ann,knows,Bo\nBo,works at,Acme\nAcme,in,Lima\nLima,capital of,Peru\nPeru,currency,Sol\n",
        "".join(f"m.{i},r.s.t{i},m.{i + 1}\n" for i in range(20)),
        "".join(f"Q{i},P{i % 4},Q{i + 100}\n" for i in range(20)),
        ":START_ID,:END_ID,:TYPE\na,b,knows\n",
    ],
)
def test_triples_are_not_taken_for_a_table(tmp_path: Path, content: str) -> None:
    assert read_source(CsvSource(written(tmp_path, content, "kg.csv"))).triples


def test_of_a_folder_the_files_of_one_kind_are_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name, text in {
        "a.ttl": "<http://e.org/a> <http://e.org/p> <http://e.org/b> .",
        "b.ttl.gz": "<http://e.org/b> <http://e.org/p> <http://e.org/c> .",
        "README.md": "# A graph",
        "questions.jsonl": '{"question": "Who?"}',
    }.items():
        content = text.encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert detect_format(str(tmp_path)) == "rdf"
    assert len(read_source(source_class("rdf")(str(tmp_path))).triples) == 2
    assert "README.md, questions.jsonl" in caplog.text
    (tmp_path / "kg.tsv").write_text("Ann\tknows\tBo\n")
    with pytest.raises(InputError, match=r"files of one kind, found .*a.ttl \(rdf\), .*kg.tsv \(tsv\): name one"):
        detect_format(str(tmp_path))


def test_a_dry_run_counts_all_of_a_packed_file_that_is_small(tmp_path: Path) -> None:
    path = tmp_path / "kg.tsv.gz"
    path.write_bytes(
        gzip.compress(
            "".join(f"the entity {i:09}\tis before\tthe entity {i + 1:09}\n" for i in range(250_000)).encode(), 1
        )
    )
    shown, _ = preview(TsvSource(str(path)), LoadOptions(staging=tmp_path / "staging"))
    assert (shown["share"], shown["estimated_triples"]) == (1, 250_000)


def test_triples_as_json_lines_and_with_other_names(tmp_path: Path) -> None:
    lines = [
        {"tail": "Bo", "head": "Ann", "relation": "knows"},
        {"subject": "Ann", "predicate": "age", "object": 5},
        {"a": 1},
    ]
    path = written(tmp_path, json_lines(lines), "kg.jsonl")
    assert detect_format(path) == "jsonl"
    read = read_source(source_class("jsonl")(path))
    assert read.triples == [("Ann", "knows", "Bo"), ("Ann", "age", "5")]
    assert read.literals == [("5", "http://www.w3.org/2001/XMLSchema#integer", None)]
    assert [line for line, _ in read.rejects] == [3]


def test_several_tails_of_fb2m(tmp_path: Path) -> None:
    address = "www.freebase.com/m/0{0}aa"
    line = f"{address.format(1)}\twww.freebase.com/book/book_subject/works\t{address.format(2)} {address.format(3)}\n"
    path = written(tmp_path, line, "fb2m.txt")
    assert detect_format(path) == "fb2m"
    relation = "book.book_subject.works"
    assert read_source(source_class("fb2m")(path)).triples == [
        ("m.01aa", relation, "m.02aa"),
        ("m.01aa", relation, "m.03aa"),
    ]


# Freebase and RDF


def test_languages_are_in_the_order_of_preference(tmp_path: Path) -> None:
    path = written(
        tmp_path, "".join(f'</a>\t</type.object.name>\t"A-{tag}"@{tag}\t.\n' for tag in ("en", "de", "pt-BR"))
    )
    source = FreebaseSource(path, languages=("pt-br", " DE"))
    assert source.languages == ["pt-br", "de"]
    assert read_source(source).counts == {"name": 2, "other language": 1}
    assert read_source(FreebaseSource(path, languages=("*",))).counts == {"name": 3}
    with pytest.raises(InputError, match="expected a language such as en or pt-br, or \\* for all, found 'english!'"):
        FreebaseSource(path, languages=("english!",))


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


# Parquet


def triples_parquet(path: Path) -> Path:
    columns = {"head": ["a", "a"], "relation": ["r", "s"], "tail": ["b", "1983"], "is_literal": [False, True]}
    parquet.write_table(pa.table({**columns, "datatype": [None, "http://t"], "language": pa.nulls(2)}), path)
    return path


def test_parquet_of_triples(tmp_path: Path) -> None:
    path = triples_parquet(tmp_path / "kg.parquet")
    assert detect_format(str(path)) == "parquet"
    names = tmp_path / "names.tsv"
    names.write_text("a\tA\tAa\n")
    other = tmp_path / "other.parquet"
    parquet.write_table(pa.table({"id": ["a"], "name": ["A"]}), other)
    read = read_source(ParquetSource(str(path), str(names)))
    assert read.triples == [("a", "r", "b"), ("a", "s", "1983")]
    assert read.literals == [("1983", "http://t", None)]
    assert read.names == {"a": ["A", "Aa"]}
    with pytest.raises(InputError, match=r"other\.parquet: expected a column head, found 'id, name'"):
        read_source(ParquetSource(str(other)))
    damaged = written(tmp_path, path.read_bytes()[:-9], "damaged.parquet")
    with pytest.raises(InputError, match=r"damaged\.parquet: the parquet file is damaged"):
        read_source(ParquetSource(damaged))


# Which format


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("kg.TSV.gz", gzip.compress(b"anything"), "tsv"),
        ("q.jsonl", '{"subgraph": []}', "rog"),
        ("q.parquet", "PAR1", "rog"),
        ("kb.txt", "a|b|c\n", "metaqa"),
        ("kb.txt.gz", gzip.compress(b"a\tb\tc\n"), "pathquestion"),
        ("kg.nt", "<http://rdf.freebase.com/ns/a>\t</b>\t</c>\t.\n", "freebase"),
        ("kg.nt", '# c\n<http://a> <b> <c> .\n_:b <p> "x" .\n', "rdf"),
        ("kg", '\n</a>\t</type.object.name>\t"A\\"B"@en\t.\n', "freebase"),
        ("kg", "a\tb\tc\nd\te\tf\n", "tsv"),
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
        ("a.b.adjoin_s|c.d.adjoins", "adjoin s – adjoins", "a.b"),
        ("wasBornIn", "was born in", None),
        ("/people/person/nationality", "nationality", None),
        ("http://schema.org/birthPlace", "birth place", None),
    ],
)
def test_labels_and_domains(relation: str, label: str, domain: str | None) -> None:
    assert make_relation_label(relation) == label
    assert parse_relation_head_type(relation) == domain


def test_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "kg.csv"
    path.write_bytes("head,relation,tail\nZürich,in,Schweiz\n".encode("latin1"))
    with use_spool_folder(tmp_path):
        assert "name its encoding, as by --encoding latin1" in read_source(CsvSource(str(path))).rejects[0][1]
    with use_spool_folder(tmp_path, "latin1"):
        assert read_source(CsvSource(str(path))).triples == [("Zürich", "in", "Schweiz")]
    with pytest.raises(UsageError, match="found 'rot13'"), use_spool_folder(tmp_path, "rot13"):
        pass


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"shop.csv": "id,name\n1,Ann\n2,Bo\n"}, None),
        ({"mimetype": "…", "content.xml": "<a/>"}, r"office program \(.xlsx, .ods\): save its sheets as CSV"),
        ({"a.csv": "a", "b.csv": "b"}, "expected one file in the archive, found 2"),
    ],
)
def test_what_an_archive_holds(tmp_path: Path, members: dict[str, str], said: str | None) -> None:
    path = tmp_path / "whatever.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    if said is None:
        assert detect_format(str(path)) == "tables"
        return
    with pytest.raises(InputError, match=said):
        detect_format(str(path))


def test_a_source_of_ones_own_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "kg.txt").write_text("Lima | capital of | Peru\nQuito | capital of | Ecuador\n")
    env = {"LODESTAR_HOME": str(tmp_path / "home")}
    given = ["tests.fakes.own_source:Bars", str(tmp_path / "kg.txt")]
    ran = CliRunner().invoke(load_command, [*given, "--dry-run", "--json"], env=env)
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["categories"]["triple"] == 2
    with pytest.raises(UsageError, match=r"expected a class derived from Source, found tests\.fakes\.own_source:Any"):
        source_class("tests.fakes.own_source:Any")
    with pytest.raises(UsageError, match=r"no\.such:Thing cannot be imported"):
        source_class("no.such:Thing")


def test_a_script_is_split_at_semicolons_that_are_not_in_texts() -> None:
    text = """:begin
CREATE (a:P {name: 'one; two', said: "it's"}); // not; here
/* nor;
here */
CREATE (`b;c`:P
  {x: 1/2});
:commit
RETURN 1"""
    assert [*split_script(text)] == [
        ("CREATE (a:P {name: 'one; two', said: \"it's\"})", 2),
        ("CREATE (`b;c`:P\n  {x: 1/2})", 5),
        ("RETURN 1", 8),
    ]


def test_what_is_refused_before_a_server_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LODESTAR_HOME", str(tmp_path / "home"))
    script = tmp_path / "web.cypher"
    script.write_text("RETURN 1;\nLOAD CSV WITH HEADERS FROM 'https://example.org/a/people.csv' AS row RETURN row;")
    assert detect_format(str(script)) == "cypher"
    with pytest.raises(UsageError, match="give --run-script"):
        source_class("cypher")(str(script))
    with pytest.raises(InputError, match=r"web.cypher:2: LOAD CSV reads .* put people.csv beside the script"):
        source_class("cypher")(str(script), run_script=True)
    (tmp_path / "x.dump").write_text("no dump")
    with pytest.raises(InputError, match="expected a dump that"):
        source_class("dump")(str(tmp_path / "x.dump"))
    with pytest.raises(InputError, match="no such file"):
        source_class("dump")(str(tmp_path / "none.dump"))
    assert [*(tmp_path / "home").glob("staging/*")] == []
