"""No verb replaces what it reads, or what another run or program made, unless it is told to."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from lodestar.engine.neo4j.catalogue import read_catalogue
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.models.mined import write_pool

from tests.e2e.conftest import Lodestar
from tests.made.pool_examples import candidate_pool
from tests.made.tiny_checkpoint import write_tiny_checkpoint

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.database]

LINE = {"id": "1", "question": "What is the capital of Peru?", "topic_entities": ["m.peru"], "answers": ["m.lima"]}


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps(LINE) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("options", [(), ("--fresh",)])
@pytest.mark.parametrize("name", ["records.jsonl", "report.json", "report.html", "run.json"])
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


@pytest.mark.parametrize("name", ["records.jsonl", "report.json", "report.html"])
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


def test_a_second_run_is_emptied_only_when_told_to(lodestar: Lodestar, questions: Path, tmp_path: Path) -> None:
    first, again = tmp_path / "run", tmp_path / "run-again"
    assert lodestar("eval", str(questions), "--out", str(first)).code == 0
    again.mkdir()
    (again / "records.jsonl").write_text("mine", encoding="utf-8")
    assert lodestar("eval", "rerun", str(first)).code == 2
    assert (again / "records.jsonl").read_text(encoding="utf-8") == "mine"
    assert lodestar("eval", "rerun", str(first), "--out", str(tmp_path / "other")).code == 0
    finished = lodestar("eval", "rerun", str(first), "--out", str(tmp_path / "other"))
    assert finished.code == 2
    assert "holds a finished run" in finished.err
    assert lodestar("eval", "rerun", str(first), "--out", str(tmp_path / "other"), "--fresh").code == 0


def test_a_run_is_never_made_again_into_itself(lodestar: Lodestar, questions: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert lodestar("eval", str(questions), "--out", str(run)).code == 0
    before = (run / "report.json").read_bytes()
    for options in ((), ("--fresh",)):
        ran = lodestar("eval", "rerun", str(run), "--out", str(run), *options)
        assert (ran.code, len(ran.err.splitlines())) == (2, 1)
        assert "this command reads that run" in ran.err
        assert (run / "report.json").read_bytes() == before


def test_one_file_is_not_written_twice_nor_in_the_place_of_a_recipe(lodestar: Lodestar, tmp_path: Path) -> None:
    file, recipe = str(tmp_path / "file"), tmp_path / "recipe.toml"
    recipe.write_text('stages = "similarity"\n', encoding="utf-8")
    for arguments, said in (
        (("export", file, "--format", "tsv", "--names", file), "cannot both go to"),
        (("explain", LINE["question"], "--recipe", str(recipe), "--html", str(recipe), "--force"), "reads that file"),
    ):
        ran = lodestar(*map(str, arguments))
        assert (ran.code, len(ran.err.splitlines())) == (2, 1)
        assert said in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["recipe.toml"]
    assert recipe.read_text(encoding="utf-8") == 'stages = "similarity"\n'


def test_an_export_leaves_the_files_beside_it_alone(lodestar: Lodestar, tmp_path: Path) -> None:
    (tmp_path / "kg.tsv.new").write_text("mine", encoding="utf-8")
    assert lodestar("export", str(tmp_path / "kg.tsv")).code == 0
    assert (tmp_path / "kg.tsv.new").read_text(encoding="utf-8") == "mine"


def test_a_pool_is_never_refined_into_itself(lodestar: Lodestar, tmp_path: Path) -> None:
    pool = tmp_path / "pool.jsonl"
    write_pool(pool, candidate_pool(2))
    before = pool.read_bytes()
    for options in ((), ("--force",)):
        ran = lodestar("refine", str(pool), "--out", str(pool), "--by", "similarity", *options)
        assert ran.code == 2
        assert "this command reads that file" in ran.err
        assert pool.read_bytes() == before


def test_single_files_are_replaced_only_when_told_to(
    lodestar: Lodestar, gateway: Gateway, questions: Path, tmp_path: Path
) -> None:
    checkpoint = str(write_tiny_checkpoint(tmp_path / "star", graph=gateway.fetch(read_catalogue()).vocabulary))
    pool = tmp_path / "pool.jsonl"
    assert lodestar("mine", str(questions), "--pool", "--out", str(pool)).code == 0
    for arguments in (
        ("mine", str(questions), "--out"),
        ("mine", str(questions), "--pool", "--out"),
        ("refine", str(pool), "--by", "similarity", "--out"),
        ("export", "--format", "tsv"),
        ("export", str(tmp_path / "{}kg.tsv"), "--names"),
        ("explain", LINE["question"], "--checkpoint", checkpoint, "--html"),
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


def test_a_pool_of_another_graph_is_one_line(lodestar: Lodestar, tmp_path: Path) -> None:
    pool = tmp_path / "pool.jsonl"
    write_pool(pool, candidate_pool(2))
    ran = lodestar("refine", str(pool), "--out", str(tmp_path / "refined.jsonl"), "--by", "similarity")
    assert ran.code == 3
    assert ran.err.endswith("the pool is of another graph: this one has no relation capital: mine the pool again\n")
