"""Whatever is given, a command ends with one line and a documented exit code, and replaces no file unless it is told to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Lodestar, question_file

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.database]

QUESTION = "What is the capital of Peru?"
DEEP = "[" * 100_000


@pytest.fixture
def questions(tmp_path: Path) -> str:
    return question_file(tmp_path / "questions.jsonl", (QUESTION, "m.peru", "m.lima"))


@pytest.fixture
def run_folder(lodestar: Lodestar, questions: str, tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    assert lodestar("eval", questions, "--out", str(folder)).code == 0
    return folder


def refused(lodestar: Lodestar, *arguments: str, codes: tuple[int, ...] = (2, 3)) -> str:
    ran = lodestar(*arguments)
    assert ran.code in codes, (ran.code, ran.out[:300], ran.err[:300])
    assert len(ran.err) < 2_000, len(ran.err)
    return ran.err


@pytest.mark.parametrize(
    "change",
    [
        "linker.kind=[]",
        "answerer.kind={a=1}",
        "answerer.kind=[[1]]",
        f"top_k={'0' * 400}",
        f"top_k={'9' * 5_000}",
        f"seed={'9' * 5_000}",
        f"similarity.max_hop=1{'0' * 400}",
        f"answerer.min_probability=1{'0' * 400}",
        f"similarity.max_hop={'9' * 5_000}",
        f"similarity.max_hop={'[' * 5_000}",
        f"similarity.max_hop={'{a=' * 5_000}",
        f"{'a.' * 100_000}b=1",
        f"{'.' * 100_000}=1",
        f"stages={'(' * 5_000}similarity",
        f"stages={'(' * 900}similarity",
        f"stages={'pagerank + ' * 170}pagerank",
        f"stages={'x+' * 900}x",
        f"stages={'similarity | ' * 5_000}similarity",
        "stages=[]",
        "parts=[]",
        "parts.x=[]",
        "parts.x=1",
        "=",
        "top_k=nan",
        "top_k=1e999",
        "answerer.min_probability=nan",
        "answerer.min_probability=inf",
        "top_k=-1",
        "similarity=1",
        "linker=[]",
    ],
    ids=lambda change: change[:30],
)
def test_set(lodestar: Lodestar, change: str) -> None:
    refused(lodestar, "ask", QUESTION, "--set", change)


@pytest.mark.parametrize(
    "text",
    [
        "stages = " + "[" * 5_000,
        'stages = "similarity"\n' + "[a." * 3_000 + "b]",
        'stages = "' + "(" * 5_000 + '"',
        f"top_k = {'9' * 5_000}",
        'stages = "similarity + x"\n[parts]\nx = "lodestar.engine.recipes.part:RetrieverPart"',
        'stages = "similarity + x"\n[parts]\nx = "tests.fakes.raising_module:Thing"',
        'stages = "similarity"\n[linker]\nkind = []',
        'stages = "similarity"\n[similarity]\nmax_hop = nan',
        "\0",
    ],
    ids=lambda text: text[:30],
)
def test_recipe(lodestar: Lodestar, tmp_path: Path, text: str) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(text, encoding="utf-8")
    refused(lodestar, "ask", QUESTION, "--recipe", str(path), "--allow-parts")


@pytest.mark.parametrize(
    "text", [DEEP, '{"a":' * 100_000, "{}", "[]", "1", '{"format": 1}', f'{{"format": {"9" * 5_000}}}', "\0", ""]
)
@pytest.mark.parametrize("name", ["run.json", "records.jsonl"])
def test_runs(lodestar: Lodestar, run_folder: Path, questions: str, name: str, text: str) -> None:
    (run_folder / name).write_text(text, encoding="utf-8")
    for more in (
        ["--out", str(run_folder)],
        ["--out", str(run_folder.with_name("second")), "--against", str(run_folder)],
    ):
        refused(lodestar, "eval", questions, *more, codes=(0, 2, 3, 5))


@pytest.mark.parametrize(
    "line",
    [
        DEEP,
        '{"question":' * 50_000,
        '{"question": "a", "topic_entities": ' + DEEP,
        "{}",
        '{"question": 1}',
        '{"question": "a", "id": ' + "9" * 5_000 + "}",
    ],
)
def test_question_files(lodestar: Lodestar, tmp_path: Path, line: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    refused(lodestar, "ask", "--file", str(path))
    refused(lodestar, "eval", str(path), "--out", str(tmp_path / "run"))
    refused(lodestar, "mine", str(path), "--out", str(tmp_path / "mined"))


@pytest.mark.parametrize("place", ["/dev/zero", "/dev/urandom"])
def test_endless_inputs(
    lodestar: Lodestar, questions: str, tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = tmp_path / "endless.toml"
    endless.symlink_to(place)
    refused(lodestar, "ask", QUESTION, "--recipe", str(endless))
    refused(lodestar, "ask", "--file", place)
    monkeypatch.setenv("LODESTAR_LLM_PROMPT", place)
    monkeypatch.setenv("LODESTAR_LLM_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("LODESTAR_LLM_MODEL", "m")
    refused(lodestar, "ask", "--llm", QUESTION)
    monkeypatch.delenv("LODESTAR_LLM_PROMPT")
    refused(lodestar, "eval", place, "--out", str(tmp_path / "run"))
    monkeypatch.setenv("LODESTAR_CONFIG", place)
    refused(lodestar, "ask", QUESTION)


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252", "utf-16"])
def test_output_in_another_encoding(environment: dict[str, str], encoding: str) -> None:
    given = {**os.environ, **environment, "PYTHONIOENCODING": encoding}
    for options in ((), ("--json",)):
        command = [sys.executable, "-m", "lodestar", "ask", "What is the capital of Peru?", "Что это → 中?", *options]
        ran = subprocess.run(command, env=given, capture_output=True, timeout=120, check=False)
        assert b"Traceback" not in ran.stderr, ran.stderr[-500:]
        assert ran.returncode == 5, ran.stderr  # the second question names nothing of the graph
        out = ran.stdout.decode("utf-8" if encoding == "ascii" else encoding)  # which click takes for a mistake
        if options:
            assert json.loads(out.splitlines()[-1])["question"] == "Что это → 中?"
        assert "Lima" in out


@pytest.mark.parametrize("name", ["records.jsonl", "report.json", "report.md", "run.json"])
def test_a_run_never_replaces_its_question_set(lodestar: Lodestar, questions: str, tmp_path: Path, name: str) -> None:
    place = tmp_path / "folder"
    place.mkdir()
    shutil.copy(questions, place / name)
    ran = lodestar("eval", str(place / name), "--format", "lodestar", "--out", str(place))
    assert ran.code == 2, ran.err
    assert "no run wrote" in ran.err.splitlines()[-1]
    assert (place / name).read_bytes() == Path(questions).read_bytes()


@pytest.mark.parametrize("name", ["records.jsonl", "report.json", "report.md"])
def test_a_run_never_replaces_a_foreign_file(lodestar: Lodestar, questions: str, tmp_path: Path, name: str) -> None:
    place = tmp_path / "folder"
    place.mkdir()
    (place / name).write_text("mine", encoding="utf-8")
    ran = lodestar("eval", questions, "--out", str(place), "--recipe", "similarity")
    assert ran.code == 2
    assert "no run wrote" in ran.err
    assert (place / name).read_text(encoding="utf-8") == "mine"


def test_single_files_are_replaced_only_when_told_to(lodestar: Lodestar, questions: str, tmp_path: Path) -> None:
    pool = tmp_path / "pool.jsonl"
    assert lodestar("mine", questions, "--pool", "--out", str(pool)).code == 0
    for arguments in (
        ("mine", questions, "--out"),
        ("mine", questions, "--pool", "--out"),
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
    assert lodestar("mine", questions, "--out", questions, "--force").code == 2
    assert json.loads(Path(questions).read_text(encoding="utf-8"))["question"] == QUESTION
