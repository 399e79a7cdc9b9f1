"""No text of a graph, a file or a run steers the terminal, or turns the order of what is shown round."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from lodestar.engine.neo4j.catalogue import read_catalogue
from lodestar.engine.neo4j.gateway import Gateway

from tests.e2e.conftest import Lodestar
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
        ("load", "--list"),
        ("db", "status", "--full"),
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
    for arguments in (
        ("ask", QUESTION, *topic, "--json"),
        ("ask", "--paths-only", QUESTION, *topic, "--json"),
    ):
        out = lodestar(*arguments).out
        assert not steering(out), (arguments[:3], sorted(map(ascii, steering(out))))
        assert json.loads(out.splitlines()[-1])
