"""A stage that cannot be completed, and a lock that is held: what is said, and what is left."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from lodestar.engine.file_access import lock_file
from lodestar.loaders.formats.triples import TsvSource
from lodestar.loaders.source import Subset
from lodestar.loaders.stage import ABANDONED_S, Stage, delete_abandoned_stages, read_sql


def fill(folder: Path) -> None:
    path = folder / "kg.tsv"
    path.write_text("".join(f"h{i}\tr\tt{i}\n" for i in range(50_000)))
    with Stage(folder / "stage") as stage:
        stage.fill(TsvSource(str(path)), subset=Subset(), max_rejects=0, rejects_file=folder / "rejects")


@pytest.mark.long
def test_a_source_that_exceeds_the_memory_many_times_is_converted(tmp_path: Path) -> None:
    """What is beyond the memory spills. All joins of a triple's terms in one statement needed more for this one."""
    path, num_entities = tmp_path / "kg.tsv", 200_000
    with path.open("w", encoding="utf-8") as file:
        for i in range(600_000):
            head, tail = i * 7_919 % num_entities, (i * 104_729 + i // 5) % num_entities
            file.write(f"an entity with a long id {head}\trelation {i % 50}\tan entity with a long id {tail}\n")
    with Stage(tmp_path / "stage", memory_mb=30) as stage:
        counts = stage.fill(TsvSource(str(path)), subset=Subset(), max_rejects=0, rejects_file=None)
    with Stage(tmp_path / "stage", memory_mb=100) as stage:
        assert (
            sum(batch.num_rows for batch in stage.node_rows("importing/entities", 50_000, delimiter="|"))
            == counts.num_entities
        )
    assert counts.num_triples + counts.num_duplicates == 600_000
    assert counts.num_entities == num_entities


def test_terms_that_do_not_fit_into_memory_are_collected_in_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of many numbers, which DuckDB cannot spill, stands for the terms of a large source."""
    lines = [f"h{i}\tr{i % 3}\tt{i % 700}\n" if i % 2 else f'h{i}\tr\t"{i % 90}"^^<t>\n' for i in range(2_000)]
    (tmp_path / "kg.tsv").write_text("".join(lines))

    def stage_rows() -> list[object]:
        source = TsvSource(str(tmp_path / "kg.tsv"))
        with Stage(tmp_path / "stage", memory_mb=60) as stage:
            counts = stage.fill(source, subset=Subset(), max_rejects=0, rejects_file=None)
            assert (counts.num_entities, counts.num_literals) == (2_000 + 350, 45)
            stage.add_signatures()
            names = ("results/entity_rows", "results/literal_rows")
            return [counts, *(batch.to_pylist() for name in names for batch in stage.node_rows(name, 9_000))]

    too_much = "SELECT list(i) FROM range(30000000) AS numbers(i) WHERE getvariable('num_passes') < 8;"
    in_one_pass, collected = stage_rows(), []

    def query_too_much(name: str) -> str:
        if name != "numbering/collect_terms":
            return read_sql(name)
        collected.append(name)
        return too_much + read_sql(name)

    monkeypatch.setattr("lodestar.loaders.stage.read_sql", query_too_much)
    assert stage_rows() == in_one_pass
    assert len(collected) == 1 + 1 + 1 + 8  # one pass, two, four and eight, of which the last ones come to an end


def test_a_stage_that_nobody_came_back_for_is_swept(tmp_path: Path) -> None:
    for name, age_s in (("old", ABANDONED_S + 60), ("new", 0), ("held", ABANDONED_S + 60)):
        (tmp_path / name).mkdir()
        then_s = time.time() - age_s
        os.utime(tmp_path / name, (then_s, then_s))
    with lock_file(tmp_path / "held.lock", ""):
        delete_abandoned_stages(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["held", "new"]


@pytest.mark.parametrize(
    "slow_one", ["numbering/name", pytest.param("numbering/number_triples", marks=pytest.mark.long)]
)
def test_an_interrupt_does_not_wait(slow_one: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = "SELECT count(*) FROM range(100000) AS a, range(10000000) AS b WHERE a.range + b.range = 7"
    monkeypatch.setattr("lodestar.loaders.stage.read_sql", lambda name: slow if name == slow_one else read_sql(name))
    threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    started_s = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        fill(tmp_path)
    assert time.monotonic() - started_s < 60  # the slow one alone would take minutes
    assert not (tmp_path / "stage").exists()
