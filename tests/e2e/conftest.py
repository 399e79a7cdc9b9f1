"""The command line in this process: arguments and standard input in, output, errors and exit code out."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lodestar.engine.cli.main import run

NO_CHROMIUM = "no Chromium here: install one, or name it in LODESTAR_CHROMIUM"


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say in the last line of the run that tests in a web browser did not run."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", ()) if reporter else ()
    if number := sum(NO_CHROMIUM in str(report.longrepr) for report in skipped):
        print(f"{number} tests in a web browser did not run: {NO_CHROMIUM}")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command printed and ended with."""

    code: int
    out: str
    err: str


Lodestar = Callable[..., Ran]


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium, or skip with the reason."""
    for name in (os.environ.get("LODESTAR_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"):
        if name and (found := shutil.which(name)):
            return found
    pytest.skip(NO_CHROMIUM)


class _Stdin(io.TextIOWrapper):
    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content), encoding="utf-8")


@pytest.fixture
def lodestar(
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Lodestar:
    """Run `lodestar` with arguments (and stdin) against the test server, in a folder of its own."""
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def call(*arguments: str, stdin: str | bytes = b"") -> Ran:
        content = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "argv", ["lodestar", *arguments])
        monkeypatch.setattr(sys, "stdin", _Stdin(content))
        capfd.readouterr()
        code = 0
        try:
            run()
        except SystemExit as stop:
            code = int(stop.code or 0)
        output = capfd.readouterr()
        return Ran(code, output.out, output.err)

    return call


def run_process(environment: dict[str, str], *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `lodestar` as a process of its own."""
    command = [sys.executable, "-m", "lodestar", *arguments]
    given = {"env": environment, "stdin": subprocess.DEVNULL, "timeout": 250} | options
    return subprocess.run(command, capture_output=True, text=True, check=False, **given)


def question_file(path: Path, *asked: tuple[str, str, str]) -> str:
    """Write questions, each with its topic and answer, and return where they are."""
    rows = [
        {"id": f"{path.stem}-{place}", "question": text, "topic_entities": [topic], "answers": [answer]}
        for place, (text, topic, answer) in enumerate(asked)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)
