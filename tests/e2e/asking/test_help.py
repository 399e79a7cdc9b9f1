"""Help answers at once: nothing heavy is imported for it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from lodestar.engine.cli.main import VERBS

HEAVY = (
    "torch",
    "neo4j",
    "numpy",
    "sentence_transformers",
    "faiss",
    "openai",
    "langchain_core",
    "rich",
    "pyarrow",
    "torch_geometric",
)


@pytest.mark.parametrize("verb", [[], *([v] for v in sorted(VERBS))], ids=lambda v: " ".join(v) or "lodestar")
def test_help_imports_nothing_heavy(verb: list[str]) -> None:
    program = (
        "import sys; from lodestar.engine.cli.main import main; main(standalone_mode=False)\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", program, *verb, "--help"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.strip() == "[]"
    assert "Usage:" in ran.stdout
    assert "Example" in ran.stdout


def test_an_unknown_verb_is_one_line_and_exit_2() -> None:
    ran = subprocess.run([sys.executable, "-m", "lodestar", "frobnicate"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "No such command 'frobnicate'" in ran.stderr
