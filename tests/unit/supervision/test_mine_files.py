"""Files of training paths and of pools: one that is large when it is unpacked is refused."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from lodestar.models.mined_files import MAX_RATIO, MinedFileError, read_pool, write_mined_file
from lodestar.models.mined_files import read_mined_file as read_mined

from tests.made.mined_examples import mined_file
from tests.made.pool_examples import candidate_pool


@pytest.mark.parametrize("read", [read_pool, read_mined], ids=["pool", "paths"])
def test_a_small_file_that_is_large_when_it_is_unpacked_is_not_taken_in(
    tmp_path: Path, read: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lodestar.models.mined_files.FREE_BYTES", 1 << 20)
    monkeypatch.setattr("lodestar.models.mined_files.MAX_LINE_BYTES", 1 << 18)
    path = tmp_path / "bomb.jsonl.gz"
    pool = candidate_pool(1)
    (write_mined_file(path, pool.header, pool.questions) if read is read_pool else mined_file(path))
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
