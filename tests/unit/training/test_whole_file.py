"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from lodestar.engine.errors import StorageError
from lodestar.engine.file_access import write_text_file
from lodestar.models.atomic_files import ABANDONED_S, atomic_write, check_writable


def test_what_was_written_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(b"before")
    with atomic_write(file) as draft:
        draft.write_bytes(b"after")
        assert file.read_bytes() == b"before"
    assert file.read_bytes() == b"after"
    assert list(tmp_path.iterdir()) == [file]


def test_a_failure_leaves_what_was_there_and_no_draft(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("before")
    with pytest.raises(RuntimeError), atomic_write(file) as draft:
        draft.write_text("half")
        raise RuntimeError
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


def test_several_writers_at_once_leave_one_of_their_files(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    texts = [letter * 100_000 for letter in "abcdef"]
    threads = [threading.Thread(target=write_text_file, args=(file, text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert file.read_text() in texts
    assert list(tmp_path.iterdir()) == [file]


def test_a_draft_left_by_a_kill_is_deleted_later_and_one_under_way_is_not(tmp_path: Path) -> None:
    left, under_way, other = (tmp_path / f".{name}.part" for name in ("a[1].txt.7-7", "a[1].txt.8-8", "b.txt.7-7"))
    for draft in (left, under_way, other):
        draft.touch()
    old = time.time() - ABANDONED_S - 1
    os.utime(left, (old, old))
    os.utime(other, (old, old))
    write_text_file(tmp_path / "a[1].txt", "text")
    assert {path.name for path in tmp_path.iterdir()} == {"a[1].txt", under_way.name, other.name}


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    pipe, folder, link = tmp_path / "pipe", tmp_path / "folder", tmp_path / "link"
    os.mkfifo(pipe)
    folder.mkdir()
    link.symlink_to("/dev/null")
    for place, message in {pipe: "a device or a pipe", folder: "Is a directory", link: "a device or a pipe"}.items():
        with pytest.raises(StorageError, match=message):
            write_text_file(place, "text")
        with pytest.raises(OSError, match=message):
            check_writable(place)
    check_writable(tmp_path / "new")
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "folder", "link"}
