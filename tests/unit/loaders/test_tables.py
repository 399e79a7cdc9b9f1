"""Tables as a graph: keys and references, lists of edges, the exports of other programs, and what is refused."""

from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from lodestar.engine.errors import InputError, UsageError
from lodestar.loaders.formats import source_class
from lodestar.loaders.formats.detecting import detect_format
from lodestar.loaders.formats.relational_tables import open_tables
from pyarrow import parquet

from tests.made.files import refusal, written
from tests.references.read_source import ReadSource, read_source

SHOP = {
    "customers.csv": "customerID,companyName,contactName,phone\nALFKI,Alfreds Futterkiste,Maria Anders,030-1\nANATR,Ana Trujillo,Ana,NULL\nQUICK,Quick Stop,Horst,\n",
    "employees.csv": "employeeID,lastName,firstName,title,hireDate,reportsTo\n1,Davolio,Nancy,Rep,1992-05-01 00:00:00.000,2\n2,Fuller,Andrew,VP,1992-08-14 00:00:00.000,NULL\n3,Leverling,Janet,Rep,1992-04-01 00:00:00.000,2\n",
    "orders.csv": "orderID,customerID,employeeID,shipName,shipAddress\n10248,ALFKI,1,Alfreds,Obere Str. 57\n10249,ALFKI,2,Alfreds,Rua do Paço, 67\n10250,QUICK,1,Quick,Main\n10251,GONE,1,Gone,Main\n10252,ANATR,3,Ana,Main\n"
    + "".join(f"{number},ALFKI,1,Alfreds,Main\n" for number in range(10253, 10273)),
    "order-details.csv": "orderID,productID,unitPrice,quantity\n10248,1,18.00,12\n10248,2,19.50,10\n10249,1,18.00,1\n",
    "products.csv": "productID,productName,unitPrice,zip,discontinued\n1,Chai,18.00,01581,0\n2,Chang,19.50,20000,1\n",
    "empty.csv": "a,b\n",
}  # fmt: skip


def write_folder(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        written(folder, text, name)
    return folder


def read(path: Path) -> ReadSource:
    return read_source(source_class("tables")(str(path)))


def test_keys_and_references_are_found(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "shop", SHOP)
    assert detect_format(str(folder)) == "tables"
    source = source_class("tables")(str(folder))
    found = read_source(source)
    assert {
        ("order/10248", "customer", "customer/ALFKI"),
        ("order/10248", "employee", "employee/1"),
        ("employee/3", "reportsTo", "employee/2"),
        ("order/10248", "product", "order-details/1"),
        ("order-details/1", "product", "product/1"),
        ("order-details/1", "quantity", "12"),
        ("order/10249", "shipAddress", "Rua do Paço, 67"),
        ("employee/3", "hireDate", "1992-04-01"),
        ("product/1", "zip", "01581"),
        ("order/10251", "customer", "customer/GONE"),
        ("customer/ALFKI", "type", "customer"),
    } <= set(found.triples)
    assert {head for head, *_ in found.triples if "phone" in head} == set()
    assert [tail for _, relation, tail in found.triples if relation == "phone"] == ["030-1"]
    named = {id_: names for id_, names in found.names.items() if "/" in id_}
    assert named["order/10248"] == ["Order 10248"]
    assert named["employee/1"] == ["Nancy Davolio"]
    assert named["customer/ALFKI"] == ["Alfreds Futterkiste", "ALFKI"]
    assert named["customer/GONE"] == ["GONE"]
    assert named["product/1"] == ["Chai"]
    types = {value: (datatype or "").rpartition("#")[2] for value, datatype, _ in found.literals}
    assert (types["18.00"], types["12"], types["1992-04-01"], types["01581"]) == ("decimal", "integer", "date", "")
    assert source.left_out == {
        "lines with a separator within a field, which are mended": 1,
        "tables without rows": 1,
        "values of orders.customerID that customers lacks": 1,
    }


def test_a_reference_that_two_kinds_have_is_named_with_each(tmp_path: Path) -> None:
    files = {
        "keepers.csv": "keeper_id,name\n7,Ann\n8,Bob\n9,Cy\n",
        "clocks.csv": "clock_id,name,keeper_id\n1,Town Clock,7\n2,Mill Clock,8\n3,Quay Clock,9\n",
        "repairs.csv": "repair_id,clock_id,keeper_id,cost\n100,1,8,20\n101,2,8,30\n102,1,9,15\n103,3,7,9\n",
    }
    found = set(read(write_folder(tmp_path / "clocks", files)).triples)
    assert ("clock/1", "clock_keeper", "keeper/7") in found
    assert {("repair/100", "repair_keeper", "keeper/8"), ("repair/100", "clock", "clock/1")} <= found
    assert "keeper" not in {relation for _, relation, _ in found}


def test_declared_keys_cycles_composite_keys_and_tables_of_one_thing_in_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "firm.sqlite"
    with sqlite3.connect(path) as made:
        made.executescript(
            """CREATE TABLE departments (id INTEGER PRIMARY KEY, name TEXT, head INTEGER REFERENCES people(id));
            CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, dept INTEGER REFERENCES departments);
            CREATE TABLE doctors (id INTEGER PRIMARY KEY REFERENCES people(id), field TEXT);
            CREATE TABLE policies (no INTEGER, year INTEGER, premium, photo BLOB, PRIMARY KEY (no, year));
            CREATE TABLE claims (id INTEGER PRIMARY KEY, no INTEGER, year INTEGER, text TEXT,
                                 FOREIGN KEY (no, year) REFERENCES policies(no, year));
            INSERT INTO departments VALUES (1, 'Sales', 2);
            INSERT INTO people VALUES (1, 'Ann', 1), (2, 'Bo', 1);
            INSERT INTO doctors VALUES (2, 'law');
            INSERT INTO policies VALUES (7, 2001, 10.5, x'00'), (7, 2002, 'unknown', NULL);
            INSERT INTO claims VALUES (1, 7, 2002, 'fire');"""
        )
    assert detect_format(str(path)) == "tables"
    found = read(path)
    assert {
        ("department/1", "head", "person/2"),
        ("person/1", "dept", "department/1"),
        ("person/2", "type", "doctor"),
        ("person/2", "field", "law"),
        ("claim/1", "policy", "policy/7/2002"),
        ("policy/7/2001", "premium", "10.5"),
        ("policy/7/2002", "premium", "unknown"),
    } <= set(found.triples)
    assert found.names["person/2"] == ["Bo"]


def test_duckdb_parquet_and_a_table_without_a_key(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "kg.duckdb")) as made:
        made.execute("CREATE TABLE towns (id INTEGER PRIMARY KEY, name VARCHAR, tags VARCHAR[])")
        made.execute("INSERT INTO towns VALUES (1, 'Lima', ['big', 'old']), (2, 'Cusco', NULL)")
        made.execute("CREATE TABLE visits (town_id INTEGER REFERENCES towns(id), visitor VARCHAR)")
        made.execute("INSERT INTO visits VALUES (1, 'Ann'), (1, 'Ann'), (2, 'Bo')")
        made.execute(f"COPY towns TO '{tmp_path / 'towns.parquet'}'")
    found = read(tmp_path / "kg.duckdb")
    assert {("town/1", "tags", "big"), ("visit/row 1", "town", "town/1"), ("visit/row 3", "visitor", "Bo")} <= set(
        found.triples
    )
    assert detect_format(str(tmp_path / "towns.parquet")) == "tables"
    assert ("town/1", "tags", "old") in read(tmp_path / "towns.parquet").triples


def test_rows_that_say_several_things_of_the_same_are_one_thing(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "geo", {
        "state.csv": "state_name,area\nOhio,1\nIowa,2\nUtah,3\n",
        "river.csv": "river_name,length,traverse\nMuddy,10,Ohio\nMuddy,10,Iowa\nClear,7,Utah\nClear,7,Iowa\n",
        "border_info.csv": "state_name,border\nOhio,Iowa\nIowa,Ohio\nIowa,Utah\n",
        "highlow.csv": "state_name,highest_point\nOhio,Hill\nIowa,Knoll\nUtah,Peak\n",
        "course.csv": "id,title,prerequisite_id,country\n10,Algebra,,1\n11,Logic,10,2\n",
    })  # fmt: skip
    found = read(folder)
    assert {
        ("river/Muddy", "traverse", "state/Ohio"),
        ("river/Muddy", "traverse", "state/Iowa"),
        ("state/Iowa", "border", "state/Utah"),
        ("state/Ohio", "highest_point", "Hill"),
        ("course/11", "prerequisite", "course/10"),
    } <= set(found.triples)


@pytest.mark.parametrize("ends", ["\n", "\r", "\r\n"])
def test_lists_of_edges(tmp_path: Path, ends: str) -> None:
    text = "Source,Target,Type,id,weight\nAnn-Ash,Bo,Undirected,0,3\nBo,Cy,Undirected,1,5\n".replace("\n", ends)
    (tmp_path / "edges.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert detect_format(str(tmp_path / "edges.csv")) == "tables"
    found = read(tmp_path / "edges.csv")
    assert set(found.triples) == {
        ("Ann-Ash", "linked_to", "edges/1"), ("edges/1", "linked_to", "Bo"), ("edges/1", "weight", "3"),
        ("Bo", "linked_to", "edges/2"), ("edges/2", "linked_to", "Cy"), ("edges/2", "weight", "5"),
    }  # fmt: skip
    assert found.names == {"Ann-Ash": ["Ann-Ash"], "Bo": ["Bo"], "Cy": ["Cy"]}
    (tmp_path / "nodes.csv").write_text("Id,Label\nAnn-Ash,Ann Ash\nBo,Bo Birch\nCy,Cy Cole\n")
    assert read(tmp_path).names["Ann-Ash"][0] == "Ann Ash"
    (tmp_path / "typed.csv").write_text("source,target,label\nAnn,Bo,likes\nBo,Cy,hates\n")
    assert set(read(tmp_path / "typed.csv").triples) == {("Ann", "likes", "Bo"), ("Bo", "hates", "Cy")}


def test_the_files_of_neo4j_admin(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "import", {
        "people-header.csv": "personId:ID(Person),name,born:int,nick:string[],:LABEL\n",
        "people.csv": "p1,Ann Ash,1961,A;Annie,Person;Actor\np2,Bo,,,Person\n",
        "films.csv": "filmId:ID(Film),title,:IGNORE,:LABEL\nm1,Dune,x,Film\nm2,,y,Film\n",
        "roles.csv": ":START_ID(Person),role,:END_ID(Film),:TYPE\np1,Chani,m1,ACTED_IN\np2,,m2,SAW\n,,m2,SAW\n",
    })  # fmt: skip
    assert detect_format(str(folder)) == "tables"
    source = source_class("tables")(str(folder))
    found = read_source(source)
    assert {
        ("Person/p1", "ACTED_IN", "roles/1"), ("roles/1", "ACTED_IN", "Film/m1"), ("roles/1", "role", "Chani"),
        ("Person/p2", "SAW", "Film/m2"), ("Person/p1", "type", "Actor"), ("Person/p1", "born", "1961"),
        ("Person/p1", "nick", "Annie"),
    } <= set(found.triples)  # fmt: skip
    assert (found.names["Person/p1"], found.names["Film/m2"]) == (["Ann Ash"], ["Film m2"])
    assert source.left_out == {"rows without both ends": 1}


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("cities.csv", "city,country,population\nLima,Peru,10000000\nQuito,Ecuador,2000000\n", "tables"),
        ("t.csv", "productID,productName,supplierID,unitPrice\n1,Chai,1,18\n", "tables"),
        ("kg.csv", "head,relation,tail\nAnn,knows,Bo\n", "csv"),
        ("kg.csv", "Ann,knows,Bo\nBo,knows,Cy\nCy,likes,Ann\nDan,likes,Ann\n", "csv"),
        ("kg.csv", "Ann,knows,Bo\nBo,likes,Cy\nCy,hates,Ann\nDan,fears,Ann\nEve,loves,Bo\n", "csv"),
    ],
)
def test_tables_and_triples_are_told_apart(tmp_path: Path, name: str, text: str, found: str) -> None:
    (tmp_path / name).write_text(text)
    assert detect_format(str(tmp_path / name)) == found
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert detect_format(str(packed)) == found


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({"a.csv": "x,y\n1,2\n", "a.tsv": "x\ty\n1\t2\n"}, "a.tsv: a second table called 'a': rename one of them"),
        ({"a.csv": "x,y\n1,2,3\n"}, "a.csv:2: expected 2 fields, found 3"),
        ({"a.csv": 'x,y\n1,"2\n'}, "a.csv:2: cannot be read as a table: unexpected end of data"),
        ({"a.csv": "1,2\n3,4\n"}, "a.csv: expected the names of columns in the first line, found '1'"),
        ({"a.csv": "SQLite format 3\0 and no more"}, "a.csv: the SQLite file cannot be read"),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(tmp_path: Path, files: dict[str, str], fault: str) -> None:
    folder = write_folder(tmp_path / "t", files)
    assert fault in refusal(lambda: source_class("tables")(str(folder)))


def test_a_column_of_keys_is_told_and_refers_where_that_is_said(tmp_path: Path) -> None:
    files = {
        "persons.csv": "id,name,mother_id,age\n1,Ann,,60\n2,Bob,1,35\n3,Cid,1,32\n4,Dot,2,10\n5,Eve,3,8\n",
        "boats.csv": "id,name,owned_by,built\n101,Swift,2,1990\n102,Gull,3,1995\n103,Rook,1,2001\n",
    }
    folder = str(write_folder(tmp_path / "family", files))
    hints = list(open_tables(folder).hints())
    given = ["boats.owned_by=persons", "persons.mother_id=persons"]
    assert [[each for each in given if each in hint] for hint in hints] == [[each] for each in given]
    source = source_class("tables")(folder, references=given)
    assert {
        ("boat/101", "owned_by", "person/2"),
        ("person/4", "mother", "person/2"),
        ("person/4", "age", "10"),
    } <= set(read_source(source).triples)
    assert not list(open_tables(folder, given).hints())
    with pytest.raises(UsageError, match="boats, persons"):
        open_tables(folder, ["boats.owned_by=people"])
    twice = read_source(source_class("tables")(folder, references=[*given, *given])).triples
    assert sorted(twice) == sorted(read_source(source_class("tables")(folder, references=given)).triples)


def test_a_given_reference_takes_no_other_away_from_a_database_with_keys(tmp_path: Path) -> None:
    path = tmp_path / "boats.sqlite"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE persons (id INTEGER PRIMARY KEY, name TEXT)")
        made.execute("CREATE TABLE boats (id INTEGER PRIMARY KEY, name TEXT, owned_by INTEGER, person_id INTEGER)")
        made.executemany("INSERT INTO persons VALUES (?, ?)", [(1, "Ann"), (2, "Bob"), (3, "Cid")])
        made.executemany(
            "INSERT INTO boats VALUES (?, ?, ?, ?)", [(9, "Gull", 1, 2), (8, "Rook", 2, 3), (7, "Tern", 3, 1)]
        )
    relations = [
        {relation for head, relation, tail in read_source(source).triples if tail.startswith("person/")}
        for source in (
            source_class("tables")(str(path)),
            source_class("tables")(str(path), references=["boats.owned_by=persons"]),
        )
    ]
    assert len(relations[0]) == 1
    assert relations[1] == {*relations[0], "owned_by"}


def test_a_wide_table_and_a_locked_one(tmp_path: Path) -> None:
    wide = tmp_path / "wide.csv"
    wide.write_text(",".join(f"c{n}" for n in range(150)) + "\n" + ",".join(f"v{n}" for n in range(150)) + "\n")
    assert len(read(wide).triples) == 150
    path = tmp_path / "locked.sqlite"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
        made.commit()
        made.execute("PRAGMA locking_mode = EXCLUSIVE")
        made.execute("BEGIN EXCLUSIVE")
        with pytest.raises(InputError, match="database is locked"):
            open_tables(str(path))


def read_table(path: Path, text: str | None = None) -> ReadSource:
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
    found = read_table(tmp_path / "edges.csv", text)
    assert triple in found.triples
    assert name in found.names[id_]
    assert kind is None or kind in found.triples


def test_ends_of_edges_in_parquet(tmp_path: Path) -> None:
    columns = {"x_name": ["Ann", "Bo"], "relation": ["knows", "likes"], "y_name": ["Bo", "Cy"], "score": [1, 2]}
    parquet.write_table(pa.table(columns), tmp_path / "edges.parquet")
    assert {("Ann", "knows", "edges/1"), ("edges/1", "knows", "Bo")} <= set(
        read_table(tmp_path / "edges.parquet").triples
    )


@pytest.mark.parametrize("header", ["id,start_date,end_date,name", "id,x,y,name", "id,from,to,name"])
def test_two_columns_that_only_look_like_ends(tmp_path: Path, header: str) -> None:
    found = read_table(tmp_path / "things.csv", f"{header}\n1,2020-01-02,2021-02-03,Ann\n2,2020-04-05,2021-05-06,Bo\n")
    assert found.names["thing/1"] == ["Ann"]
    assert "2020-01-02" in {tail for _, _, tail in found.triples}


def test_the_relation_of_edges_is_the_only_other_column_and_never_their_direction(tmp_path: Path) -> None:
    assert ("a", "binds", "b") in read_table(
        tmp_path / "e.csv", "source,metaedge,target\na,binds,b\nb,binds,c\n"
    ).triples
    nodes = "Id,Label,Kind\n1,Ann,Person\n2,Lima,City\n3,Bo,Person\n"
    edges = "Source,Target,Type,Label\n1,2,Directed,lives in\n1,3,Directed,knows\n"
    found = read_table(write_folder(tmp_path / "gephi", {"nodes.csv": nodes, "edges.csv": edges}))
    assert {("1", "lives in", "2"), ("1", "knows", "3"), ("2", "type", "City")} <= set(found.triples)


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
    found = read_table(tmp_path / "rows.csv", text)
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
    found = read_table(tmp_path / "people.csv", f"name,start date,size\nAnn,{first},20240131\nBo,{second},20241231\n")
    assert values(found, "start date") == DATES[written]
    assert values(found, "size") == ["20240131", "20241231"]


def test_dots_are_no_decimal_points_beside_decimal_commas(tmp_path: Path) -> None:
    found = read_table(tmp_path / "lager.csv", "Nr;Bezeichnung;Preis;Menge\n1;Schraube;0,12;1.200\n2;Mutter;1,5;40\n")
    assert values(found, "Menge") == ["1200", "40"]
    assert found.names["lager/1"] == ["Schraube"]
    found = read_table(tmp_path / "stock.csv", "id,name,price,size\n1,Bolt,0.12,1.200\n2,Nut,1.5,40.5\n")
    assert values(found, "size") == ["1.200", "40.5"]


def test_texts_that_share_their_parts_are_lists(tmp_path: Path) -> None:
    text = "id,title,genres,note\n1,Alien,Horror|Drama,a; b\n2,Heat,Crime|Drama,c; d\n3,Big,Drama,e\n"
    found = read_table(tmp_path / "films.csv", text)
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
    for name, num in (("test", 1), ("train", 9), ("valid", 2)):
        written(tmp_path / "parts", "".join(f"Ann {i}\tknows\tAnn {i + 1}\n" for i in range(num)), f"{name}.txt")
    assert detect_format(str(tmp_path / "parts")) == "tsv"
    people = "personId:ID,name,:LABEL\np1,Ann,Person\np2,Bo,Person\n"
    files = {"knows.csv": ":START_ID,:END_ID,:TYPE\np1,p2,KNOWS\n", "people.csv": people}
    assert ("p1", "KNOWS", "p2") in read_table(write_folder(tmp_path / "neo", files)).triples


def test_an_export_of_apoc_in_one_file(tmp_path: Path) -> None:
    text = '"_id","_labels","age","name","_start","_end","_type","since"\n"0",":User:Admin","42","Adam",,,,\n"1",":User","4","Jim",,,,\n,,,,"0","1","KNOWS","1993"\n'
    found = read_table(tmp_path / "all.csv", text)
    triples = {("0", "type", "Admin"), ("0", "KNOWS", "all/3"), ("all/3", "KNOWS", "1"), ("all/3", "since", "1993")}
    assert triples | {("1", "age", "4")} <= set(found.triples)
    assert found.names["1"] == ["Jim"]


def test_a_table_that_has_nothing_but_the_key_of_another(tmp_path: Path) -> None:
    files = {"people.csv": "person_id,name\n1,Ann\n2,Bo\n3,Cy\n", "doctors.csv": "person_id\n2\n3\n"}
    found = read_table(write_folder(tmp_path / "shop", files))
    assert {("person/2", "type", "doctor"), ("person/2", "type", "person")} <= set(found.triples)
