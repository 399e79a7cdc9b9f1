"""The files that the importer reads, byte by byte; what it makes of them is in the integration tests."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from lodestar.engine.errors import StorageError
from lodestar.engine.neo4j.bulk_import import ImportFile, ImportFileWriter


def test_absent_and_empty_are_told_apart(tmp_path: Path) -> None:
    with ImportFileWriter(tmp_path / "n.csv") as writer:
        writer.write(pa.table({":ID(n)": [0, 1], "id": ["a", 'b"\t'], "name": pa.array([None, ""])}))
        writer.write(pa.table({":ID(n)": [2], "id": ["c"], "name": pa.array(["four"], pa.string())}))
    assert (tmp_path / "n.csv").read_text() == '":ID(n)"\t"id"\t"name"\n0\t"a"\t\n1\t"b""\t"\t""\n2\t"c"\t"four"\n'
    assert writer.written == ImportFile("n.csv", 3, spans_lines=False, longest_row=5)


@pytest.mark.parametrize("text", ["two\nlines", "cr\rlf"])
def test_a_line_break_in_any_text_is_said(tmp_path: Path, text: str) -> None:
    with ImportFileWriter(tmp_path / "n.csv") as writer:
        writer.write(pa.table({"id": ["a"], "name": [text]}))
        assert writer.written.spans_lines
        writer.write(pa.table({"id": ["b"], "name": ["one"]}))
    assert writer.written.spans_lines


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_one_line() -> None:
    with (
        pytest.raises(StorageError, match=r"/dev/full: cannot be written \(No space left on device\): make room"),
        ImportFileWriter(Path("/dev/full")) as writer,
    ):
        writer.write(pa.table({"id": ["x" * 10_000_000]}))
