"""The subject of a question, "Which countries in South America …": its type, what narrows it down, and the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..wording.forms import base_of, plural

NAME = r"(?:the )?[A-Z0-9][\w'’./-]*(?:,? (?:(?:of|the|de|and) )?[A-Z0-9][\w'’./-]*)*|the [a-z]+"
"""A name in a question: words with capitals, or a word in small letters after "the"."""
ONE_NAME = r"(?:the )?[A-Z0-9][\w'’./-]*(?: (?:(?:of|the|de) )?[A-Z0-9][\w'’./-]*)*|the [a-z]+"
"""The same without "and"."""
_STOP = frozenset(
    "in of from at on by within that which who with has have had is are was were do does did can border speak use".split()
)
_LEADING = re.compile(
    r"^(?P<before>(?:in|on|to|for|from|of) )?(?:which|what|who|list|name|find|show|give me)\b ?(?P<rest>.*)$", re.I
)
_MODIFIED = re.compile(
    rf"^(?P<mod>(?:in|of|from|at|on|by|within) (?:{ONE_NAME})|(?:that|which|who) [a-z]+ (?:{ONE_NAME})"
    rf"|[a-z]+ing (?:{ONE_NAME}))(?: (?P<predicate>[a-z].*))?$"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """type: "neighbouring countries". modifier: "of Germany", "that border Brazil", or "". rest: what is said of it.

    before: "in" of "in which countries".
    """

    type: str
    modifier: str
    rest: str
    before: str = ""

    @property
    def noun(self) -> str:
        """The last word of the type, in the plural."""
        return plural(self.type.split()[-1])

    def question(self) -> str:
        """Return a plain question for the subject alone."""
        first, _, name = self.modifier.partition(" ")
        several = plural(self.type)
        if first in {"that", "which", "who"}:
            return f"Which {several} {name}?"
        if first.endswith("ing"):
            return f"Which {several} {base_of(first[:-3] + 'ed') if len(first) > 5 else first} {name}?"
        if first == "of":
            return f"What are the {several} of {name}?"
        return f"Which {several} are {self.modifier}?"

    def asked(self, predicate: str) -> str:
        """Return a plain question for what is said of it."""
        return f"{'In w' if self.before else 'W'}hich {self.noun} {predicate}?"


def subject_of(text: str) -> Subject | None:
    """Return the subject of a question that begins with which or what; None for another."""
    found = _LEADING.match(text)
    if not found:
        return None
    return split_subject(found["rest"], found["before"] or "")


def split_subject(text: str, before: str = "") -> Subject | None:
    """Return the subject that a text begins with: words up to the first plural, or up to a preposition or a verb."""
    words = text.split()
    end = 0
    for word in words[:4]:
        if word.lower() in _STOP or word[:1].isupper() or word.endswith("ing"):
            # "neighbouring" belongs to its noun, "bordering France" does not
            following = words[end + 1] if end + 1 < len(words) else ""
            if not (word.endswith("ing") and following[:1].islower() and following not in _STOP):
                break
        end += 1
        if plural(word) == word and word.lower() not in _STOP and len(word) > 3:
            break
    if not end:
        return None
    type_, rest = " ".join(words[:end]), " ".join(words[end:])
    narrowed = _MODIFIED.match(rest)
    if narrowed:
        return Subject(type_, narrowed["mod"], narrowed["predicate"] or "", before.strip())
    return Subject(type_, "", rest, before.strip())
