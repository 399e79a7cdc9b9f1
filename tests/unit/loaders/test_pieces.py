"""A source parsed piece by piece, on processes or here, is the same as in sequence, faults included."""

from __future__ import annotations

import gzip
import pickle
import zlib
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pytest
from lodestar.engine.errors import InputError
from lodestar.loaders.formats import triples_parquet
from lodestar.loaders.formats.delimited import TsvSource
from lodestar.loaders.formats.triples_parquet import ParquetSource
from lodestar.loaders.source import Source, SourceRowBatches
from lodestar.loaders.stage import pieces
from lodestar.loaders.stage.processes import MapInOrder
from lodestar.loaders.stage.stage import Stage, StageCounts
from lodestar.loaders.subset import Subset
from pyarrow import parquet

P = TypeVar("P")
R = TypeVar("R")


def map_here(work: Callable[[P], R], parts: Sequence[P], /) -> Generator[R, None, None]:
    yield from map(work, parts)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "APART_FROM_BYTES", 1)
    monkeypatch.setattr(pieces, "SPAN_BYTES", 900)


def lines_of(first: int, number: int) -> bytes:
    return b"".join(b"e%d\tr%d\te%d\n" % (i, i % 3, i // 2) for i in range(first, first + number))


Staged = tuple[StageCounts, list[dict[str, object]], list[dict[str, object]], str]


def staged(source: Source, folder: Path, map_in_order: MapInOrder | None) -> Staged:
    """Return all that a stage says of a source."""
    rejects = folder / "rejects"
    with Stage(folder / "stage", threads=1, map_in_order=map_in_order) as stage:
        counts = stage.fill(source, "x", subset=Subset(), max_rejects=99, rejects_file=rejects)
        numbers = [number for number, _, _ in stage.relations()]
        rows = [
            row
            for literals in (False, True)
            for batch in stage.rows("results/triple_rows", 100, relations=numbers, literals=literals)
            for row in batch.to_pylist()
        ]
        names = [row for batch in stage.rows("results/entity_rows", 100) for row in batch.to_pylist()]
        assert not list(stage.folder.glob("*.parquet"))
        stage.delete()
    return counts, rows, names, rejects.read_text() if rejects.exists() else ""


def write_shards(folder: Path) -> TsvSource:
    """Write a header, members that end within lines, rejects, a file without a newline at its end, and names."""
    kg = folder / "kg"
    kg.mkdir()
    first = b"head\trelation\ttail\n" + lines_of(0, 300) + b"no triple\n" + lines_of(300, 9) + b"\xff\tr\ta\n"
    (kg / "a.tsv.gz").write_bytes(b"".join(gzip.compress(first[at : at + 333]) for at in range(0, len(first), 333)))
    (kg / "b.tsv").write_bytes(b"head\trelation\ttail\n" + lines_of(200, 300).removesuffix(b"\n"))
    (kg / "_SUCCESS").write_bytes(b"")
    (folder / "names.tsv").write_bytes(b"".join(b"e%d\tName %d\te%d\n" % (i, i, i) for i in range(0, 400, 3)))
    return TsvSource(str(kg), str(folder / "names.tsv"))


def test_pieces_make_the_same_stage_as_the_whole(tmp_path: Path) -> None:
    source = write_shards(tmp_path)
    whole = staged(source, tmp_path, None)
    assert whole[0].num_rejects == 2
    assert "a.tsv.gz:302" in whole[3]
    assert staged(source, tmp_path, map_here) == whole


def test_a_member_that_is_none_is_read_with_what_is_around_it(tmp_path: Path) -> None:
    inner = gzip.compress(b"inner\n" * 400, mtime=0)
    packer = zlib.compressobj(0, wbits=31)
    outer = packer.compress(lines_of(0, 40) + inner + b"\n" + lines_of(40, 40)) + packer.flush()
    (tmp_path / "kg.tsv").write_bytes(gzip.compress(lines_of(80, 200)) + outer + gzip.compress(lines_of(280, 90)))
    source = TsvSource(str(tmp_path / "kg.tsv"))
    whole = staged(source, tmp_path, None)
    assert whole[0].num_triples == 370
    assert staged(source, tmp_path, map_here) == whole


def cut_off(packed: bytes) -> bytes:
    return packed[:-4]


def lie(packed: bytes) -> bytes:
    """Return a member that says that it has another sum."""
    return packed[:-8] + bytes([packed[-8] ^ 1]) + packed[-7:]


@pytest.mark.parametrize("damage", [cut_off, lie])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_member_that_lies_is_refused_as_in_sequence(
    tmp_path: Path, damage: Callable[[bytes], bytes], place: int
) -> None:
    packed = [gzip.compress(lines_of(100 * number, 100)) for number in range(3)]
    packed[place] = damage(packed[place])
    (tmp_path / "kg.tsv.gz").write_bytes(b"".join(packed))
    found = []
    for map_in_order in (None, map_here):
        with pytest.raises(InputError, match="gzip") as refusal:
            staged(TsvSource(str(tmp_path / "kg.tsv.gz")), tmp_path, map_in_order)
        found.append(str(refusal.value))
    assert found[0] == found[1]


def write_parquet(folder: Path) -> ParquetSource:
    """Write a folder of files with several row groups, literals and a reject among them, an empty one, and names."""
    kg = folder / "kg"
    kg.mkdir()
    table = pa.table({})
    for part, (first, number) in enumerate([(0, 300), (200, 5), (400, 300)]):
        ids = range(first, first + number)
        table = pa.table({
            "head": [f"e{i}" if i != 533 else "" for i in ids],
            "relation": [f"r{i % 3}" for i in ids],
            "tail": [f"{i} km" if i % 7 == 0 else f"e{i // 2}" for i in ids],
            "is_literal": [i % 7 == 0 for i in ids],
        })  # fmt: skip
        parquet.write_table(table, kg / f"part-{part}.parquet", row_group_size=40)
    parquet.write_table(table.slice(0, 0), kg / "part-3.parquet")
    names = {"id": [f"e{i}" for i in range(0, 700, 3)], "name": [f"Name {i}" for i in range(0, 700, 3)]}
    parquet.write_table(pa.table(names), folder / "names.parquet", row_group_size=100)
    return ParquetSource(str(kg), str(folder / "names.parquet"))


def test_row_groups_make_the_same_stage_as_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triples_parquet, "SPAN_BYTES", 900)
    source = write_parquet(tmp_path)
    spans = [len(part.spans) for part in source.parts() if isinstance(part, SourceRowBatches)]
    assert len(spans) == 5
    assert min(spans[0], spans[2], spans[4]) > 1
    whole = staged(source, tmp_path, None)
    taken: list[int] = []

    def map_and_count(work: Callable[[P], R], parts: Sequence[P], /) -> Generator[R, None, None]:
        taken.append(len(parts))
        yield from map(work, pickle.loads(pickle.dumps(parts)))

    assert staged(source, tmp_path, map_and_count) == whole
    assert taken == [sum(spans)]
    assert "part-2.parquet:134" in whole[-1]
    assert source.position_bytes == source.size_bytes
