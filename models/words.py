"""Fold spellings, and list English words by what they do in a question or a name: one place for all of both.

The lists differ because what they are for does: the weights of linking and of `similarity` were fitted with theirs.
"""

from __future__ import annotations

import re
import unicodedata

FUNCTION_WORDS = frozenset(
    """
    a about above after all also an and any are as at be because been before being below between both but by can
    could did do does doing done during each few first for from further give had has have having he her here him
    his how i if in into is it its itself just last list main many me more most much my name named names no nor
    not of off on once one only or other our out over own please s same she should show so some such tell than that
    the their them then there these they this those through to too two under until up us used very was we were
    what when where which while who whom whose why will with would you your
    """.split()
)
"""Words that a question is built from: in linking they make no mention on their own, nor are they searched for."""

NEVER_NAMES = frozenset(
    """
    a about above after an and as at before below between but by during for from if in into nor of off on or out over so
    than the then through to under until up while with
    """.split()
)
"""Function words that a name has among others, and that with a capital are no name (linking)."""

_SMALL = "a an and at by da das de del der des di du e el et for in la las le les los of on the to und van von y"
SMALL_WORDS = frozenset(form for word in _SMALL.split() for form in (word, word.capitalize(), word.upper()))
"""Words that give no letter to initials, in several languages; the stage's macro `initials` has the same list."""

ARTICLES = frozenset({"a", "an", "the"})
"""What answers are compared without (SQuAD's normalisation)."""

DETERMINERS = ARTICLES | frozenset("its his her their".split())
"""What a noun follows (forms of questions)."""

PREPOSITIONS = frozenset("in on at from to for with by of into about under over against as".split())
"""What a relation's label ends or begins with where it is half a sentence."""

AUXILIARIES = frozenset("is are was were do does did has have had".split())

CLAUSE_WORDS = AUXILIARIES | frozenset(
    "in of from at on by within through near under after before that which who with can border speak use we you they he"
    " she i it".split()
)
"""Where the noun phrase that a question asks for ends (forms of questions)."""

NOUN_ENDS = AUXILIARIES | frozenset("can could will would should must to in on for".split())
"""Where the noun after `what` or `which` ends (`similarity`)."""

NOT_NOUNS = AUXILIARIES | ARTICLES | frozenset("of kind sort type in on for to".split())
"""What is no noun after `what` or `which` (kinds of things)."""

STOP_WORDS = frozenset(
    """
    a an the of in on at to for by with from and or is are was were be been being am do does did done has have had
    can could will would shall should may might must who whom whose which what when where why how that this these
    those it its he she they them his her their i we you me my our your as there here one some any all get gets got
    please tell name s
    """.split()
)
"""What does not say what is asked for (`similarity`)."""

EDGE_WORDS = frozenset("the of a an in at on and to for s is was by with".split())
"""What a topic's mention does not begin or end with (`similarity`)."""

EMPTY_WORDS = AUXILIARIES | ARTICLES | frozenset("of type kind s name some".split())
"""What says nothing of the type that is asked for (`similarity`)."""


def fold(text: str) -> str:
    """Return the text as names are compared: no accents, no case, underscores opened."""
    if text.isascii():
        return text.replace("_", " ").lower()
    decomposed = unicodedata.normalize("NFKD", text.replace("_", " "))
    return "".join(c for c in decomposed if not unicodedata.combining(c)).casefold()


def fold_spelling(text: str) -> str:
    """Return what is equal where two texts differ in case or compatible characters alone: NFKC, case-folded, NFKC."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def normalise_question(text: str) -> str:
    """Return a question's words in lower case, which are equal for two versions of the same question."""
    return re.sub(r"\W+", " ", text.lower()).strip()
