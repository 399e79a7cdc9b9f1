"""Classify a question by its form with rules over its words, parse its subject, and plan its answer.

The rules are tried in the order below, and the first that matches wins. Each rule is a pattern and the plan it makes:
plain questions, and what to do with their answers. A question that matches no rule is a plain question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..wording.english import base_of, is_verb, plural
from ..words import CLAUSE_WORDS, DETERMINERS
from .plan import DATE, NUMBER, FormPlan, Range, SubQuestion, date_range, parse_number

NAME = r"(?:the )?[A-Z0-9][\w'’./-]*(?:,? (?:(?:of|the|de|and) )?[A-Z0-9][\w'’./-]*)*|the [a-z]+"
"""A name in a question: capitalised words, or a lower-case word after "the"."""
ONE_NAME = r"(?:the )?[A-Z0-9][\w'’./-]*(?: (?:(?:of|the|de) )?[A-Z0-9][\w'’./-]*)*|the [a-z]+"
"""The same without "and"."""
_LEADING = re.compile(
    r"^(?P<before>(?:in|on|to|for|from|of) )?(?P<lead>which|what|who|list|name|find|show|give me)\b ?(?P<rest>.*)$",
    re.I,
)
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
        return f"Which {several} are {self.modifier}?"

    def predicate_question(self, predicate: str) -> str:
        """Return a plain question that asks for the predicate."""
        if self.is_who:
            return f"Who {predicate}?"
        return f"{'In w' if self.before else 'W'}hich {self.noun} {predicate}?"


def parse_subject(text: str) -> Subject | None:
    """Return the subject of a question that begins with which, what or who; None for other questions."""
    found = _LEADING.match(text)
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
        return is_verb(word) and (is_before_noun or following in CLAUSE_WORDS)
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
    if found and (is_who or _can_follow(type_.rsplit(maxsplit=1)[-1], (found["predicate"] or "").split())):
        return Subject(type_, found["mod"], found["predicate"] or "", before.strip(), is_who)
    return Subject(type_, "", rest, before.strip(), is_who)


_MOST = "largest biggest highest greatest most longest tallest richest newest latest last youngest heaviest".split()
_LEAST = "smallest lowest least fewest shortest oldest first earliest poorest lightest cheapest".split()
_SUPERLATIVE = "|".join(_MOST + _LEAST)
_MEASURED = {
    "big": "area", "large": "area", "populous": "population", "populated": "population", "tall": "height",
    "high": "height", "long": "length", "old": "date of birth", "heavy": "weight", "expensive": "price", "far": "distance",
    "wide": "width", "deep": "depth", "fast": "speed", "rich": "net worth", "valuable": "value",
}  # fmt: skip
"""The property that "how big is" asks for."""
_ORDERED = {
    "largest": "area", "biggest": "area", "smallest": "area", "oldest": "date", "youngest": "date", "newest": "date",
    "latest": "date", "last": "date", "first": "date", "earliest": "date", "longest": "length", "shortest": "length",
    "tallest": "height", "highest": "height", "lowest": "height", "richest": "net worth", "poorest": "net worth",
    "heaviest": "weight", "lightest": "weight", "cheapest": "price",
}  # fmt: skip
"""The property that "the biggest" orders by when the question does not name one."""
_DATED = {
    "came out": "release date", "appeared": "publication date", "opened": "opening date", "started": "start date",
    "began": "start date", "joined": "joining date", "died": "date of death",
}  # fmt: skip
"""The property that "came out first" or "after 2010" orders or filters by."""
_AMOUNTS = {"earn": "salary", "make": "salary", "cost": "price", "weigh": "weight", "score": "number of goals"}
"""The property that "earns the most" orders by."""
_INHABITANTS = re.compile(r"^(?:people|inhabitants|residents)\b", re.I)
_ABOVE = "more than|over|above|greater than|larger than|bigger than|higher than|longer than|after|at least|no less than|since"
_BELOW = "less than|below|under|fewer than|smaller than|lower than|shorter than|before|at most|no more than|up to|until"
_WITH = frozenset(("at least", "no less than", "since", "at most", "no more than", "up to", "until"))
_COMPARED = rf"(?P<how>{_ABOVE}|{_BELOW}|between)"
_WHOLE = re.compile(r"[A-Z]|\b(?:and|or|not|both)\b")
"""Type words that can occur inside names. "country" can, too, but a question usually asks for countries."""


def parse_question(text: str, names: Iterable[str] = ()) -> FormPlan | None:
    """Return the plan for a question; None for a plain one.

    names: names of linked entities as the question spells them; they are not split. Other names are recognised by their
    capitals.
    """
    kept: dict[str, str] = {}
    hidden = " ".join(text.split()).rstrip("?.! ")
    whole = {name for name in names if _WHOLE.search(name)}
    for place, name in enumerate(sorted(whole, key=lambda name: (-len(name), name))):
        stand_in = f"Name{place}Q"
        hidden, times = re.subn(rf"(?<!\w){re.escape(name)}(?!\w)", stand_in, hidden)
        if times:
            kept[stand_in] = name
    plan = _read(hidden)
    if plan is None:
        return None

    def restore_names(text: str) -> str:
        for stand_in, name in kept.items():
            text = text.replace(stand_in, name)
        return text

    parts = tuple(replace(part, text=restore_names(part.text)) for part in plan.parts)
    return replace(
        plan,
        parts=parts,
        rule=restore_names(plan.rule),
        words=restore_names(plan.words),
        excluded=restore_names(plan.excluded),
    )


def _read(text: str) -> FormPlan | None:
    for rule in (_how_much, _how_many, _yes_no, _superlative, _read_comparison, _not, _and_or, _within):
        plan = rule(text)
        if plan is not None:
            return plan
    return None


def _how_much(text: str) -> FormPlan | None:
    """How big is X; how many people live in X: ask for the value of a property."""
    found = re.match(rf"^how (?P<how>{'|'.join(_MEASURED)}) (?:is|are|was|were) (?P<rest>.+)$", text, re.I)
    if found:
        words, rest = _MEASURED[found["how"].lower()], found["rest"]
        named = re.match(r"^the (?P<words>[a-z ]+?) of (?P<rest>.+)$", rest)
        if named and found["how"].lower() in {"big", "large", "high"} and named["words"] != "capital":
            words, rest = named["words"], named["rest"]
        return FormPlan(
            ("how much",),
            f"“how {found['how'].lower()}” asks for the {words}",
            (SubQuestion(f"What is the {words} of {rest}?"),),
        )
    found = re.match(
        r"^how many (?:people live|inhabitants live|people are living) in (?P<rest>.+)$", text, re.I
    ) or re.match(r"^how many (?:inhabitants|residents|people) (?:does|do|has) (?P<rest>.+?)(?: have)?$", text, re.I)
    if found:
        return FormPlan(
            ("how much",),
            "“how many people” asks for the population",
            (SubQuestion(f"What is the population of {found['rest']}?"),),
        )
    if re.match(rf"^what (?:is|was) the (?:{'|'.join(sorted(set(_MEASURED.values())))}) of ", text, re.I):
        return FormPlan(
            ("how much",),
            "the question asks for a measure: the answer is a number or a date",
            (SubQuestion(f"{text}?"),),
        )
    return None


def _how_many(text: str) -> FormPlan | None:
    """How many X: count the answers."""
    found = re.match(r"^(?P<before>in |on |for |to )?how many (?P<rest>.+)$", text, re.I)
    counted = re.match(r"^(?:the )?(?:number of|count(?: the)?) (?P<rest>.+)$", text, re.I)
    rest = (found or counted)["rest"] if found or counted else ""  # type: ignore[index]
    if not rest:
        return None
    if counted:
        subject = split_subject(rest)
        rest = (
            f"{subject.type} are {subject.modifier or subject.rest}"
            if subject and (subject.modifier or subject.rest)
            else rest
        )
        rest = re.sub(r"\bare (of|with) ", r"\1 ", rest)
    asked = re.sub(r"\bare there\b", "are", rest)
    asked = re.sub(r"\bare are\b", "are", asked)
    whole = f"{(found['before'] or '').capitalize() if found else ''}which {asked}"
    whole = whole[:1].upper() + whole[1:]
    inner = _read(whole)
    if inner is not None and "yes or no" not in inner.forms:
        return replace(inner.nest("how many", "“how many” counts the answers"), counted=True)
    return FormPlan(("how many",), "“how many” counts the answers", (SubQuestion(f"{whole}?"),), counted=True)


def _yes_no(text: str) -> FormPlan | None:
    """Is X the Y of Z: check whether the best path connects the two."""
    if re.match(r"^(?:is|are|was|were|does|do|did|has|have)\b", text, re.I) and " or " not in text:
        return FormPlan(
            ("yes or no",),
            "a question that begins with a verb asks whether the path exists",
            (SubQuestion(f"{text}?"),),
        )
    return None


def _superlative(text: str) -> FormPlan | None:
    """Which X has the largest Y; the most populous X; the largest X by Y."""
    found = re.match(
        rf"^(?P<base>(?:which|what|who) .+?) (?:has|have|had) the (?P<how>{_SUPERLATIVE})(?: number of)? (?P<words>.+)$",
        text,
        re.I,
    )
    if found:
        return _read_ordering(parse_subject(found["base"]), found["how"], found["words"])
    leading = r"^(?:(?:which|what|who) (?:is|are|was|were) )?the "
    found = re.match(rf"{leading}(?P<how>most|least) (?P<adjective>{'|'.join(_MEASURED)}) (?P<base>.+)$", text, re.I)
    if found:
        return _read_ordering(split_subject(found["base"]), found["how"], _MEASURED[found["adjective"].lower()])
    found = re.match(rf"{leading}(?P<how>{_SUPERLATIVE}) (?P<base>.+?)(?: by (?P<words>[a-z ]+))?$", text, re.I)
    if found and (found["words"] or found["how"].lower() in _ORDERED):
        return _read_ordering(
            split_subject(found["base"]), found["how"], found["words"] or _ORDERED[found["how"].lower()]
        )
    found = re.match(
        r"^(?P<base>(?:which|what|who) .+?) (?:was|were|is|are) (?P<words>[a-z]+ed|born|made|built) (?P<how>first|last)$",
        text,
        re.I,
    )
    if found:
        return _read_ordering(parse_subject(found["base"]), found["how"], f"{found['words']} date")
    return _superlative_at_end(text)


def _superlative_at_end(text: str) -> FormPlan | None:
    """Which X in A is the oldest; which of the X … is the oldest; which X came out first; which X earns the most."""
    asked = re.sub(r"^which (?:one )?of the ", "Which ", text, flags=re.I)
    base = r"^(?P<base>(?:which|what|who) .+?)"
    found = re.match(rf"{base} (?:is|are|was|were) the (?P<how>{'|'.join(_ORDERED)})$", asked, re.I)
    if found:
        return _read_ordering(parse_subject(found["base"]), found["how"], _ORDERED[found["how"].lower()])
    found = re.match(rf"{base} (?P<words>{'|'.join(_DATED)}) (?P<how>first|last)$", asked, re.I)
    if found:
        return _read_ordering(parse_subject(found["base"]), found["how"], _DATED[found["words"].lower()])
    found = re.match(rf"{base} (?P<verb>{'|'.join(_AMOUNTS)})s? the (?P<how>most|least)$", asked, re.I)
    if found:
        return _read_ordering(parse_subject(found["base"]), found["how"], _AMOUNTS[found["verb"].lower()])
    return None


def _read_ordering(subject: Subject | None, how: str, words: str) -> FormPlan | None:
    if subject is None or not (subject.modifier or subject.rest):
        return None
    order: Literal["most", "least"] = "most" if how.lower() in _MOST else "least"
    words = "population" if _INHABITANTS.match(words) else words
    base = subject if subject.modifier else replace(subject, modifier=subject.rest, rest="")
    what = f"“{how.lower()}” orders the answers by {words}, {'greatest' if order == 'most' else 'smallest'} first"
    return FormPlan((order,), what, (SubQuestion(base.question()),), words=words, order=order)


def _read_comparison(text: str) -> FormPlan | None:
    """X with a Y of more than N; X with more than N Y; X released after 2016: filter by a value."""
    value = rf"(?P<value>{NUMBER}|{DATE})(?: and (?P<other>{NUMBER}|{DATE}))?(?: (?P<unit>.+))?"
    found = re.match(
        rf"^(?P<base>.+?) (?:that |who )?(?:have|has|had|with|having) (?:an? |the )?(?:(?P<words>[a-z ]+?) )?(?:of |is |are )?"
        rf"{_COMPARED} {value}$",
        text,
        re.I,
    )
    found = found or re.match(
        rf"^(?P<base>.+?) (?:that |who )?(?:was |were |is |are )?(?P<words>[a-z]+ed|born|made|built|came out|began) {_COMPARED} {value}$",
        text,
        re.I,
    )
    if not found:
        return None
    subject = parse_subject(found["base"]) or split_subject(found["base"][:1].lower() + found["base"][1:])
    if subject is None or not (subject.modifier or subject.rest):
        return None
    words = (found["words"] or "").strip() or found["unit"] or ""
    words = _DATED.get(words.lower(), words)
    words = "population" if _INHABITANTS.match(words) else words
    if not words:
        return None
    within, dates = _ranges(found["how"].lower(), found["value"], found["other"])
    base = subject if subject.modifier else replace(subject, modifier=subject.rest, rest="")
    rule = f"keeps only answers whose {words} is {found['how'].lower()} {found['value']}"
    rule += f" and {found['other']}" if found["other"] else ""
    return FormPlan(("filter",), rule, (SubQuestion(base.question()),), words=words, within=within, dates=dates)


def _ranges(how: str, value: str, other: str | None) -> tuple[Range, Range | None]:
    """Return the range for numbers, and the range for dates if the value can be one."""
    is_date = bool(re.fullmatch(DATE, value))
    number = None if is_date and "-" in value else parse_number(value)
    if how == "between":
        assert number is not None or is_date
        second = other or value
        span = (date_range(value)[0], date_range(second)[1]) if is_date and re.fullmatch(DATE, second) else None
        within = Range(number, parse_number(second) if "-" not in second else None)
        return within, Range(*span) if span else None
    with_it = how in _WITH
    above = how in _ABOVE.split("|")
    first, last = date_range(value) if is_date else (0.0, 0.0)
    if above:
        dates = Range(least=first if with_it else last, with_least=with_it) if is_date else None
        return Range(least=number, with_least=with_it), dates
    dates = Range(most=last if with_it else first, with_most=with_it) if is_date else None
    return Range(most=number, with_most=with_it), dates


def _not(text: str) -> FormPlan | None:
    """X that do not Y; X but not Y; X except Y; X without doing Y: exclude answers."""
    rule = "answers of the part with “not” are excluded"
    found = re.match(rf"^(?P<base>.+?),? except(?: for)? (?P<name>{ONE_NAME})$", text)
    if found:
        inner = _read(found["base"])
        plan = inner or FormPlan((), "", (SubQuestion(f"{found['base']}?"),))
        return replace(plan.nest("not", f"{found['name']} is excluded"), excluded=found["name"])
    found = re.match(r"^(?P<base>.+?),? (?:but|and) not (?P<rest>.+)$", text)
    if found:
        other = _other(found["base"], found["rest"])
        return (
            FormPlan(("not",), rule, (SubQuestion(f"{found['base']}?"), SubQuestion(f"{other}?", negated=True)))
            if other
            else None
        )
    found = re.match(r"^(?P<base>.+?) without (?P<verb>[a-z]+)ing (?P<rest>.+)$", text)
    if found and (subject := parse_subject(found["base"])):
        return FormPlan(
            ("not",),
            rule,
            (
                SubQuestion(f"{found['base']}?"),
                SubQuestion(subject.predicate_question(f"{found['verb']} {found['rest']}"), negated=True),
            ),
        )
    found = re.match(
        r"^(?P<base>.+?) (?:that |who )?(?P<verb>do|does|did|are|is|was|were) (?:not|n't) (?P<rest>.+)$", text
    )
    if found and (subject := parse_subject(found["base"])) and subject.modifier:
        be = f"{found['verb']} " if found["verb"] in {"are", "is", "was", "were"} else ""
        return FormPlan(
            ("not",),
            rule,
            (
                SubQuestion(subject.question()),
                SubQuestion(subject.predicate_question(be + found["rest"]), negated=True),
            ),
        )
    return None


def _and_or(text: str) -> FormPlan | None:
    """Both X and Y; X, Y and Z; X as well as Y; either X or Y: intersect or unite answers."""
    found = re.match(
        rf"^(?P<head>.+?)\b(?:both|either) (?P<one>{ONE_NAME}|[\w.-]+) (?P<how>and|or) (?:of |in )?(?P<two>{ONE_NAME}|[\w.-]+)(?P<tail>.*)$",
        text,
    )
    listed = rf"(?P<listed>(?:(?:{ONE_NAME}), )*)(?P<one>{ONE_NAME}),?"
    found = found or re.match(
        rf"^(?P<head>.+?\b(?:do|does|did|are|is) |){listed} (?P<how>and|or) (?P<two>{ONE_NAME})(?: both)?(?P<tail> .+)$",
        text,
    )
    found = found or re.match(
        rf"^(?!.*\bbetween (?:{ONE_NAME}) and)(?P<head>(?:.+? )?){listed} (?P<how>and|or|as well as) (?:(?:of|in|with) )?"
        rf"(?P<two>{ONE_NAME})(?P<tail> .+)?$",
        text,
    )
    if found:
        how, tail = found["how"], found["tail"] or ""
        tail = tail.removesuffix(" both").replace(" both ", " ")
        listed = found.groupdict().get("listed") or ""
        names = [*listed.split(", ")[:-1], found["one"], found["two"]]
        parts = tuple(SubQuestion(f"{found['head']}{name}{tail}?") for name in names)
    else:
        found = re.match(
            r"^(?P<base>.+?),? (?P<how>and also|and|or|as well as) (?:that |who )?(?P<rest>[a-z].+)$", text
        )
        subject = parse_subject(found["base"]) if found else None
        if not found or subject is None or not (subject.rest or subject.modifier):
            return None
        how = found["how"]
        parts = (SubQuestion(f"{found['base']}?"), SubQuestion(subject.predicate_question(found["rest"])))
    alike = "one" in found.groupdict()
    if how == "or":
        return FormPlan(("or",), "“or” unites the answers of the parts", parts, any_of=True, alike=alike)
    return FormPlan(("and",), "“and” intersects the answers of the parts", parts, alike=alike)


def _within(text: str) -> FormPlan | None:
    """Which X in A do B: intersect a narrowed subject with what the question says about it."""
    subject = parse_subject(text)
    if subject is None or not subject.modifier or not subject.rest:
        return None
    return FormPlan(
        ("filter",),
        f"keeps only answers that are also found for “{subject.question()}” as well",
        (SubQuestion(subject.question()), SubQuestion(subject.predicate_question(subject.rest))),
    )


def _other(base: str, rest: str) -> str | None:
    """Return the question with its last name, or its last phrase, replaced."""
    bare = re.fullmatch(rf"(?:(?P<before>in|of|from|with|by) )?(?P<name>{ONE_NAME})", rest)
    if bare:
        found = re.match(rf"^(?P<head>.+ )(?:{ONE_NAME})$", base)
        return f"{found['head']}{bare['name']}" if found else None
    subject = parse_subject(base)
    return subject.predicate_question(rest).removesuffix("?") if subject else None
