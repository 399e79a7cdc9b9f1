"""Style pictures in Neo4j Browser by the server's configuration."""

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

    It has no ``#`` and no ``&``, because Browser cuts the text of a link there, even if encoded.
    """
    text = Path(__file__).with_name("style.grass").read_text(encoding="utf-8")
    return " ".join(text.split())


def style_rules() -> dict[str, dict[str, str]]:
    """Return the style sheet as selector → property → value."""
    return {
        selector: {name: quoted or plain for name, quoted, plain in _DECLARATION.findall(body)}
        for selector, body in _RULE.findall(style_sheet())
    }


def post_connect_command() -> str:
    """Return the value of ``browser.post_connect_cmd`` with which a server applies the style sheet itself.

    The sheet is in JSON, because the setting separates commands by semicolons, which GraSS also has.
    """
    return f"style {json.dumps(style_rules(), separators=(',', ':'))}"
