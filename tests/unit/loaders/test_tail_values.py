"""Values beside a names file: literals, not nodes without a name, and the load says what it did."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lodestar.loaders.formats.delimited import CsvSource, TsvSource
from lodestar.loaders.source import Source, Subset
from lodestar.loaders.stage import Stage, StageCounts

TRIPLES = [
    ("e1", "born", "1983-02-01"),
    ("e1", "height", "1.80"),
    ("e1", "retired", "no"),
    ("e1", "motto", "Never give up"),
    ("e1", "lives in", "c1"),
    ("e1", "gender", "female"),
    ("e1", "office", "m1"),
    ("m1", "since", "2001"),
    ("2001", "decade", "c1"),
    ("e1", "likes", "42"),
    ("e1", "hired", "2016-07-16^^xsd:date"),
    ("e1", "left", '"2017-01-01"^^xsd:date'),
    ("e1", "back", "2018^^<http://www.w3.org/2001/XMLSchema#gYear>"),
]
NAMES = [("e1", "Ann Alder"), ("c1", "Lima"), ("42", "The Answer")]
VALUES = {"1983-02-01", "1.80", "no", "Never give up"}
TYPED = {"2016-07-16", "2017-01-01", "2018"}


def tsv(folder: Path, **options: Any) -> Source:
    (folder / "kg.tsv").write_text("".join("\t".join(row) + "\n" for row in TRIPLES), encoding="utf-8")
    (folder / "names.tsv").write_text("".join("\t".join(row) + "\n" for row in NAMES), encoding="utf-8")
    return TsvSource(str(folder / "kg.tsv"), str(folder / "names.tsv"), **options)


def csv(folder: Path, **options: Any) -> Source:
    tsv(folder)
    lines = ("\t".join(row).replace('"', '""').replace("\t", '","') for row in TRIPLES)
    (folder / "kg.csv").write_text("".join(f'"{line}"\n' for line in lines), encoding="utf-8")
    return CsvSource(str(folder / "kg.csv"), str(folder / "names.tsv"), **options)


def staged(source: Source, folder: Path, **options: Any) -> tuple[StageCounts, dict[str, str | None], set[str]]:
    """Return the counts, the literals with their datatypes, and the entities."""
    with Stage(folder / "stage") as stage:
        counts = stage.fill(source, subset=Subset(**options), max_rejects=0, rejects_file=None)
        literals = {row["value"]: row["datatype"] for row in rows(stage, "results/literal_rows")}
        entities = {row["id"] for row in rows(stage, "results/entity_rows")}
        stage.delete()
    return counts, literals, entities


def rows(stage: Stage, name: str) -> Iterator[dict[str, Any]]:
    for batch in stage.node_rows(name, 100):
        yield from batch.to_pylist()


@pytest.mark.parametrize("make", [tsv, csv])
def test_values_are_literals_beside_names(tmp_path: Path, make: Any) -> None:
    counts, literals, entities = staged(make(tmp_path), tmp_path)
    assert set(literals) == VALUES | TYPED
    assert {literals[value] for value in VALUES} == {None}
    assert literals["2016-07-16"] == literals["2017-01-01"] == "http://www.w3.org/2001/XMLSchema#date"
    assert literals["2018"] == "http://www.w3.org/2001/XMLSchema#gYear"
    assert entities == {"e1", "c1", "m1", "2001", "42", "female"}, "a head, or what has a name, is no value"
    assert (counts.num_values, counts.num_triples) == (len(VALUES), len(TRIPLES))
    assert counts.num_unnamed == 3


def test_ids_that_are_written_like_values_stay_ids(tmp_path: Path) -> None:
    (tmp_path / "kg.tsv").write_text("1\tr\t2\n2\tr\t77\n1\tsays\tA long day\n", encoding="utf-8")
    (tmp_path / "names.tsv").write_text("1\tAnn\n2\tBob\n", encoding="utf-8")
    _, literals, entities = staged(TsvSource(str(tmp_path / "kg.tsv"), str(tmp_path / "names.tsv")), tmp_path)
    assert (set(literals), entities) == ({"A long day"}, {"1", "2", "77"})
