"""Tables as people have them: exports of other programs, lists of edges with all that they know of the ends."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from lodestar.loaders.formats import source_class
from lodestar.loaders.formats.detecting import detect_format
from pyarrow import parquet

from tests.references.read_source import ReadSource, read_source


def read(path: Path, text: str | None = None) -> ReadSource:
    if text is not None:
        path.write_text(text, encoding="utf-8", newline="")
    assert detect_format(str(path)) == "tables"
    return read_source(source_class("tables")(str(path)))


def values(found: ReadSource, relation: str) -> list[str]:
    return [tail for _, each, tail in found.triples if each == relation]


EDGES = {
    "x_id,x_name,x_type,relation,y_id,y_name,y_type\nD1,Aspirin,drug,treats,S1,Fever,disease\nD1,Aspirin,drug,treats,S2,Pain,disease\n": (
        ("D1", "treats", "S1"),
        ("S1", "Fever"),
        ("S1", "type", "disease"),
    ),
    "head_id,head_name,relation,tail_id,tail_name\nQ1,Lima,in,Q2,Peru\nQ3,Quito,in,Q4,Ecuador\n": (
        ("Q1", "in", "Q2"),
        ("Q2", "Peru"),
        None,
    ),
    "source,source_label,type,target,target_label\nn1,Ann,knows,n2,Bo\nn2,Bo,likes,n3,Cy\n": (
        ("n2", "likes", "n3"),
        ("n3", "Cy"),
        None,
    ),
}


@pytest.mark.parametrize("text", EDGES)
def test_ends_of_edges_keep_what_other_columns_say_of_them(tmp_path: Path, text: str) -> None:
    triple, (id_, name), kind = EDGES[text]
    found = read(tmp_path / "edges.csv", text)
    assert triple in found.triples
    assert name in found.names[id_]
    assert kind is None or kind in found.triples


def test_ends_of_edges_in_parquet(tmp_path: Path) -> None:
    columns = {"x_name": ["Ann", "Bo"], "relation": ["knows", "likes"], "y_name": ["Bo", "Cy"], "score": [1, 2]}
    parquet.write_table(pa.table(columns), tmp_path / "edges.parquet")
    assert {("Ann", "knows", "edges/1"), ("edges/1", "knows", "Bo")} <= set(read(tmp_path / "edges.parquet").triples)


@pytest.mark.parametrize("header", ["id,start_date,end_date,name", "id,x,y,name", "id,from,to,name"])
def test_two_columns_that_only_look_like_ends(tmp_path: Path, header: str) -> None:
    found = read(tmp_path / "things.csv", f"{header}\n1,2020-01-02,2021-02-03,Ann\n2,2020-04-05,2021-05-06,Bo\n")
    assert found.names["thing/1"] == ["Ann"]
    assert "2020-01-02" in {tail for _, _, tail in found.triples}


def test_the_relation_of_edges_is_the_only_other_column_and_never_their_direction(tmp_path: Path) -> None:
    assert ("a", "binds", "b") in read(tmp_path / "e.csv", "source,metaedge,target\na,binds,b\nb,binds,c\n").triples
    folder = tmp_path / "gephi"
    folder.mkdir()
    (folder / "nodes.csv").write_text("Id,Label,Kind\n1,Ann,Person\n2,Lima,City\n3,Bo,Person\n")
    (folder / "edges.csv").write_text("Source,Target,Type,Label\n1,2,Directed,lives in\n1,3,Directed,knows\n")
    assert {("1", "lives in", "2"), ("1", "knows", "3"), ("2", "type", "City")} <= set(read(folder).triples)


NAMED = {
    "item,itemLabel,capital,capitalLabel\nhttp://d.org/1,Peru,http://d.org/8,Lima\nhttp://d.org/2,Chile,http://d.org/9,Santiago\n": (
        "capital",
        "Lima",
    ),
    "orderID,customerID,customerName\n1,C1,Ann\n2,C1,Ann\n3,C2,Bo\n": ("customer", "Bo"),
    "isbn,title,author_id,author_name\n978-1,Alien,7,Ann Ash\n978-2,Heat,8,Bo Birch\n": ("author", "Bo Birch"),
}


@pytest.mark.parametrize("text", NAMED)
def test_an_id_with_a_name_beside_it_is_a_thing_of_its_own(tmp_path: Path, text: str) -> None:
    relation, name = NAMED[text]
    found = read(tmp_path / "rows.csv", text)
    ids = [id_ for id_, names in found.names.items() if name in names]
    assert ids
    assert ids[0] in values(found, relation)
    assert (ids[0], "type", relation) in found.triples


DATES = {
    "12/31/1980,1/5/1975": ["1980-12-31", "1975-01-05"],
    "28/07/1821,18/09/1810": ["1821-07-28", "1810-09-18"],
    "31.12.1980,5.1.1975": ["1980-12-31", "1975-01-05"],
    "20240131,20241231": ["2024-01-31", "2024-12-31"],
    "1/2/1980,3/4/1975": ["1/2/1980", "3/4/1975"],
    "31/02/1980,12/31/1975": ["31/02/1980", "12/31/1975"],
}


@pytest.mark.parametrize("written", DATES)
def test_dates_of_a_column_that_says_which_is_the_day(tmp_path: Path, written: str) -> None:
    first, second = written.split(",")
    found = read(tmp_path / "people.csv", f"name,start date,size\nAnn,{first},20240131\nBo,{second},20241231\n")
    assert values(found, "start date") == DATES[written]
    assert values(found, "size") == ["20240131", "20241231"]


def test_dots_are_no_decimal_points_beside_decimal_commas(tmp_path: Path) -> None:
    found = read(tmp_path / "lager.csv", "Nr;Bezeichnung;Preis;Menge\n1;Schraube;0,12;1.200\n2;Mutter;1,5;40\n")
    assert values(found, "Menge") == ["1200", "40"]
    assert found.names["lager/1"] == ["Schraube"]
    found = read(tmp_path / "stock.csv", "id,name,price,size\n1,Bolt,0.12,1.200\n2,Nut,1.5,40.5\n")
    assert values(found, "size") == ["1.200", "40.5"]


def test_texts_that_share_their_parts_are_lists(tmp_path: Path) -> None:
    text = "id,title,genres,note\n1,Alien,Horror|Drama,a; b\n2,Heat,Crime|Drama,c; d\n3,Big,Drama,e\n"
    found = read(tmp_path / "films.csv", text)
    assert sorted(values(found, "genres")) == ["Crime", "Drama", "Drama", "Drama", "Horror"]
    assert values(found, "note") == ["a; b", "c; d", "e"]


NO_TABLES = {
    "kg.txt": "Ann\tknows\tBo\nBo\tknows\tCy\n",
    "facts.csv": "/a/1\t/r/IsA\t/c/cat\t/c/animal\n/a/2\t/r/IsA\t/c/dog\t/c/animal\n",
    "rows.csv": "Ann,knows,Bo,1\nBo,knows,Cy,2\n",
}


@pytest.mark.parametrize("name", NO_TABLES)
def test_a_first_line_that_is_one_of_the_rows_is_no_header(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(NO_TABLES[name])
    assert detect_format(str(tmp_path / name)) != "tables"


def test_a_folder_is_told_by_its_longest_file_and_by_any_of_neo4j_admin(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for name, num in (("test", 1), ("train", 9), ("valid", 2)):
        lines = "".join(f"Ann {i}\tknows\tAnn {i + 1}\n" for i in range(num))
        (tmp_path / "parts" / f"{name}.txt").write_text(lines)
    assert detect_format(str(tmp_path / "parts")) == "tsv"
    (tmp_path / "neo").mkdir()
    (tmp_path / "neo" / "knows.csv").write_text(":START_ID,:END_ID,:TYPE\np1,p2,KNOWS\n")
    (tmp_path / "neo" / "people.csv").write_text("personId:ID,name,:LABEL\np1,Ann,Person\np2,Bo,Person\n")
    assert ("p1", "KNOWS", "p2") in read(tmp_path / "neo").triples


def test_an_export_of_apoc_in_one_file(tmp_path: Path) -> None:
    text = '"_id","_labels","age","name","_start","_end","_type","since"\n"0",":User:Admin","42","Adam",,,,\n"1",":User","4","Jim",,,,\n,,,,"0","1","KNOWS","1993"\n'
    found = read(tmp_path / "all.csv", text)
    triples = {("0", "type", "Admin"), ("0", "KNOWS", "all/3"), ("all/3", "KNOWS", "1"), ("all/3", "since", "1993")}
    assert triples | {("1", "age", "4")} <= set(found.triples)
    assert found.names["1"] == ["Jim"]


def test_a_table_that_has_nothing_but_the_key_of_another(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "people.csv").write_text("person_id,name\n1,Ann\n2,Bo\n3,Cy\n")
    (folder / "doctors.csv").write_text("person_id\n2\n3\n")
    assert {("person/2", "type", "doctor"), ("person/2", "type", "person")} <= set(read(folder).triples)


def test_a_key_that_says_what_a_thing_is_stays_its_name(tmp_path: Path) -> None:
    found = read(tmp_path / "cities.csv", "city,country,population\nLima,Peru,10000000\nQuito,Ecuador,2000000\n")
    assert found.names["city/Lima"] == ["Lima"]
    assert ("city/Lima", "country", "Peru") in found.triples
