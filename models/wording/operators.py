"""Find the words of a question that change what is asked: not, more than, before, the most, how many, ….

The list is closed and general English (``operators.toml``). An answer that used none of them was not understood: see
`engine.plans.accounting`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from .. import wording
from . import CLAUSE_WORDS, DETERMINERS, is_verb, pluralise

_NUMBER = r"(?= (?:the |about )?[€$£]? ?\d)"
_ASKS = re.compile(
    r"\b(?:which|what|how many|number of|names? of|list|name|show|find|give)(?: (?:is|are|was|were))?"
    r"(?: (?:me|us|all|any|of|the|our|your|my|different))* (?P<rest>[a-z].*)",
    re.I,
)
_COMPARED = re.compile(
    r"\b(?:than|over|under|above|below|exceeding|up to|at least|at most|before|after|since|until|till"
    r"|between(?: \S+ and)?)(?: the| about| year)* ?[€$£]?$",
    re.I,
)
_PLACE = r"\b(?:in|of|from|at|on|by|for|with|to) (?:the )?"
ORDINAL_WORDS = 5


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator word of a question. kind: its entry in ``operators.toml``; said: as the question spells it."""

    kind: str
    said: str


@cache
def _pattern() -> tuple[re.Pattern[str], frozenset[str]]:
    data = tomllib.loads(files(wording).joinpath("operators.toml").read_text(encoding="utf-8"))
    written = [(phrase, "none") for phrase in data["none"]["phrases"]]
    written += [(word, kind) for kind, words in data["operators"].items() for word in words]
    written += [(f"{word}{_NUMBER}", kind) for kind, words in data["before-a-number"].items() for word in words]
    written.sort(key=lambda each: (each[1] != "none", -len(each[0].split())))
    by_kind = "|".join(f"(?P<{kind}_{at}>{text})" for at, (text, kind) in enumerate(written))
    pattern = rf"(?<![\w'’-])(?:{by_kind}|(?P<most_est>[a-z]{{2,}}est))(?![\w'’-])"
    return re.compile(pattern, re.I), frozenset(data["none"]["words"].split())


def find_operators(text: str, names: Iterable[str] = ()) -> list[Operator]:
    """Return the operator words of a question in their order.

    names: of entities; their words are none, and neither is a capitalised word within a question. An ordinal is one at
    the beginning or the end, or before a superlative: in a clause in between it tells of something else.
    """
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "Name", text, flags=re.I)
    text = re.sub(r"(?<=\w)n['’]t\b", " n't", " ".join(text.split()))
    pattern, no_superlatives = _pattern()
    found = []
    for match in pattern.finditer(text):
        kind, said = (match.lastgroup or "").rpartition("_")[0], match[0]
        before, after = text[: match.start()].split(), text[match.end() :].rstrip("?. ")
        is_name = before and said[:1].isupper()
        is_aside = (
            kind == "ordinal" and len(before) > ORDINAL_WORDS and bool(after) and not re.match(r" \w+est\b", after)
        )
        if kind != "none" and not is_name and not is_aside and said.lower() not in no_superlatives:
            found.append(Operator(kind, said))
    return found


def stands_in_comparison(text: str, start: int) -> bool:
    """Return whether the number or date that starts there stands in a comparison: "before 1984"."""
    return bool(_COMPARED.search(text[:start].rstrip()))


def find_placed_names(text: str, names: Iterable[str]) -> list[str]:
    """Return the names that stand after a preposition or comma, with it: "in France". They are those given, and what a
    question that is not all in capitals writes with capitals after a preposition, or after a comma at its end."""
    given = "|".join(map(re.escape, names))
    patterns = [rf"(?:{_PLACE}|(?<=\w), )(?i:{given})(?!\w)"] if given else []
    if any(word[:1].islower() for word in text.split() if len(word) > 3):
        capitals = r"[A-Z][\w&'’.-]*(?: [A-Z][\w&'’.-]*)*"
        patterns += [rf"{_PLACE}{capitals}", rf"(?<=\w), {capitals}(?=\W*$)"]
    return list(dict.fromkeys(match[0].rstrip(".") for pattern in patterns for match in re.finditer(pattern, text)))


def list_wanted_nouns(text: str) -> list[str]:
    """Return the words for what a question asks for, in lower case: "capital cities" of "which capital cities …"."""
    found = _ASKS.search(text)
    while found and (deeper := _ASKS.match(found["rest"])):
        found = deeper
    return _noun_phrase(found["rest"].rstrip("?. ").split()) if found else []


def _noun_phrase(words: Sequence[str]) -> list[str]:
    """Return the words that a text begins with up to the first plural, or up to a preposition, a name or a verb."""
    found: list[str] = []
    for word, following in zip(words[:4], [*words[1:], "."], strict=False):
        is_before_noun = following in DETERMINERS or not following[:1].islower()
        is_adjective = word.endswith("ing") and following[:1].islower() and following not in CLAUSE_WORDS
        if word.lower() in CLAUSE_WORDS or word[:1].isupper() or (word.endswith("ing") and not is_adjective):
            break
        is_third_person = not word.endswith("ed") and pluralise(word) == word and is_before_noun
        if found and (is_verb(word) or is_third_person):
            break
        found.append(word.lower())
        if pluralise(word) == word and len(word) > 3:
            break
    return found
