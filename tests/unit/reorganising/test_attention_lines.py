"""What a terminal shows of an explanation, with colours and without."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

import click
from lodestar.engine.cli.explain import PATH_SHADES, QUESTION_SHADES, explanation_lines

from tests.made.explanations import PERU, explained_path, explanation


def shaded(line: str, shades: Sequence[int | None]) -> dict[str, int]:
    """The words on a background, with how dark it is."""
    return {word: shades.index(int(shade)) for shade, word in re.findall(r"48;5;(\d+)m (\S+) ", line)}


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
