"""`lodestar load` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import LiteralString

import neo4j
import pytest

from tests.e2e.conftest import Lodestar

pytestmark = pytest.mark.usefixtures("empty_graph")


def num_triples(driver: neo4j.Driver) -> int:
    return int(driver.execute_query("MATCH ()-[r]->() RETURN count(r)").records[0][0])


def answers(driver: neo4j.Driver, text: LiteralString) -> set[str]:
    return {name for (name,) in driver.execute_query(text).records}


@pytest.mark.usefixtures("new_database")
def test_tsv_loads_once(lodestar: Lodestar, driver: neo4j.Driver, tmp_path: Path) -> None:
    kg, names = tmp_path / "kg.tsv", tmp_path / "names.tsv"
    kg.write_text("m.1\tcapital\tm.2\nm.1\tcapital\tm.2\nm.1\tlargest\tm.2\n")
    names.write_text("m.1\tPeru\nm.2\tLima\nm.3\tNobody\n")
    ran = lodestar("load", "tsv", str(kg), "--names", str(names))
    assert ran.code == 0
    assert ran.out == ""
    start, *lines = ran.err.splitlines()
    assert start == "loading kg.tsv …"
    end = next(line for line in lines if line.startswith("2 triples"))
    assert end.startswith("2 triples, 2 entities, 2 relations in ")
    assert " online); 1 duplicate stored once; 1 name of unknown ids or repeated ignored" in end
    assert num_triples(driver) == 2
    again = lodestar("load", "tsv", str(kg), "--names", str(names), "--json")
    assert "already loaded" in again.err
    report = json.loads(again.out)
    assert (report["already_loaded"], report["num_triples"], report["num_duplicates"]) == (True, 2, 1)
    other = lodestar("load", "tsv", str(kg))
    assert other.code == 2
    assert other.err.splitlines()[-1] == (
        "lodestar: the graph holds 2 triples of kg.tsv: give --append to add to them or --replace to load in their place"
    )
    added = json.loads(lodestar("load", "tsv", str(kg), "--json", "--append").out)
    assert (added["already_loaded"], added["number"], added["num_triples"]) == (False, 2, 2)
    assert num_triples(driver) == 2


def test_a_file_says_what_it_is(lodestar: Lodestar, driver: neo4j.Driver, tmp_path: Path) -> None:
    kg = tmp_path / "some.data"
    kg.write_text(
        '</m.1>\t</people.person.born>\t"1983"^^<http://www.w3.org/2001/XMLSchema#gYear>\t.\n'
        '</m.1>\t</type.object.name>\t"Mine"@en\t.\n</m.1>\t</type.object.key>\t"/en/mine"\t.\n'
    )
    dry = lodestar("load", str(kg), "--dry-run")
    assert dry.code == 0, dry.err
    assert "some.data: freebase, 100.0% of it read" in dry.out
    assert "1 name, 1 noise, 1 triple" in dry.out
    assert num_triples(driver) == 0
    ran = lodestar("load", str(kg), "--json")
    assert ran.code == 0, ran.err
    assert ran.err.startswith(f"{kg} looks like freebase\n")
    assert json.loads(ran.out)["categories"] == {"name": 1, "noise": 1, "triple": 1}
    assert answers(driver, "MATCH (:Entity {name: 'Mine'})-->(l:Literal) RETURN l.value") == {"1983"}
    unknown = tmp_path / "unknown"
    unknown.write_text("what is this\n")
    asked = lodestar("load", str(unknown))
    assert asked.code == 3
    assert "the format cannot be told from the file: name one of " in asked.err


def test_rejects_are_written_down_up_to_a_limit(lodestar: Lodestar, driver: neo4j.Driver, tmp_path: Path) -> None:
    kg = tmp_path / "kg.tsv"
    kg.write_bytes(b"a\tr\tb\nx\nc\tr\td\ne\t\xff\tf\n" + b"g" * 8_001 + b"\tr\tb\n")
    few = lodestar("load", "tsv", str(kg), "--max-rejects", "2")
    assert few.code == 3
    assert "3 lines rejected, more than --max-rejects 2" in few.err
    assert num_triples(driver) == 0
    ran = lodestar("load", "tsv", str(kg), "--max-rejects", "3", "--json")
    assert ran.code == 0, ran.err
    report = json.loads(ran.out)
    assert (report["num_rejects"], num_triples(driver)) == (3, 2)
    assert [line.split("\t")[:2] for line in Path(report["rejects_file"]).read_text().splitlines()] == [
        [f"{kg}:2", "expected head, relation and tail parted by tabs, found 1 column"],
        [f"{kg}:4", "expected UTF-8, found byte 0xff: name its encoding, as by --encoding latin1"],
        [f"{kg}:5", "an id is longer than 8,000 bytes"],
    ]


def test_loads_are_listed_checked_and_deleted(lodestar: Lodestar, driver: neo4j.Driver, tmp_path: Path) -> None:
    for name, content in (("one.tsv", "a\tr\tb\n"), ("two.tsv", "a\tr\tb\nb\ts\tc\n")):
        (tmp_path / name).write_text(content)
        assert lodestar("load", "tsv", str(tmp_path / name), *(["--append"] if name == "two.tsv" else [])).code == 0
    listed = lodestar("db", "status")
    assert [line.split()[1:5] for line in listed.out.splitlines() if line.split()[0] == "load"] == [
        ["1", "one.tsv", "tsv", "1"],
        ["2", "two.tsv", "tsv", "2"],
    ]
    assert lodestar("db", "check").code == 0
    assert lodestar("db", "unload", "two.tsv").code == 2
    gone = lodestar("db", "unload", "two.tsv", "--yes")
    assert gone.err.splitlines()[-1] == "two.tsv: 1 triple deleted, 1 triple of 2 entities left"
    driver.execute_query("MATCH (:Entity)-[r]->() DELETE r")
    broken = lodestar("db", "check")
    assert broken.code == 5
    assert "load 1 (one.tsv) has 0 triples in the graph, its manifest says 1" in broken.out
