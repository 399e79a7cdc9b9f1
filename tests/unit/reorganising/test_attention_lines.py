"""What a terminal shows of an explanation."""

from __future__ import annotations

import click
from lodestar.engine.cli.explain import explanation_lines

from tests.made.explanations import PERU, explained_path, explanation


def test_without_colours_every_word_has_its_number() -> None:
    lines = [click.unstyle(line) for line in explanation_lines(PERU)]
    assert lines[0] == "What is the capital of Peru?"
    assert lines[1] == "   1.  3.250  s 0.875  Peru —[location.country.capital]→ Lima"
    assert lines[2] == "      [QSP] what(25) capital(75)"
    assert lines[3] == "      [PSP] peru(12) capital(50) [END](38)"
    assert "per cent" in lines[-1]


def test_names_cannot_steer_the_terminal() -> None:
    hostile = explanation(explained_path([("\x1b[2J", 1.0)], [("\x1b", 1.0)], ends=["\x1b]0;x"]), question="\x1b[1m?")
    assert "\x1b" not in click.unstyle("\n".join(explanation_lines(hostile)))
