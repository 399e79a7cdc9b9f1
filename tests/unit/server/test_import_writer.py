"""The files that the importer reads, byte by byte; what it makes of them is in the integration tests."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from lodestar.engine.errors import StorageError
from lodestar.engine.neo4j.import_files import ImportFile, ImportFileWriter

LISTS = pa.list_(pa.string())


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


def test_lists_are_parted_by_the_delimiter(tmp_path: Path) -> None:
    aliases = pa.array([["a", "", "b;c"], None], LISTS)
    numbers = pa.array([[1, -2], [3]], pa.list_(pa.int32()))
    with ImportFileWriter(tmp_path / "n.csv", "|") as writer:
        writer.write(pa.table({"aliases:string[]": aliases, "s:int[]": numbers}))
    assert (tmp_path / "n.csv").read_text() == '"aliases:string[]"\t"s:int[]"\n"a||b;c"\t"1|-2"\n\t"3"\n'


def test_a_dictionary_is_written_as_its_texts(tmp_path: Path) -> None:
    types = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1]), pa.array(["long\nest", "b"]))
    with ImportFileWriter(tmp_path / "r.csv") as writer:
        writer.write(pa.table({":START_ID(n)": [0, 1, 2], ":TYPE": types}))
    assert (tmp_path / "r.csv").read_text() == '":START_ID(n)"\t":TYPE"\n0\t"b"\n1\t"long\nest"\n2\t"b"\n'
    assert writer.written == ImportFile("r.csv", 3, spans_lines=True, longest_row=8)


@pytest.mark.parametrize("items", [[""], []])
def test_a_list_without_text_is_a_bug(tmp_path: Path, items: list[str]) -> None:
    with ImportFileWriter(tmp_path / "n.csv") as writer, pytest.raises(AssertionError, match="a list without text"):
        writer.write(pa.table({"aliases:string[]": pa.array([["a"], items], LISTS)}))


def test_nothing_written_is_no_file(tmp_path: Path) -> None:
    with ImportFileWriter(tmp_path / "n.csv") as writer:
        pass
    assert writer.written.num_rows == 0
    assert not (tmp_path / "n.csv").exists()


def test_a_name_that_the_importer_would_take_apart_is_a_bug(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="a,b"):
        ImportFileWriter(tmp_path / "a,b.csv")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_one_line() -> None:
    with (
        pytest.raises(StorageError, match=r"/dev/full: cannot be written \(No space left on device\): make room"),
        ImportFileWriter(Path("/dev/full")) as writer,
    ):
        writer.write(pa.table({"id": ["x" * 10_000_000]}))
