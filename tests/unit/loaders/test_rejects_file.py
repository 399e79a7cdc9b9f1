"""The file of rejected lines: it takes nothing away that it was not told to, and is there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from lodestar.engine.errors import InputError, UsageError
from lodestar.loaders.formats.delimited import TsvSource
from lodestar.loaders.loads.loading import LoadOptions
from lodestar.loaders.loads.preview import preview
from lodestar.loaders.stage.rejects import Rejects, check_no_overwrite, check_place


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    path = tmp_path / "kg.tsv"
    path.write_text("a\tr\tb\nx\n")
    return path


@pytest.mark.parametrize("force", [False, True])
def test_what_is_read_is_not_written_over(kg: Path, tmp_path: Path, force: bool) -> None:
    names, link = tmp_path / "names.tsv", tmp_path / "link.tsv"
    names.write_text("a\tA\n")
    link.symlink_to(kg)
    for path in (kg, names, link):
        options = LoadOptions(staging=tmp_path / "staging", rejects_file=path, max_rejects=1, force=force)
        with pytest.raises(UsageError, match=r"--rejects .*: this load reads that file: name another one"):
            preview(TsvSource(str(kg), str(names)), options)
    assert kg.read_text() == "a\tr\tb\nx\n"
    assert names.read_text() == "a\tA\n"


@pytest.mark.skipif(os.name != "posix", reason="no such devices")
def test_a_device_and_a_pipe_stay(kg: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path(os.devnull), tmp_path):
        with pytest.raises(
            UsageError, match="expected the name of a file to write, found a folder, a device or a pipe"
        ):
            check_place(path, TsvSource(str(kg)).reads)
    assert pipe.is_fifo()


def test_a_file_is_overwritten_by_force_only_and_never_by_a_dry_run(kg: Path, tmp_path: Path) -> None:
    rejects = tmp_path / "rejects.tsv"
    rejects.write_text("mine\n")
    with pytest.raises(UsageError, match=r"there is a file already: name another one, or give --force to overwrite it"):
        check_no_overwrite(rejects, force=False)
    check_no_overwrite(rejects, force=True)
    options = LoadOptions(staging=tmp_path / "staging", rejects_file=rejects, max_rejects=1, force=True)
    assert preview(TsvSource(str(kg)), options).categories["reject"] == 1
    assert rejects.read_text() == "mine\n"
    assert [path.name for path in (tmp_path / "staging").iterdir()] == []


def test_rejects_appear_at_the_end_whatever_that_is(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rejects.tsv"
    with (
        pytest.raises(InputError, match=r"2 lines rejected, more than --max-rejects 1: .*; all are in "),
        Rejects(path, 1) as rejects,
    ):
        rejects.begin_part("kg.tsv")
        rejects.add(2, "no triple", "x")
        rejects.add(3, "no triple", "y")
        rejects.take_over([])
        assert not path.exists()
        rejects.check()
    assert path.read_text() == "kg.tsv:2\tno triple\t'x'\nkg.tsv:3\tno triple\t'y'\n"
    with Rejects(path, 1):
        pass
    assert list(path.parent.iterdir()) == []
