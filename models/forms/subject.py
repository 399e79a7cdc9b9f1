"""Parse the subject of a question: "which countries of Europe", and what is said about it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..wording import CLAUSE_WORDS, DETERMINERS, base_of, is_verb, plural

PARTICLES = frozenset("up out off for to into over down away".split())
"""What may follow a verb that it belongs to."""

NAME = r"(?:the )?[A-Z0-9][\w'’./-]*(?:,? (?:(?:of|the|de|and) )?[A-Z0-9][\w'’./-]*)*|the [a-z]+"
"""A name in a question: capitalised words, or a lower-case word after "the"."""
ONE_NAME = r"(?:the )?[A-Z0-9][\w'’./-]*(?: (?:(?:of|the|de) )?[A-Z0-9][\w'’./-]*)*|the [a-z]+"
"""The same without "and"."""
LEADING = re.compile(
    r"^(?P<before>(?:in|on|to|for|from|of) )?(?P<lead>which|what|who|list|name|find|show|give me)\b ?(?P<rest>.*)$",
    re.I,
)
AUXILIARIES = (
    "(?:is|are|was|were|does|do|did|has|have|had|could|would|should)(?:n['’]?t)?|can(?:['’]?t|not)?|will|won['’]?t"
)
"""A regular expression for the verbs that a question begins with."""
_MODIFIED = re.compile(
    rf"^(?P<mod>(?:in|of|from|at|on|by|within) (?:{ONE_NAME})|(?:that|which|who) [a-z]+ (?:{ONE_NAME})"
    rf"|[a-z]+ing (?:{ONE_NAME}))(?: (?P<predicate>[a-z].*))?$"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """type: "neighbouring countries". modifier: "of Germany", "that border Brazil", or "". rest: the predicate.

    before: "in" of "in which countries". is_who: the question begins with "who", and the type is "people".
    """

    type: str
    modifier: str
    rest: str
    before: str = ""
    is_who: bool = False

    @property
    def noun(self) -> str:
        """The last word of the type."""
        return self.type.split()[-1]

    def question(self) -> str:
        """Return a plain question that asks for the subject alone."""
        first, _, name = self.modifier.partition(" ")
        several = plural(self.type)
        if first in {"that", "which", "who"}:
            return f"Which {several} {name}?"
        if first.endswith("ing"):
            return f"Which {several} {base_of(first[:-3] + 'ed') if len(first) > 5 else first} {name}?"
        if first == "of":
            return f"What are the {several} of {name}?"
        is_before_noun = name.split(" ")[0] in DETERMINERS or not name[:1].islower()
        if not first:
            return f"Which {several}?"
        if re.fullmatch(rf"{AUXILIARIES}|we|you|they|he|she|i|it", first) or (is_verb(first) and is_before_noun):
            return f"Which {several} {self.modifier}?"
        return f"Which {several} are {self.modifier}?"

    def predicate_question(self, predicate: str) -> str:
        """Return a plain question that asks for the predicate."""
        if self.is_who:
            return f"Who {predicate}?"
        return f"{'In w' if self.before else 'W'}hich {self.noun} {predicate}?"


def parse_subject(text: str) -> Subject | None:
    """Return the subject of a question that begins with which, what or who; None for other questions."""
    found = LEADING.match(text)
    if not found:
        return None
    if found["lead"].lower() == "who":  # a verb or a modifier of "people" follows
        return _narrow_subject("people", found["rest"], found["before"] or "", is_who=True)
    return split_subject(found["rest"], found["before"] or "")


def split_subject(text: str, before: str = "") -> Subject | None:
    """Return the subject that a text begins with: the words up to the first plural, or up to a preposition or a verb."""
    words = text.split()
    end = 0
    for word in words[:4]:
        following = words[end + 1] if end + 1 < len(words) else ""
        if word == "to" and not following[:1].islower():
            break
        if word.lower() in CLAUSE_WORDS or word[:1].isupper() or word.endswith("ing"):
            # "neighbouring" belongs to its noun, "bordering France" does not
            if not (word.endswith("ing") and following[:1].islower() and following not in CLAUSE_WORDS):
                break
        elif end and _is_predicate(word, following):
            break
        end += 1
        if plural(word) == word and len(word) > 3:
            break
    return _narrow_subject(" ".join(words[:end]), " ".join(words[end:]), before) if end else None


def _is_predicate(word: str, following: str) -> bool:
    """Return whether a word after a noun is the verb: "holds" of "which religion holds", "dated" of "which actress dated
    Ann", "lists" of "which city lists a museum"; "released" of "which lately released films" is not."""
    is_before_noun = following in DETERMINERS or not following[:1].islower()
    if word.endswith("ed"):
        return is_verb(word) and (is_before_noun or following in CLAUSE_WORDS | PARTICLES)
    return is_verb(word) or (plural(word) == word and bool(following) and is_before_noun)


def _can_follow(noun: str, predicate: Sequence[str]) -> bool:
    """Return whether this can be the predicate of a noun and is not part of the name before it: of "which member of the
    Orange team was …" "team" cannot.
    """
    if not predicate or plural(noun) == noun:
        return True
    return predicate[0] in CLAUSE_WORDS or is_verb(predicate[0]) or plural(predicate[0]) == predicate[0]


def _narrow_subject(type_: str, rest: str, before: str, *, is_who: bool = False) -> Subject:
    found = _MODIFIED.match(rest)
    if found and (is_who or _can_follow(type_.rpartition(" ")[2], (found["predicate"] or "").split())):
        return Subject(type_, found["mod"], found["predicate"] or "", before.strip(), is_who)
    return Subject(type_, "", rest, before.strip(), is_who)
