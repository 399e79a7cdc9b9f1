"""Nothing that a load, a run or a cache keeps can be read by another user of the machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lodestar.engine.settings import Settings
from lodestar.loaders.stage import Stage

from tests.e2e.conftest import Lodestar

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.database]


def open_to_others(home: Path) -> list[Path]:
    """Return the files that somebody else can open: no folder around them, up to the home, is closed to others."""

    def is_open(path: Path) -> bool:
        return bool(path.stat().st_mode & 0o077)

    return [
        path
        for path in home.rglob("*")
        if path.is_file() and all(map(is_open, (path, *(each for each in path.parents if each.is_relative_to(home)))))
    ]


def test_what_is_staged_and_kept(
    lodestar: Lodestar, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, found = settings.home_dir, list[Path]()
    (home / "staging").mkdir(mode=0o755, parents=True, exist_ok=True)  # as an earlier version left it
    (home / "staging").chmod(0o755)
    fill = Stage.fill

    def watched(stage: Stage, *arguments: object, **options: object) -> object:
        try:
            return fill(stage, *arguments, **options)  # type: ignore[arg-type]
        finally:
            found.extend(open_to_others(home))
            assert list((home / "staging").iterdir())

    monkeypatch.setattr(Stage, "fill", watched)
    (tmp_path / "kg.tsv").write_text("Ann\tknows\tBo\n", encoding="utf-8")
    assert lodestar("load", "tsv", str(tmp_path / "kg.tsv"), "--append").code == 0
    line = {"id": "1", "question": "What is the capital of Peru?", "topic_entities": ["m.peru"], "answers": ["m.lima"]}
    (tmp_path / "set.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    ran = lodestar("eval", str(tmp_path / "set.jsonl"))
    assert ran.code == 0, ran.err
    assert (home / "runs" / "set-similarity" / "records.jsonl").exists()
    assert not list(Path().iterdir())
    assert not found + open_to_others(home)
    tmp_path.chmod(0o755)
    assert lodestar("export", str(tmp_path / "out.tsv")).code == 0  # which is where its user wants it
    assert (tmp_path / "out.tsv").stat().st_mode == (tmp_path / "kg.tsv").stat().st_mode
