"""Single triples on the command line, what other programs changed, and a graph with a load that is half there."""

from __future__ import annotations

import json
from pathlib import Path

import neo4j
import pytest
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Connection

from tests.conftest import clear_database
from tests.e2e.conftest import Lodestar
from tests.made.graphs import COUNTRIES, COUNTRY_NAMES, TripleSource, load
from tests.made.plain_graph import write_graph, write_load


@pytest.fixture(autouse=True)
def graph(driver: neo4j.Driver, connection: Connection, gateway: Gateway) -> None:
    clear_database(driver, connection.database)
    load(TripleSource(COUNTRIES, COUNTRY_NAMES), gateway)


def test_lines_are_added_and_removed(lodestar: Lodestar) -> None:
    lines = "Lima\tmayor\tAna\nAna\tborn\t1961^^http://www.w3.org/2001/XMLSchema#gYear\n"
    added = lodestar("load", "-", "--json", stdin=lines)
    assert (added.code, json.loads(added.out)["num_added"]) == (0, 2), added.err
    again = lodestar("load", "-", stdin=lines)
    assert again.err == "2 there already\n"
    removed = lodestar("load", "-", "--remove", "--json", stdin=lines)
    assert (removed.code, json.loads(removed.out)["num_removed"]) == (0, 2), removed.err
    assert lodestar("db", "check").code == 0
    missing = lodestar("load", "-", "--remove", stdin=lines)
    assert (missing.code, "nothing was removed" in missing.err) == (5, True)


def test_the_next_question_knows_what_was_added_with_its_names(lodestar: Lodestar) -> None:
    Path("names.tsv").write_text("m.ana\tAna Rojas\tAnita\n", encoding="utf-8")
    assert lodestar("load", "-", "--names", "names.tsv", stdin="m.lima\tmayor\tm.ana\n").code == 0
    assert "Ana Rojas" in lodestar("ask", "Who is the mayor of Lima?").out


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "message"),
    [
        ((), "Lima\tmayor\tAna\nLima mayor\n", 3, "stdin:2: expected head, relation and tail parted by tabs"),
        ((), "", 3, "stdin"),
        (("--names", "x", "--remove"), "a\tb\tc\n", 2, "--names goes without --remove"),
    ],
)
def test_bad_lines_change_nothing(
    lodestar: Lodestar, arguments: tuple[str, ...], stdin: str, code: int, message: str
) -> None:
    ran = lodestar("load", "-", *arguments, stdin=stdin)
    assert (ran.code, message in ran.err, ran.err.count("\n")) == (code, True, 1), ran.err
    assert json.loads(lodestar("db", "status", "--json").out)["graph"]["num_triples"] == len(COUNTRIES)


CAPITAL = "What is the capital of Peru?"
WARNING = "lodestar: the load of mo\\x1b[31mre.tsv has not finished: answers are incomplete until the same `lodestar load` runs again"


@pytest.fixture
def half_loaded(empty_graph: None, driver: neo4j.Driver, gateway: Gateway) -> None:
    literals = {'"PE"': "PE"}
    triples = [*COUNTRIES, ("m.peru", "location.country.iso_code", '"PE"')]
    write_graph(driver, gateway, triples, COUNTRY_NAMES, literals=literals)
    write_load(driver, "a" * 64, source="first.tsv", started="2026-01-01T00:00:00Z", finished="2026-01-01T00:01:00Z")
    write_load(driver, "b" * 64, source="mo\x1b[31mre.tsv", started="2026-01-02T00:00:00Z")


def test_it_answers_with_one_warning_beside_the_data(lodestar: Lodestar, half_loaded: None) -> None:
    ran = lodestar("ask", "--json", CAPITAL, CAPITAL)
    assert [json.loads(line)["answer"] for line in ran.out.splitlines()] == ["Lima", "Lima"]
    assert (ran.code, ran.err.splitlines().count(WARNING)) == (0, 1)


def test_a_load_that_has_not_finished_is_listed_and_said(lodestar: Lodestar, half_loaded: None) -> None:
    assert "re.tsv    0 triples  has not finished" in lodestar("load", "--list").out
    findings = {finding["part"]: finding for finding in json.loads(lodestar("doctor", "--json").out)}
    assert "re.tsv has not finished" in findings["load"]["found"]
