"""Classify a question by its form with rules over its words, and plan its answer.

The rules are tried in the order below, and the first that matches wins. Each rule is a pattern and the plan it makes:
plain questions, and what to do with their answers. A question that matches no rule is a plain question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from ..wording import plural, singular
from .plan import DATE, NUMBER, FormPlan, Range, SubQuestion, date_range, parse_number
from .subject import AUXILIARIES, LEADING, ONE_NAME, Subject, parse_subject, split_subject

_MEASURED = {
    "big": "area", "large": "area", "populous": "population", "populated": "population", "tall": "height",
    "high": "height", "long": "length", "old": "date of birth", "heavy": "weight", "expensive": "price", "far": "distance",
    "wide": "width", "deep": "depth", "fast": "speed", "rich": "net worth", "valuable": "value", "hot": "temperature",
    "cold": "temperature", "strong": "strength", "thick": "thickness", "costly": "price", "recent": "date",
}  # fmt: skip
"""The property that "how big is" asks for, and "the most expensive" orders by."""
_COMPARATIVES = {
    "area": ("largest biggest", "smallest tiniest"),
    "date": ("youngest newest latest last", "oldest first earliest"),
    "length": ("longest", "shortest"),
    "height": ("tallest highest", "lowest"),
    "net worth": ("richest wealthiest", "poorest"),
    "weight": ("heaviest", "lightest"),
    "price": ("priciest dearest costliest", "cheapest"),
    "speed": ("fastest quickest", "slowest"),
    "depth": ("deepest", "shallowest"),
    "width": ("widest broadest", "narrowest"),
    "temperature": ("hottest warmest", "coldest coolest"),
    "strength": ("strongest", "weakest"),
    "thickness": ("thickest", "thinnest"),
    "distance": ("farthest furthest", "nearest closest"),
}
_ORDERED = {word: words for words, ends in _COMPARATIVES.items() for word in " ".join(ends).split()}
"""The property that "the biggest" orders by when the question does not name one."""
_MOST = frozenset("greatest most".split()).union(*(most.split() for most, _ in _COMPARATIVES.values()))
_SUPERLATIVE = "|".join(sorted({"least", "fewest", *_MOST, *_ORDERED}))
_DEGREE = rf"(?:(?P<degree>most|least) (?P<adjective>{'|'.join(_MEASURED)}|[a-z]+(?<!s))|(?P<how>{'|'.join(sorted(_ORDERED))}))"
"""A superlative that says by which property: "cheapest", "most expensive"."""
_DATED = {
    "came out": "release date", "appeared": "publication date", "opened": "opening date", "started": "start date",
    "began": "start date", "joined": "joining date", "died": "date of death",
}  # fmt: skip
"""The property that "came out first" or "after 2010" orders or filters by."""
_AMOUNTS = {
    "earn": "salary", "earned": "salary", "make": "salary", "made": "salary", "cost": "price", "weigh": "weight",
    "weighed": "weight", "score": "number of goals", "scored": "number of goals", "pay": "price", "hold": "capacity",
}  # fmt: skip
"""The property that "earns the most" orders by."""
_FRAME = re.compile(
    r"^(?:(?:please|hey|hi|so|ok|okay|well|and|btw|just)[,!]? )*"
    r"(?:(?:(?:can|could|would) (?:you|anyone|someone) (?:please )?|please )?(?:tell|show|give|remind) (?:me|us) "
    r"|do you (?:happen to )?know |does (?:anyone|anybody) know |i(?:['’]d| would)? (?:like|want|need) to know "
    r"|i wonder |any idea )?(?=(?:which|what|whats|who|whos|how|of|out|among|the|in|on|is|are|was|were|do|does|did|has|have)\b)",
    re.I,
)
"""What people say before a question."""
_TRAILING = re.compile(
    r",? (?:in total|in all|altogether|overall|all told|right now|at the moment|currently|so far|by now|nowadays"
    r"|these days|please|anyway|exactly)$",
    re.I,
)
_SAID = re.compile(
    r"^(?P<said>.+?),? (?:right|correct|no|yes|(?:isn|aren|wasn|weren|doesn|don|didn|hasn|haven|won|can)['’]?t "
    r"(?:he|she|it|they|you|we)|(?:is|are|was|were|does|do|did|has|have|will|can) (?:he|she|it|they|you|we))$",
    re.I,
)
"""A statement that asks to be confirmed: "Ann is the boss of Bob, right?"."""
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
    names = tuple(names)
    kept: dict[str, str] = {}
    hidden = " ".join(text.split()).rstrip("?.! ")
    whole = {name for name in names if _WHOLE.search(name)}
    for place, name in enumerate(sorted(whole, key=lambda name: (-len(name), name))):
        stand_in = f"Name{place}Q"
        hidden = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", stand_in, hidden)
        kept[stand_in] = name
    plan = _read(_straighten(hidden))
    if plan is None or (plan.order and _says_nothing(plan.parts[0].text, names)):
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


def _says_nothing(part: str, names: Iterable[str]) -> bool:
    """Whether a part asks for a kind of thing alone ("Which lakes?"), and this is no entity of the graph."""
    bare = re.fullmatch(r"Which (?P<type>[a-z-]+(?: [a-z-]+){0,2})\?", part)
    if bare is None or plural(bare["type"]) != bare["type"]:
        return False
    return not any(singular(name.lower()) in singular(bare["type"]) for name in names)


def _straighten(text: str) -> str:
    """Return a question as it is written, not as it is said: "So who's the oldest?" is "who is the oldest?"."""
    text = _TRAILING.sub("", _FRAME.sub("", text))
    said = _SAID.match(text)
    if said and not re.match(rf"(?:which|what|who|how|{AUXILIARIES})\b", text, re.I):
        return f"is it so that {said['said']}"
    text = re.sub(r"^(who|what)['’]?s (?=[a-zN])", r"\1 is ", text, flags=re.I)
    among = re.match(
        r"^(?:of|out of|among) (?:all )?(?:of )?the (?P<base>.+?),? (?:which|who|what)(?: one)? (?P<rest>.+)$",
        text,
        re.I,
    )
    if among:
        return f"Which {among['base']} {among['rest']}"
    text = re.sub(
        r"^(?:which|who|what) (?:one )?of (?:all )?(?:the |our |your )?(?=[a-zN])", "Which ", text, flags=re.I
    )
    among = re.match(
        r"^(?:which|who|what) (?P<rest>.+ (?:most|least|first|last|[a-z]+est)) (?:among|out of|of) (?:all )?(?:the |our )"
        r"(?P<base>.+)$",
        text,
        re.I,
    )
    text = f"Which {among['base']} {among['rest']}" if among else text
    text = re.sub(r"^Which (?P<owner>(?:[A-Z]\w* ?)+)['’]s? (?P<noun>[a-z]+) ", r"Which \g<noun> of \g<owner> ", text)
    return re.sub(r"^Which (?=[A-Z])", "Which things of ", text)


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
    counted = re.match(
        r"^(?:what (?:is|was) )?(?:the )?(?:total )?(?:number of|count(?: of| the)?) (?P<rest>.+)$", text, re.I
    )
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
    rest = re.sub(r"^of (?:all )?(?:the |our |your |my )?(?=[a-z])", "", rest, flags=re.I)
    rest = re.sub(r"^(?:different|distinct|separate) (?=[a-z])", "", rest, flags=re.I)
    rest = re.sub(r"^(?=(?:have|has|had|are|were) )", "people ", rest, flags=re.I)
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
    if re.match(rf"^(?:{AUXILIARIES})(?! you\b)\b", text, re.I) and " or " not in text:
        return FormPlan(
            ("yes or no",),
            "a question that begins with a verb asks whether the path exists",
            (SubQuestion(f"{text}?"),),
        )
    return None


def _superlative(text: str) -> FormPlan | None:
    """Return the plan of the first of `_ORDERINGS` that a question fits; None if it fits none."""
    for pattern in _ORDERINGS:
        if found := pattern.match(text):
            return _read_ordering(_read_ordered(found), *_read_order(found))
    return None


def _read_ordered(found: re.Match[str]) -> Subject | None:
    """Return what is ordered: the groups of the match of an ordering say how."""
    groups = found.groupdict()
    several = groups.get("noun") or ("people" if (groups.get("lead") or "").lower() == "who" else "things")
    if groups.get("owner"):
        return Subject(several, f"of {groups['owner']}", "")
    if groups.get("within"):
        return Subject(several, groups["within"], "")
    if groups.get("doing"):
        return Subject(several, f"that {'were ' + groups['done'] + ' ' if groups['done'] else ''}{groups['doing']}", "")
    base = groups["base"] + (f" are {groups['there']}" if groups.get("there") else "")
    return parse_subject(base) if LEADING.match(base) else split_subject(base)


def _read_order(found: re.Match[str]) -> tuple[str, str]:
    """Return the superlative of a match, and the property that it orders by."""
    groups = found.groupdict()
    how = groups.get("how") or groups["degree"]
    if words := groups.get("words"):
        return how, _DATED.get(words.lower(), words)
    if groups.get("adjective"):
        return how, _MEASURED.get(groups["adjective"].lower(), groups["adjective"].lower())
    if groups.get("verb"):
        return how, _AMOUNTS.get(groups["verb"].lower(), groups["verb"].lower())
    if groups.get("lasts"):
        return how, "duration"
    if groups.get("been"):  # since the earliest day
        return "earliest" if how.lower() == "longest" else "latest", "start date"
    return how, f"{groups['done']} date" if groups.get("done") else _ORDERED.get(how.lower(), "date")


def _read_ordering(subject: Subject | None, how: str, words: str) -> FormPlan | None:
    if subject is None:
        return None
    order: Literal["most", "least"] = "most" if how.lower() in _MOST | {"most recently"} else "least"
    words = "population" if _INHABITANTS.match(words) else words
    base = subject if subject.modifier else replace(subject, modifier=subject.rest)
    if words == "date" and subject.modifier and subject.rest:
        words = f"date when it {subject.rest}"
    what = f"“{how.lower()}” orders the answers by {words}, {'greatest' if order == 'most' else 'smallest'} first"
    return FormPlan((order,), what, (SubQuestion(base.question()),), words=words, order=order)


_BASE = r"(?P<base>(?:which|what|who) .+?)"
_LEAD = r"(?:(?P<lead>which|what|who) (?:is|are|was|were) )?"
_NUMBER_OF = rf"the (?P<how>{_SUPERLATIVE})(?: number of)? (?P<words>.+)"
_HAVING = (
    "(?:(?:has|have) (?:room|space) for|(?:is|are|was|were) (?:about|for|over|worth)|gets?|got|takes?|took|makes?|made|offers?"
    "|sells?|sold|needs?|uses?|holds?|held|brings?|brought|(?:can )?(?:carry|carries|fits?|seats?))"
)
_DONE = "(?P<done>[a-z]+ed|born|made|built|sold)"
_LAST = r"(?P<how>first|last|earliest|latest|most recently)"
_LONGEST = "the (?P<how>longest|shortest)"
_ORDERINGS = tuple(
    re.compile(f"^{pattern}$", re.I)
    for pattern in (
        # Which X has the largest Y; the X with the largest Y; A's largest X.
        rf"{_BASE} (?:has|have|had) {_NUMBER_OF}",
        rf"{_BASE} {_HAVING} {_NUMBER_OF}",
        rf"{_LEAD}the (?P<base>.+?) (?:with|having) {_NUMBER_OF}",
        rf"{_LEAD}(?P<owner>(?!when|where|how|why).+?)['’]s? {_DEGREE} (?P<noun>[a-z ]+)",
        # Who was the first to climb A; is the oldest in A; the largest X by Y; the largest X.
        rf"{_LEAD}the (?P<how>first|last) (?:one |person |(?P<noun>[a-z]+) )?to (?:be {_DONE} )?(?P<doing>[a-z].+)",
        rf"{_LEAD}the {_DEGREE} (?:one |person |of them )?(?P<within>(?:in|of|at|from|on|by|within) .+)",
        rf"{_LEAD}the (?P<how>{_SUPERLATIVE}) (?P<base>.+?) by (?P<words>[a-z ]+)",
        rf"{_LEAD}the {_DEGREE} (?P<base>(?!to ).+)",
        # Which X in A is the oldest; earns the most; has been there the longest; takes the longest.
        rf"{_BASE} (?:is|are|was|were) (?:the )?{_DEGREE}",
        rf"{_BASE} (?P<verb>{'|'.join(_AMOUNTS)}|[a-z]+?)s? (?:the )?(?P<how>most|least)",
        rf"(?P<base>who|(?:which|what|who) .+?) (?:is|has|have|had) (?P<been>been) (?P<there>.*?) ?(?:for )?{_LONGEST}",
        rf"{_BASE} (?P<lasts>lasts?|lasted|takes?|took|runs?|ran) {_LONGEST}",
        # Which X came out first; was made first; any other verb.
        rf"{_BASE} (?P<words>{'|'.join(_DATED)}) {_LAST}",
        rf"{_BASE} (?:was|were|is|are|got) {_DONE} {_LAST}",
        rf"{_BASE} {_LAST}",
    )
)
"""What orders answers, as questions say it. The first that fits counts; `_read_ordered` and `_read_order` say what
the groups mean."""


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
    base = subject if subject.modifier else replace(subject, modifier=subject.rest)
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
    span = date_range(value) if is_date else None
    if how in _ABOVE.split("|"):
        dates = Range(least=span[0] if with_it else span[1], with_least=with_it) if span else None
        return Range(least=number, with_least=with_it), dates
    dates = Range(most=span[1] if with_it else span[0], with_most=with_it) if span else None
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
        f"keeps only answers that are found for “{subject.question()}” as well",
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
