"""Put faults into the code, one at a time, and report those that no test notices: ``python -m tests.mutants.run``.

What was tried is kept in `build/mutants/` and is not tried again while its file is the same; what survived is tried again
once a test has changed. docs/testing.md says how to read the report.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.mutants.faults import Fault, find_faults
from tests.mutants.reach import Reach, read_reach
from tests.mutants.trying import Trial, begin, warm_up
from tests.places import ROOT

FOLDERS = (
    "models",
    *(f"engine/{stage}" for stage in ("retrieval", "reorganising", "answering", "evidence", "linking", "supervision")),
)
TESTS = (
    *("tests/unit", "tests/property", "--ignore=tests/unit/house", "--ignore=tests/unit/docs"),
    *(f"tests/integration/supervision/test_{name}.py" for name in ("paraphrasing", "refining")),  # no database
)
TESTS_OF_DATABASE = ("tests/integration/asking", "tests/integration/supervision")
KEPT = ROOT / "build" / "mutants"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
SPARE_S, TIMES = 30.0, 10.0
"""A trial may take so many seconds, and so many times what its tests take without a fault."""


@dataclass(frozen=True)
class Outcome:
    """What became of a fault: "noticed" by a test, "survived", "equivalent" for a reason, or "unreached" by any test.

    What was noticed by a test that fails without a fault, too, is "unsure".
    """

    fault: Fault
    what: str
    by: str


def files_of(only: str) -> list[str]:
    """Return the files whose faults are tried, below `only` (a folder or file)."""
    found = (path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return sorted(file for file in found if f"{file}/".startswith(f"{only.rstrip('/')}/") or not only)


def read_equivalent() -> dict[tuple[str, str, str], str]:
    """Return the reasons why faults change nothing, by file, line as it is and line as it would be."""
    kept = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))
    return {(file, one["is"], one["becomes"]): one["why"] for file, ones in kept.items() for one in ones}


def state_of(tests: tuple[str, ...]) -> str:
    """Return a digest of the code and the tests: where it is another, the tests reach other lines."""
    digest = hashlib.sha256(" ".join(tests).encode())
    for folder in ("tests", "engine", "loaders", "models"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "mutants" not in path.parts[-2:]:
                digest.update(path.read_bytes())
    return digest.hexdigest()


def reach_of(tests: tuple[str, ...]) -> Reach:
    """Return which tests reach which lines, from the last run of them or a new one."""
    path, state = KEPT / f"reach-{hashlib.sha256(' '.join(tests).encode()).hexdigest()[:8]}.json", state_of(tests)
    if (reach := read_reach(path)) is None or reach.state != state:
        print("running the tests once, to see which lines each of them reaches", file=sys.stderr)
        command = [sys.executable, "-m", "tests.mutants.reach", str(path), state, *tests]
        subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)
        reach = read_reach(path)
        assert reach is not None
    return reach


class Tried:
    """The outcomes of earlier runs, a line of JSON each."""

    def __init__(self, state: str) -> None:
        self._path, self._state = KEPT / "tried.jsonl", state
        self._noticed: dict[str, str] = {}
        self._survived: set[str] = set()
        for line in self._path.read_text(encoding="utf-8").splitlines() if self._path.is_file() else ():
            one = json.loads(line)
            if one["by"]:
                self._noticed[one["fault"]] = one["by"]
            elif one["state"] == state:
                self._survived.add(one["fault"])

    def find(self, fault: Fault, text: bytes) -> Outcome | None:
        """Return what became of the fault in the same text, if it was noticed or nothing has changed since."""
        name = self._name(fault, text)
        if name in self._noticed:
            return Outcome(fault, "noticed", self._noticed[name])
        return Outcome(fault, "survived", "") if name in self._survived else None

    def keep(self, outcome: Outcome, text: bytes) -> None:
        """Write an outcome down."""
        one = {"fault": self._name(outcome.fault, text), "by": outcome.by, "state": self._state}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(one) + "\n")

    @staticmethod
    def _name(fault: Fault, text: bytes) -> str:
        return hashlib.sha256(fault.file.encode() + b"\0" + fault.put_into(text)).hexdigest()[:24]


def draw(files: list[str], sample: int, seed: int) -> list[Fault]:
    """Return `sample` of the faults of the files (0: all of them), drawn with a seed; a smaller sample begins a larger."""
    texts = {file: (ROOT / file).read_bytes() for file in files}
    found = [fault for file, text in texts.items() for fault in find_faults(file, text)]
    random.Random(seed).shuffle(found)
    drawn: list[Fault] = []
    for fault in found:
        if sample and len(drawn) == sample:
            break
        if fault.is_one(texts[fault.file]):
            drawn.append(fault)
    return drawn


def try_all(faults: list[Fault], reach: Reach, jobs: int) -> Iterator[Outcome]:
    """Yield what becomes of each fault, `jobs` at a time."""
    reasons, tried = read_equivalent(), Tried(reach.state)
    texts = {fault.file: (ROOT / fault.file).read_bytes() for fault in faults}
    waiting, running = list(reversed(faults)), list[Trial]()
    warm = False
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                fault = waiting.pop()
                text, tests = texts[fault.file], reach.tests_of(fault)
                if why := reasons.get((fault.file, fault.before, fault.after)):
                    yield Outcome(fault, "equivalent", why)
                elif not tests:
                    yield Outcome(fault, "unreached", "")
                elif known := tried.find(fault, text):
                    yield known
                else:
                    if not warm:
                        warm_up(reach.modules)
                        warm = True
                    limit_s = SPARE_S + TIMES * sum(reach.seconds.get(test, 0.0) for test in tests)
                    running.append(begin(fault, text, tests, limit_s))
            for trial in list(running):
                if (ended := trial.poll()) is not None:
                    running.remove(trial)
                    assert trial.fault is not None
                    outcome = Outcome(trial.fault, *ended)
                    tried.keep(outcome, texts[trial.fault.file])
                    yield outcome
            time.sleep(0.02)
    finally:
        for trial in running:
            trial.stop()


def check_noticing(outcomes: list[Outcome], reach: Reach) -> list[Outcome]:
    """Run what noticed faults once more without any, and say of what fails then that its faults are unsure."""
    tests = sorted({outcome.by for outcome in outcomes if outcome.what == "noticed" and outcome.by in reach.seconds})
    failing: set[str] = set()
    while left := [test for test in tests if test not in failing]:
        trial = begin(None, b"", left, SPARE_S + TIMES * sum(reach.seconds[test] for test in left))
        while (ended := trial.poll()) is None:
            time.sleep(0.1)
        if ended[0] == "survived":
            break
        failing |= {ended[1]} if ended[1] in left else set(left)
    return [replace(outcome, what="unsure") if outcome.by in failing else outcome for outcome in outcomes]


def report(outcomes: list[Outcome]) -> Iterator[str]:
    """Yield the lines of the report: each survivor, then the numbers by folder."""
    counts: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for outcome in outcomes:
        fault = outcome.fault
        for folder in (str(Path(fault.file).parent), "all"):
            counts[folder][outcome.what] += 1
        if outcome.what in ("survived", "unreached", "unsure"):
            yield f"{fault.file}:{fault.line} {outcome.what} {outcome.by}".rstrip()
            yield from (f"  - {line}" for line in fault.before.splitlines())
            yield from (f"  + {line}" for line in fault.after.splitlines())
    yield ""
    yield "| folder | faults | noticed | survived | unreached | equivalent | not noticed |"
    yield "|---|---|---|---|---|---|---|"
    for folder, of in sorted(counts.items(), key=lambda item: (item[0] == "all", item[0])):
        left = of["survived"] + of["unreached"] + of["unsure"]
        rate = left / (left + of["noticed"]) if left + of["noticed"] else 0.0
        numbers = [sum(of.values()), *(of[what] for what in ("noticed", "survived", "unreached", "equivalent"))]
        yield f"| {folder} | {' | '.join(map(str, numbers))} | {rate:.1%} |"


def main() -> None:
    """Read the options, try the faults and print the report."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--only", default="", help="a folder or file of the packages (all)")
    parser.add_argument("--sample", type=int, default=0, help="so many faults, drawn (all)")
    parser.add_argument("--seed", type=int, default=1, help="what the drawing begins with (1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="so many at a time (the processors)")
    parser.add_argument(
        "--tests", nargs="+", default=[], help="the tests (unit tests and laws; with LODESTAR_TEST_URI integration)"
    )
    options = parser.parse_args()
    database = bool(os.environ.get("LODESTAR_TEST_URI"))
    tests = tuple(options.tests) or (*TESTS, *(TESTS_OF_DATABASE if database else ()))
    if not (files := files_of(options.only)):
        sys.exit(f"expected a folder or file below {', '.join(FOLDERS)}, found {options.only!r}")
    KEPT.mkdir(parents=True, exist_ok=True)
    reach = reach_of(tests)
    faults = draw(files, options.sample, options.seed)
    outcomes = []
    for outcome in try_all(faults, reach, 1 if database else options.jobs):
        outcomes.append(outcome)
        print(
            f"{len(outcomes)}/{len(faults)} {outcome.fault.file}:{outcome.fault.line} {outcome.what} {outcome.by}",
            file=sys.stderr,
        )
    outcomes = check_noticing(outcomes, reach)
    outcomes.sort(key=lambda outcome: (outcome.fault.file, outcome.fault.start, outcome.fault.new))
    print("\n".join(report(outcomes)))
    if reach.failed:
        print(f"\nleft out, for they fail without a fault: {', '.join(reach.failed)}")


if __name__ == "__main__":
    main()
