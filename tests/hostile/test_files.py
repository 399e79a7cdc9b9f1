"""No verb replaces what it reads, or what another run or program made, unless it is told to."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.conftest import Lodestar

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.database]

LINE = {"id": "1", "question": "What is the capital of Peru?", "topic_entities": ["m.peru"], "answers": ["m.lima"]}


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps(LINE) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("options", [(), ("--fresh",)])
@pytest.mark.parametrize("name", ["records.jsonl", "report.json", "report.md", "run.json"])
def test_a_run_never_replaces_its_question_set(
    lodestar: Lodestar, questions: Path, tmp_path: Path, name: str, options: tuple[str, ...]
) -> None:
    place = tmp_path / "folder"
    place.mkdir()
    shutil.copy(questions, place / name)
    ran = lodestar("eval", str(place / name), "--format", "lodestar", "--out", str(place), *options)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1), ran.err
    assert "this command reads that file" in ran.err
    assert (place / name).read_bytes() == questions.read_bytes()


@pytest.mark.parametrize("name", ["records.jsonl", "report.json", "report.md"])
def test_a_run_replaces_a_foreign_file_only_when_told_to(
    lodestar: Lodestar, questions: Path, tmp_path: Path, name: str
) -> None:
    place = tmp_path / "folder"
    place.mkdir()
    (place / name).write_text("mine", encoding="utf-8")
    options = ("--recipe", "similarity")
    ran = lodestar("eval", str(questions), "--out", str(place), *options)
    assert ran.code == 2
    assert "no run wrote" in ran.err
    assert (place / name).read_text(encoding="utf-8") == "mine"
    assert lodestar("eval", str(questions), "--out", str(place), *options, "--fresh").code == 0
    assert (place / name).read_text(encoding="utf-8") != "mine"


def test_single_files_are_replaced_only_when_told_to(lodestar: Lodestar, questions: Path, tmp_path: Path) -> None:
    pool = tmp_path / "pool.jsonl"
    assert lodestar("mine", str(questions), "--pool", "--out", str(pool)).code == 0
    for arguments in (
        ("mine", str(questions), "--out"),
        ("mine", str(questions), "--pool", "--out"),
        ("export", "--format", "tsv"),
        ("export", str(tmp_path / "{}kg.tsv"), "--names"),
    ):
        file = tmp_path / "file"
        file.write_text("mine", encoding="utf-8")
        first, second = ([str(each).format(n) for each in arguments] for n in "12")
        ran = lodestar(*first, str(file))
        assert (ran.code, len(ran.err.splitlines())) == (2, 1), ran.err
        assert "there is a file already: name another one, or give --force to replace it" in ran.err
        assert file.read_text(encoding="utf-8") == "mine"
        ran = lodestar(*second, str(file), "--force")
        assert ran.code == 0, ran.err
        assert file.read_text(encoding="utf-8") != "mine"
    assert lodestar("mine", str(questions), "--out", str(questions), "--force").code == 2
    assert json.loads(questions.read_text(encoding="utf-8")) == LINE
