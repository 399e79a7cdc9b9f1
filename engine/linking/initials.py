"""Initials that names are also called by: `JFK`, `USA` and `US`. Loads write them among an entity's search names."""

from __future__ import annotations

import re

_SMALL = "a an and at by da das de del der des di du e el et for in la las le les los of on the to und van von y"
SMALL_WORDS = frozenset(form for word in _SMALL.split() for form in (word, word.capitalize(), word.upper()))
"""Words that give no letter; the stage's macro `initials` has the same list."""

MAX_WORDS = 6

_BREAK = re.compile(r"[\x00-&(-/:-@\[-`{-\x7f]+")
_BEFORE_BRACKET = re.compile(r"[^(,]*")


def initials(name: str) -> tuple[str, ...]:
    """Return the initials of a search name: of all its words, and of those before its first small word.

    What stands after a bracket or a comma does not count. Two to six words each, which begin with a letter or digit of
    ASCII, the first with a letter; others have none.
    """
    before = _BEFORE_BRACKET.match(name)
    words = [word for word in _BREAK.split(before.group() if before else "") if word]
    first_small = next((at for at, word in enumerate(words) if word in SMALL_WORDS), len(words))
    both = (_letters([word for word in words if word not in SMALL_WORDS]), _letters(words[:first_small]))
    return tuple(dict.fromkeys(filter(None, both)))


def _letters(words: list[str]) -> str:
    firsts = "".join(word[0] for word in words)
    fits = 2 <= len(words) <= MAX_WORDS and firsts.isascii() and firsts.isalnum() and firsts[0].isalpha()
    return firsts.upper() if fits else ""
