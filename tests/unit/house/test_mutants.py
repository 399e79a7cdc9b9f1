"""The runner of `make mutants` finds the faults that it should, and those that are marked as equivalent are still there."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

from tests.mutants.faults import find_faults
from tests.mutants.run import read_equivalent
from tests.places import ROOT

CODE = '''
"""A text: 1 < 2."""
SCALE: float | None = -0.5
T = TypeVar("T", bound=str)


@dataclass(frozen=True)
class Options:
    beams: int = 3

    def share(self, found: list[int], *, least: int = 1) -> float:
        if not found:
            raise ValueError(f"expected {1 + 1}")
        found[0] += 2
        self.note(found)
        total = sum(found, start=0)
        return min(total, least) / 2.0 if total > 1 and "a" in found else 0.0
'''
AFTER = {
    "SCALE: float | None = +0.5",
    "def share(self, found: list[int], *, least: int = 2) -> float:",
    "if  found:",
    "if True:",
    "if False:",
    "found[1] += 2",
    "found[0] -= 2",
    "found[0] += 3",
    "pass",
    "total = sum(found)",
    "total = sum(found, start=1)",
    'return max(total, least) / 2.0 if total > 1 and "a" in found else 0.0',
    'return min(total, least) * 2.0 if total > 1 and "a" in found else 0.0',
    'return min(total, least) / -2.0 if total > 1 and "a" in found else 0.0',
    'return min(total, least) / 2.0 if total >= 1 and "a" in found else 0.0',
    'return min(total, least) / 2.0 if total > 2 and "a" in found else 0.0',
    'return min(total, least) / 2.0 if total > 1 or "a" in found else 0.0',
    'return min(total, least) / 2.0 if total > 1 and "a" not in found else 0.0',
    'return min(total, least) / 2.0 if True else 0.0',
    'return min(total, least) / 2.0 if False else 0.0',
    'return min(total, least) / 2.0 if total > 1 and "a" in found else 1.0',
}  # fmt: skip


def test_faults_are_in_what_is_computed() -> None:
    found = find_faults("made.py", CODE.encode())
    assert {fault.after for fault in found} == AFTER
    assert all(fault.is_one(CODE.encode()) for fault in found)
    assert {fault.line for fault in found if fault.at_import} == {3, 11}


def test_what_is_marked_as_equivalent_is_a_fault_of_the_code() -> None:
    marked = read_equivalent()
    faults = {
        (file, fault.before, fault.after)
        for file in {file for file, _, _ in marked}
        for fault in find_faults(file, (ROOT / file).read_bytes())
    }
    assert sorted(set(marked) - faults) == []


@pytest.mark.long
def test_a_fault_that_no_test_reaches_is_told_from_one_that_a_test_notices() -> None:
    path = os.pathsep.join(filter(None, [str(ROOT / ".venv-mutants"), os.environ.get("PYTHONPATH", "")]))
    if not importlib.util.find_spec("coverage") and not (ROOT / ".venv-mutants").is_dir():
        pytest.skip("needs the tools of make mutants")
    command = [sys.executable, "-m", "tests.mutants.run", "--only", "models/f1.py", "--tests"]
    run = subprocess.run(
        [*command, "tests/unit/reader/test_choosing.py"],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    faults, noticed, *_ = map(int, run.stdout.splitlines()[-1].split("|")[2:7])
    assert 0 < noticed <= faults
