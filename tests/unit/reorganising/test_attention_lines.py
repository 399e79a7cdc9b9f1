"""What a terminal shows of an explanation, with colours and without."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

import click
import pytest
from lodestar.engine.cli.explain import PATH_SHADES, QUESTION_SHADES, explanation_lines
from lodestar.engine.cli.terminal import supports_colour

from tests.made.explanations import PERU, explained_path, explanation


def shaded(line: str, shades: Sequence[int | None]) -> dict[str, int]:
    """The words on a background, with how dark it is."""
    return {word: shades.index(int(shade)) for shade, word in re.findall(r"48;5;(\d+)m (\S+) ", line)}


def test_without_colours_every_word_has_its_number() -> None:
    lines = [click.unstyle(line) for line in explanation_lines(PERU, colour=False)]
    assert lines[0] == "What is the capital of Peru?"
    assert lines[1] == "   1.  3.250  s 0.875  Peru —[location.country.capital]→ Lima"
    assert lines[2] == "      [QSP] what(25) capital(75)"
    assert lines[3] == "      [PSP] peru(12) capital(50) [END](38)"
    assert "per cent" in lines[-1]


def test_with_colours_the_background_grows_with_the_weight() -> None:
    lines = list(explanation_lines(PERU, colour=True))
    assert shaded(lines[2], QUESTION_SHADES) == {"what": 2, "capital": 5}
    assert shaded(lines[3], PATH_SHADES) == {"peru": 1, "capital": 4, "[END]": 3}
    assert shaded(lines[6], PATH_SHADES) == {"peru": 2, "currency": 5}
    assert not re.search(r"\(\d+\)", "\n".join(lines))


def test_names_cannot_steer_the_terminal() -> None:
    hostile = explanation(explained_path([("\x1b[2J", 1.0)], [("\x1b", 1.0)], ends=["\x1b]0;x"]), question="\x1b[1m?")
    assert "\x1b" not in click.unstyle("\n".join(explanation_lines(hostile, colour=False)))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "out", "coloured"),
    [
        ({"TERM": "xterm-256color"}, Terminal(), True),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, Terminal(), True),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, Terminal(), False),
        ({"TERM": "dumb"}, Terminal(), False),
        ({"TERM": "xterm-256color"}, io.StringIO(), False),
    ],
)
def test_colours_only_where_they_are_shown_and_wanted(
    environment: dict[str, str], out: io.StringIO, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout", out)
    assert supports_colour() is coloured
