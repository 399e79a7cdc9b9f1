"""Help answers at once: nothing heavy is imported for it."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.e2e.conftest import Lodestar

HEAVY = (
    "torch",
    "neo4j",
    "numpy",
    "sentence_transformers",
    "faiss",
    "openai",
    "langchain_core",
    "pyarrow",
    "torch_geometric",
)


HELP = f"""
import contextlib, io, json, sys, click
from lodestar.engine.cli.main import main
for verb in ("", *main.list_commands(click.Context(main))):  # one after the other: what one imports is blamed on it
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        main([*verb.split(), "--help"], standalone_mode=False)
    print(json.dumps((verb, [m for m in {HEAVY!r} if m in sys.modules], shown.getvalue())))
"""


def test_help_imports_nothing_heavy() -> None:
    ran = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    shown = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(shown) == 18
    assert [(verb, heavy) for verb, heavy, _ in shown if heavy] == []
    assert [verb for verb, _, text in shown if "Usage:" not in text or "Example" not in text] == []


def test_without_arguments_it_is_help(lodestar: Lodestar) -> None:
    ran = lodestar()
    assert (ran.code, ran.out.startswith("Usage: lodestar"), ran.err) == (0, True, "")


def test_a_verb_with_a_slip_is_suggested(lodestar: Lodestar) -> None:
    ran = lodestar("serach", "Peru")
    assert (ran.code, ran.err.splitlines()[-1]) == (2, "Error: No such command 'serach'. Did you mean 'search'?")
