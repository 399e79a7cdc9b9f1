"""The command line in this process: arguments and standard input in, output, errors and exit code out."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from lodestar.engine.cli.main import run


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command printed and ended with."""

    code: int
    out: str
    err: str


Lodestar = Callable[..., Ran]


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
