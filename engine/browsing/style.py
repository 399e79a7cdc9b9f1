"""How Neo4j Browser draws the pictures: the style sheet (GraSS), and the two ways in which Browser takes one.

Browser keeps one sheet, in the web browser's storage. The command ``:style`` replaces it: typed by hand, or run after
each connection because the server's configuration says so (``browser.post_connect_cmd``). Browser ignores ``:style``
beside a query in the same text, so that without the server's help it is a step of its own, once in each web browser.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

_RULE = re.compile(r"([\w.]+)\s*\{((?:[^{}']|'[^']*')*)\}")
_DECLARATION = re.compile(r"([\w-]+)\s*:\s*(?:'([^']*)'|([^;]+?))\s*;")


@cache
def style_sheet() -> str:
    """Return the style sheet as GraSS, on one line.

    It has no ``#`` and no ``&``: Browser cuts the text of a link there, however encoded.
    """
    text = Path(__file__).with_suffix(".grass").read_text(encoding="utf-8")
    return " ".join(text.split())


def style_rules() -> dict[str, dict[str, str]]:
    """Return the style sheet as selector → property → value."""
    return {
        selector: {name: quoted or plain for name, quoted, plain in _DECLARATION.findall(body)}
        for selector, body in _RULE.findall(style_sheet())
    }


def style_command() -> str:
    """Return the command that puts the style sheet in force when it is typed into Browser."""
    return f":style {style_sheet()}"


def post_connect_command() -> str:
    """Return the value of ``browser.post_connect_cmd`` with which a server styles Browser by itself.

    The sheet is in its JSON form: the setting is a list of commands, separated by the semicolons that GraSS has too.
    """
    return f"style {json.dumps(style_rules(), separators=(',', ':'))}"


def styles_pictures(command: str) -> bool:
    """Whether a server with this ``browser.post_connect_cmd`` styles the pictures by itself."""
    return "node.LodestarQuestion" in command
