"""Tell values from ids among the tails that a names file leaves without a name: numbers, dates, yes and no, and text.

A value is a tail that is written like one, that the names file does not have and that is no head. What the lines of a
file tell of it is a pattern; the stage then knows the names and the heads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

Values = Literal["auto", "all", "none"]

FORMS = (
    r"[+-]?(?:[0-9]+(?:[.,][0-9]+)*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?%?",
    r"[+-]?[0-9]{4,}-[0-9]{1,2}(?:-[0-9]{1,2})?(?:[Tt ][^\t]*)?"
    r"|[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4}|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?",
    r"(?i:true|false|yes|no)",
    r"[^ @/]+@[^ @/]+\.[^ @/]+|(?i:https?://|www\.)[^ ]+",
    r"(?s:.*[^ ] +[^ ].*)",
)
"""Patterns of RE2 and of Python's: numbers, dates and times, yes and no, e-mail and web addresses, text of several
words."""
ANY = r"(?s:.*)"


def value_pattern(values: Values, ids: Iterable[str]) -> str | None:
    """Return the pattern of tails that are values unless they are named or heads; None where no tail is one.

    A form that most of `ids`, which have names, are written in is one of ids in this graph.
    """
    if values != "auto":
        return ANY if values == "all" else None
    known = list(ids)
    forms = [form for form in FORMS if 2 * sum(re.fullmatch(form, id_) is not None for id_ in known) <= len(known)]
    return "|".join(f"(?:{form})" for form in forms) or None
