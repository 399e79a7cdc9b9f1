"""What verbs show steers no terminal, and what they keep can be read by no other user of the machine."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from lodestar.engine.neo4j.catalogue import read_catalogue
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Settings
from lodestar.loaders.stage import Stage

from tests.e2e.conftest import Lodestar, question_file
from tests.made.tiny_checkpoint import write_tiny_checkpoint

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.database]

EVIL = "Ev\x1b]0;owned\x07il\x1b[2J\x1b[31m\u202egnp\u2066x\x9b31m\u200f"
QUESTION = f"What is the capital of {EVIL}?"


def steering(text: str) -> set[str]:
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c not in "\n\t\r\u200c\u200d"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("evil")


def test_what_verbs_print(lodestar: Lodestar, gateway: Gateway, folder: Path) -> None:
    source = folder / f"kg{EVIL.replace('/', '')}.nt"
    name = "".join(c if c.isascii() and c.isprintable() else f"\\u{ord(c):04x}" for c in EVIL)
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    rows = [
        f'<http://x.example/evil> {label} "{name}" .',
        f'<http://x.example/town> {label} "Town {name}" .',
        "<http://x.example/evil> <http://x.example/capital> <http://x.example/town> .",
        f'<http://x.example/evil> <http://x.example/motto> "Motto {name}" .',
        f"broken {EVIL}",
    ]
    source.write_text("\n".join(rows) + "\n", encoding="utf-8")
    questions = folder / "questions.jsonl"
    gold = {"id": f"1{EVIL}", "question": QUESTION, "topic_entities": ["http://x.example/evil"], "answers": ["m.lima"]}
    questions.write_text(json.dumps(gold) + "\n", encoding="utf-8")
    run, other = str(folder / "run"), str(folder / "other")
    load = ("load", "rdf", str(source), "--append", "--max-rejects", "50")
    catalogue = lodestar(*load, "--dry-run")
    ran = [catalogue, lodestar(*load)]
    assert ran[-1].code == 0, ran[-1].err
    checkpoint = str(write_tiny_checkpoint(folder / "star", graph=gateway.run(read_catalogue()).vocabulary))
    topic = ("--topic", "http://x.example/evil")
    for arguments in (
        ("db", "status"),
        ("db", "check"),
        ("search", EVIL),
        ("search", "--relations", EVIL),
        ("ask", QUESTION, *topic),
        ("ask", QUESTION, "--topic", EVIL),
        ("ask", "--set", "plans=false", QUESTION, *topic),
        ("ask", "--paths-only", QUESTION, *topic),
        ("explain", QUESTION, "--checkpoint", checkpoint, *topic),
        ("eval", str(questions), "--out", run),
        ("eval", str(questions), "--out", other, "--recipe", "cosine", "--against", run),
        ("recipes", EVIL),
        ("doctor",),
        ("load", "rdf", f"{source}{EVIL}"),
    ):
        ran.append(lodestar(*arguments))
        for stream, text in (("out", ran[-1].out), ("err", ran[-1].err)):
            assert not steering(text), (arguments[:3], stream, sorted(map(ascii, steering(text))), text[:400])
    for arguments in (("ask", QUESTION, *topic, "--json"), ("ask", "--paths-only", QUESTION, *topic, "--json")):
        out = lodestar(*arguments).out
        assert not steering(out), (arguments[:3], sorted(map(ascii, steering(out))))
        assert json.loads(out.splitlines()[-1])


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
    asked = question_file(tmp_path / "set.jsonl", ("What is the capital of Peru?", "m.peru", "m.lima"))
    ran = lodestar("eval", asked)
    assert ran.code == 0, ran.err
    assert (home / "runs" / "set-similarity" / "records.jsonl").exists()
    assert not list(Path().iterdir())
    assert not found + open_to_others(home)
    tmp_path.chmod(0o755)
    assert lodestar("export", str(tmp_path / "out.tsv")).code == 0  # which is where its user wants it
    assert (tmp_path / "out.tsv").stat().st_mode == (tmp_path / "kg.tsv").stat().st_mode
