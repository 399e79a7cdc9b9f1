"""Try a fault: a fork of this process imports the module with the fault in it and runs the tests that reach it."""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from tests.mutants.faults import Fault
from tests.places import ROOT

BROKEN = 70
"""A fork ends so where the module was there before the fault."""
MEMORY_BYTES = 6 << 30
"""A fault may ask for any number of bytes."""


class _Faulty(SourceFileLoader):
    """Loads one module of the project from another text, and leaves the others alone."""

    def __init__(self, name: str, path: Path, text: bytes) -> None:
        super().__init__(name, str(path))
        self._text = text

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return spec_from_file_location(name, self.path, loader=self) if name == self.name else None

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._text, self.path, "exec")


class _Chosen:
    """Runs the chosen tests alone, in their order, and keeps the id of the first that fails."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.noticed_by = ""
        self._place = {test: place for place, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._place]
        items.sort(key=lambda item: self._place[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed:
            self.noticed_by = self.noticed_by or report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Take a file that cannot be imported with the fault for the test."""
        self.pytest_runtest_logreport(report)


@dataclass
class Trial:
    """A fork that runs the tests of a fault, until `deadline_s` of the monotonic clock."""

    fault: Fault | None
    process: int
    reply: int
    deadline_s: float

    def poll(self) -> tuple[str, str] | None:
        """Return "survived" or "noticed", and by what; None as long as it runs."""
        process, status = os.waitpid(self.process, os.WNOHANG)
        late = not process and time.monotonic() > self.deadline_s
        if late:
            self.stop()
        elif not process:
            return None
        noticed_by = os.read(self.reply, 1 << 16).decode()
        os.close(self.reply)
        if late:
            return "noticed", "(it ran too long)"
        code = os.waitstatus_to_exitcode(status)
        if code in (pytest.ExitCode.NO_TESTS_COLLECTED, BROKEN):
            raise RuntimeError(f"the tests of {self.fault} did not begin: {code}")
        return ("survived", "") if code == 0 else ("noticed", noticed_by or f"(it ended with {code})")

    def stop(self) -> None:
        """End the fork and what it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):  # it has been waited for
            os.waitpid(self.process, 0)


def warm_up(modules: Sequence[str]) -> None:
    """Import what is not the project's once, for all forks; what imports the project, such as a plug-in, is left out."""
    for name in modules:
        with contextlib.suppress(BaseException):
            importlib.import_module(name)
        if "lodestar" in sys.modules:
            raise RuntimeError(f"{name} imports the project")


def begin(fault: Fault | None, text: bytes, tests: Sequence[str], limit_s: float) -> Trial:
    """Begin to run `tests` (ids) with the fault in `text`, or without any."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return Trial(fault, process, reading, time.monotonic() + limit_s)
    code = BROKEN
    try:
        os.setpgrp()
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        assert not [name for name in sys.modules if name.partition(".")[0] == "lodestar"], "already imported"
        if fault is not None:
            name = "lodestar." + fault.file.removesuffix(".py").replace("/", ".")
            sys.meta_path.insert(0, _Faulty(name, ROOT / fault.file, fault.put_into(text)))
        chosen = _Chosen(tests)
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
            files = sorted({test.partition("::")[0] for test in tests})
            options = ["-x", "-q", "-p", "no:cacheprovider", f"--basetemp={folder}/tests"]
            code = int(pytest.ExitCode.INTERNAL_ERROR)  # a fault that takes all memory may end pytest itself
            code = int(pytest.main([*files, *options], plugins=[chosen]))
        os.write(writing, chosen.noticed_by.encode())
    except AssertionError:
        code = BROKEN
    finally:
        os._exit(code)
