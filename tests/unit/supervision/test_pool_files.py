"""Files of candidate pools: what is written is read, and what is wrong with one is told with its line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from lodestar.models.mined import MAX_RATIO, MinedFileError, is_mined, read_pool, write_pool
from lodestar.models.mined import read_mined_file as read_mined

from tests.made.mined_examples import mined_file
from tests.made.pool_examples import candidate_pool


@pytest.mark.parametrize("name", ["pool.jsonl", "pool.jsonl.gz"])
def test_what_is_written_is_read(tmp_path: Path, name: str) -> None:
    pool = candidate_pool()
    write_pool(tmp_path / name, pool)
    read = read_pool(tmp_path / name)
    assert (read.header, read.questions) == (pool.header, pool.questions)
    assert len(read.sha256) == 64
    assert not is_mined(tmp_path / name)


def test_what_is_wrong_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl"
    write_pool(path, candidate_pool(2))
    lines = path.read_text(encoding="utf-8").splitlines()
    first, second = json.loads(lines[0]), json.loads(lines[1])
    chain = second["chains"][0]
    wrong = {
        (1, json.dumps(first | {"format": 9})): "format 2 in the first line",
        (1, json.dumps(first | {"kind": "paths"})): "kind pool in the first line",
        (1, json.dumps(first | {"refiner": 1})): "refiner: input should be a valid string",
        (2, lines[1][:-4]): "",
        (2, json.dumps(second | {"chosen": [4]})): "what was chosen is one of the chains",
        (2, json.dumps(second | {"how": "guessed"})): "how: input should be",
        (2, json.dumps(second | {"chains": [{**chain, "names": ["Peru"]}]})): "a name more than steps",
        (2, json.dumps(second | {"chains": [{**chain, "start": "chile"}]})): "starts at a topic of its question",
        (3, ""): "expected what `lodestar mine` writes",
    }
    for (number, line), message in wrong.items():
        changed = [*lines[: number - 1], line, *lines[number:]]
        path.write_text("".join(f"{each}\n" for each in changed), encoding="utf-8")
        with pytest.raises(MinedFileError, match=f"pool.jsonl:{number}: ") as told:
            read_pool(path)
        assert message in str(told.value)
    path.write_text(f"{lines[0]}\n{lines[1]}\n", encoding="utf-8")
    with pytest.raises(
        MinedFileError, match=r"expected 2 questions, found 1: the file is truncated: mine the pool again"
    ):
        read_pool(path)
    with pytest.raises(MinedFileError, match="kind pool in the first line"):
        read_pool(mined_file(tmp_path / "mined.jsonl"))


@pytest.mark.parametrize("read", [read_pool, read_mined], ids=["pool", "paths"])
def test_a_small_file_that_is_large_when_it_is_unpacked_is_not_taken_in(
    tmp_path: Path, read: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lodestar.models.mined.FREE_BYTES", 1 << 20)
    monkeypatch.setattr("lodestar.models.mined.MAX_LINE_BYTES", 1 << 18)
    path = tmp_path / "bomb.jsonl.gz"
    (write_pool(path, candidate_pool(1)) if read is read_pool else mined_file(path))
    with gzip.open(path, "rb") as file:
        head, question, *_ = file.read().splitlines(keepends=True)
    for lines, fault in (
        ([b'{"id": "' + b"x" * (1 << 18) + b'"}\n'], "found a longer one"),
        ([question] * ((2 << 20) // len(question)), "bytes when it is unpacked, found more"),
    ):
        with gzip.open(path, "wb", compresslevel=9) as file:
            file.writelines([head, *lines])
        assert path.stat().st_size < 2 * (1 << 20) / MAX_RATIO
        with pytest.raises(MinedFileError, match=fault):
            read(path)
