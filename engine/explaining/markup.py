"""Text from outside as text of XML and HTML."""

from __future__ import annotations

import unicodedata
from html import escape

from ..evidence.chain import Chain

MAX_ENDS = 4
MAX_NAME_CHARS = 60

_INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")
_JOINERS = "\u200c\u200d"
_NO_CHARACTERS = "\ufffe\uffff"


def markup(text: str) -> str:
    """Return text escaped for XML and HTML; what could steer a reader's eye or is not allowed there becomes U+FFFD."""
    return escape(
        "".join(
            "\ufffd" if c in _NO_CHARACTERS or (unicodedata.category(c) in _INVISIBLE and c not in _JOINERS) else c
            for c in text
        )
    )


def ends_named(chain: Chain) -> str:
    """Return the names of a chain's ends, the first few with the number of all others; not yet escaped."""
    named = [_cut(end.label) for end in chain.ends[:MAX_ENDS]]
    more = len(chain.ends) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def _cut(name: str) -> str:
    line = " ".join(name.split())
    return line if len(line) <= MAX_NAME_CHARS else line[: MAX_NAME_CHARS - 1] + "…"
