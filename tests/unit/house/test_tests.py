"""What holds of the tests themselves."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.places import ROOT

TESTS = ROOT / "tests"


def files() -> list[Path]:
    return sorted(TESTS.rglob("*.py"))


def test_what_tests_share_lies_in_folders_by_what_it_is() -> None:
    assert {path.name for path in TESTS.glob("*.py")} == {"conftest.py", "places.py"}


def test_one_profile_says_how_long_an_example_may_take() -> None:
    of_their_own = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in files()
        if path != TESTS / "conftest.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "deadline"
    ]
    assert of_their_own == []
