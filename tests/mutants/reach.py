"""Which tests reach which lines: ``python -m tests.mutants.reach FILE TESTS…`` runs the tests once and writes what it saw."""

from __future__ import annotations

import functools
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.faults import Fault
from tests.places import ROOT


@dataclass(frozen=True)
class Reach:
    """What one run of the tests saw.

    `seconds` is how long each test took, by its id; `lines` has the tests that ran a line, by file and line; `failed` are
    tests that failed without any fault, which notice nothing; `modules` are what was imported that is not the project's.
    """

    state: str
    seconds: dict[str, float]
    lines: dict[str, dict[int, list[str]]]
    failed: list[str]
    modules: list[str]

    def tests_of(self, fault: Fault) -> list[str]:
        """Return the tests that run a line of the fault, quickest first; of one at import, those that run the file."""
        known = self.lines.get(fault.file, {})
        lines = known if fault.at_import else range(fault.line, fault.line + fault.before.count("\n") + 1)
        found = {test for line in lines for test in known.get(line, ())} - {"", *self.failed}
        return sorted(found, key=lambda test: (self.seconds.get(test, 0.0), test))


def read_reach(path: Path) -> Reach | None:
    """Read what `collect` wrote, or None where it has not."""
    if not path.is_file():
        return None
    kept = json.loads(path.read_text(encoding="utf-8"))
    tests = kept["tests"]
    lines = {
        file: {int(line): [tests[number] for number in numbers] for line, numbers in of.items()}
        for file, of in kept["lines"].items()
    }
    return Reach(kept["state"], kept["seconds"], lines, kept["failed"], kept["modules"])


def clear_caches() -> None:
    """Forget what functions of the project keep of earlier calls."""
    for name, module in list(sys.modules.items()):
        if name.startswith("lodestar."):
            for value in vars(module).values():
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()


def collect(path: Path, state: str, tests: list[str]) -> None:
    """Run the tests and write which lines of the packages each of them ran."""
    import coverage  # pyright: ignore[reportMissingImports]  (make mutants brings it)
    import pytest

    measured = coverage.Coverage(data_file=None, include=[str(ROOT / "models" / "*"), str(ROOT / "engine" / "*")])

    seconds: defaultdict[str, float] = defaultdict(float)
    failed: set[str] = set()

    class Watch:
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
            clear_caches()  # what an earlier test has computed would not be reached by this one
            measured.switch_context(item.nodeid)
            try:
                return (yield)
            finally:
                measured.switch_context("")

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            seconds[report.nodeid] += report.duration
            if report.failed:
                failed.add(report.nodeid)

    measured.start()
    code = pytest.main([*tests, "-q", "-p", "no:cacheprovider"], plugins=[Watch()])
    measured.stop()
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        sys.exit(code)
    data = measured.get_data()
    names = sorted(data.measured_contexts())
    number = {name: index for index, name in enumerate(names)}
    lines = {
        Path(file).relative_to(ROOT).as_posix(): {
            line: [number[name] for name in of] for line, of in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    modules = [name for name, each in sys.modules.items() if "site-packages" in (getattr(each, "__file__", None) or "")]
    kept = {"state": state, "tests": names, "seconds": seconds, "lines": lines}
    path.write_text(json.dumps(kept | {"failed": sorted(failed), "modules": modules}), encoding="utf-8")


if __name__ == "__main__":
    collect(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
