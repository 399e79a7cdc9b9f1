"""`lodestar load` as a user runs it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import LiteralString

import neo4j
import pytest

LODESTAR = [sys.executable, "-m", "lodestar"]

pytestmark = pytest.mark.usefixtures("empty_graph")

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def lodestar(environment: dict[str, str]) -> Run:
    def run(*arguments: str, stdin: str | None = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*LODESTAR, "load", *arguments], env=environment, input=stdin, capture_output=True, text=True, check=False
        )

    return run


def num_triples(driver: neo4j.Driver) -> int:
    return int(driver.execute_query("MATCH ()-[r]->() RETURN count(r)").records[0][0])


def answers(driver: neo4j.Driver, text: LiteralString) -> set[str]:
    return {name for (name,) in driver.execute_query(text).records}


def test_tsv_loads_once(lodestar: Run, driver: neo4j.Driver, tmp_path: Path) -> None:
    kg, names = tmp_path / "kg.tsv", tmp_path / "names.tsv"
    kg.write_text("m.1\tcapital\tm.2\nm.1\tcapital\tm.2\nm.1\tlargest\tm.2\n")
    names.write_text("m.1\tPeru\nm.2\tLima\nm.3\tNobody\n")
    ran = lodestar("tsv", str(kg), "--names", str(names))
    assert ran.returncode == 0
    assert ran.stdout == ""
    start, end = ran.stderr.splitlines()
    assert start == "loading kg.tsv …"
    assert end.startswith("2 triples, 2 entities, 2 relations in ")
    assert end.endswith("; 1 duplicate stored once; 1 name of an unknown id ignored")
    assert num_triples(driver) == 2
    again = lodestar("tsv", str(kg), "--names", str(names), "--json")
    assert "already loaded" in again.stderr
    report = json.loads(again.stdout)
    assert (report["already_loaded"], report["num_triples"], report["num_duplicates"]) == (True, 2, 1)
    assert json.loads(lodestar("tsv", str(kg), "--json").stdout)["already_loaded"] is False


def test_stdin(lodestar: Run, driver: neo4j.Driver) -> None:
    assert lodestar("tsv", "-", stdin="a\tr\tb\na\tr\tc\n").returncode == 0
    assert num_triples(driver) == 2


@pytest.mark.parametrize(
    ("arguments", "content", "fault"),
    [
        (["missing.tsv"], None, "missing.tsv: no such file"),
        (["."], None, ".: expected a file, found a folder"),
        (
            ["kg.tsv"],
            "a\tr\tb\na b\n",
            "kg.tsv:2: expected head, relation and tail parted by tabs, found 1 column: 'a b'",
        ),
        (["kg.tsv"], "", "kg.tsv: the file is empty"),
        (["-"], None, "stdin: the file is empty"),
    ],
)
def test_a_fault_is_one_line_and_exit_code_3(
    lodestar: Run,
    driver: neo4j.Driver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: Sequence[str],
    content: str | None,
    fault: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "kg.tsv").write_text(content)
    ran = lodestar("tsv", *arguments)
    assert ran.returncode == 3
    assert [line for line in ran.stderr.splitlines() if not line.startswith("loading ")] == [f"lodestar: {fault}"]
    assert driver.execute_query("MATCH (n) RETURN count(n)").records[0][0] == 0


@pytest.mark.parametrize(
    ("how", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)], ids=["kill", "ctrl-c"]
)
def test_an_interrupted_load_is_repaired_by_the_same_load(
    lodestar: Run, driver: neo4j.Driver, environment: dict[str, str], tmp_path: Path, how: signal.Signals, code: int
) -> None:
    triples = {(f"e{i % 997}", f"r{i % 31}", f"e{i * i % 1009}") for i in range(60_000)}
    kg = tmp_path / "kg.tsv"
    kg.write_text("".join("\t".join(triple) + "\n" for triple in sorted(triples)))
    process = subprocess.Popen([*LODESTAR, "load", "tsv", str(kg)], env=environment, stderr=subprocess.PIPE, text=True)
    while not num_triples(driver):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(how)
    _, errors = process.communicate()
    assert process.returncode == code
    if how == signal.SIGINT:
        assert errors.splitlines()[-1] == "lodestar: interrupted"
    assert driver.execute_query("MATCH (l:Load) RETURN l.finished").records[0][0] is None
    assert lodestar("tsv", str(kg)).returncode == 0
    records = driver.execute_query("MATCH (h:Entity)-[r]->(t:Entity) RETURN h.id, type(r), t.id").records
    assert sorted(map(tuple, records)) == sorted(triples)


def test_geonames_answers_questions(lodestar: Run, driver: neo4j.Driver) -> None:
    ran = lodestar("geonames", "--json")
    assert ran.returncode == 0, ran.stderr
    report = json.loads(ran.stdout)
    assert report["num_triples"] == num_triples(driver)
    assert report["num_triples"] > 30_000
    assert answers(driver, "MATCH (:Entity {name: 'Peru'})-[:`location.country.capital`]->(a) RETURN a.name") == {
        "Lima"
    }
    assert answers(
        driver,
        "MATCH (:Entity {name: 'Lima'})<-[:`location.country.capital`]-()-[:`location.country.currency_used`]->(a) "
        "RETURN a.name",
    ) == {"Peruvian Sol"}
    assert {"German", "French", "Italian"} <= answers(
        driver,
        "MATCH (:Entity {name: 'Switzerland'})-[:`location.location.adjoin_s`]->()"
        "-[:`location.adjoining_relationship.adjoins`]->()-[:`location.country.languages_spoken`]->(a) RETURN a.name",
    )
    started_s = time.monotonic()
    again = lodestar("geonames")
    assert time.monotonic() - started_s < 2
    assert "already loaded" in again.stderr
    assert num_triples(driver) == report["num_triples"]
