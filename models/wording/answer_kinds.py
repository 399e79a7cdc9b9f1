"""Tell what kind of thing stands at each end of a relation, and what kind a question asks for. Rules, no training.

Kinds of values are told by parsing them; kinds of entities by the words of the relations that meet at them, by the
types that a source gave, and by the shape of names. A question's kind comes from its words. Our own, no paper's; the
words are in ``wording/kinds.toml``.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from operator import itemgetter

from .. import wording
from . import NOT_NOUNS, PREPOSITIONS, singularise

VALUE_KINDS = ("date", "year", "number", "amount", "email", "url", "phone", "yes or no")
_NO_THINGS = ("date", "year", "amount", "yes or no")
"""Values that name neither a person nor a place: a room may be called by a number."""
UNKNOWN = "unknown"
SHARE = 0.8
"""Of the values of an end those that have to parse as a kind. Our own choice."""

_MONTH = (
    "jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sep(tember)?|oct(ober)?|nov(ember)?|dec(ember)?"
)
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.I))
    for kind, pattern in (
        ("email", r"[\w.+-]+@[\w-]+(\.[\w-]+)+"),
        ("url", r"(https?://|www\.)\S+"),
        ("date", r"-?\d{4}-\d\d(-\d\d)?([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?(Z|[+-]\d\d:?\d\d)?"),
        ("date", r"\d{1,2}[./]\d{1,2}[./]\d{2,4}"),
        ("date", rf"\d{{1,2}}\.? (of )?({_MONTH})\.?,? \d{{4}}"),
        ("date", rf"({_MONTH})\.? (\d{{1,2}}(st|nd|rd|th)?,? )?\d{{4}}"),
        ("year", r"1[0-9]\d\d|20\d\d"),
        ("amount", r"[€$£¥] ?\d[\d.,]*( ?(k|m|bn|million|billion))?"),
        ("amount", r"\d[\d.,]* ?(€|\$|£|eur|usd|gbp|euros?|dollars?|pounds?)"),
        ("number", r"[+-]?\d+([.,]\d+)*([eE][+-]?\d+)?( ?(%|[a-zµ°²³/]{1,6}))?"),
        ("phone", r"(\+?\d|\(\d)[\d ()/.-]{5,}\d"),
        ("yes or no", r"true|false|yes|no"),
    )
)
_TYPE_OF_A_THING = re.compile(r"([a-z]+)[ _](?:type|kind|category|class|name)")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def classify_value(text: str) -> str:
    """Return the kind of one value: date, year, number, amount, email, url, phone, yes or no; empty for text."""
    value = text.strip()
    return next((kind for kind, pattern in _PATTERNS if pattern.fullmatch(value)), "")


@cache
def _tables() -> tuple[Mapping[str, str], Mapping[str, str], Mapping[str, str]]:
    data = tomllib.loads(files(wording).joinpath("kinds.toml").read_text(encoding="utf-8"))
    turned = [
        {word: kind for kind, words in data[t].items() for word in words.split()} for t in ("nouns", "tells", "affixes")
    ]
    return turned[0], turned[1], turned[2]


def classify_noun(words: str) -> str:
    """Return the kind that a noun phrase names by its head ("place of birth" is a place); empty where unknown."""
    nouns = _tables()[0]
    found = [word.lower() for word in _WORD.findall(words)]
    head = next((word for word, after in pairwise(found) if after == "of"), "")
    for word in (head, *reversed(found)):
        if kind := nouns.get(word) or nouns.get(singularise(word)):
            return kind
        if len(word) > 5 and word.endswith(("ist", "ian", "ists", "ians")):
            return "person"
    return ""


@dataclass(frozen=True, slots=True)
class RelationEndProfile:
    """What stands at one end of a relation.

    kind: one of `VALUE_KINDS`, a noun such as "person", ``text`` or `UNKNOWN`. share: of what was looked at, that which
    is of the kind. words: what such things are called, by the relations that lead to them and by words that their names
    share.
    """

    kind: str = UNKNOWN
    share: float = 0.0
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        return {"date": "dates", "year": "years", "number": "numbers", "amount": "amounts", "person": "people"}.get(
            self.kind, self.kind if self.kind in (UNKNOWN, "text", "yes or no") else f"{self.kind}s"
        )


NO_KIND = RelationEndProfile()


@dataclass(frozen=True, slots=True)
class RelationEndSample:
    """Some of what stands at one end of a relation: names, how many are values, and the ends that they stand at too.

    others: by signed catalogue number (n: it is a head of relation n, -n: a tail), how many of them.
    """

    names: tuple[str, ...]
    num_values: int
    others: Mapping[int, int]


def _is_tail(end: int) -> bool:
    return end < 0


def _value_end(sample: RelationEndSample, words: str) -> RelationEndProfile | None:
    """Return the kind of an end that has values; None of one that has other things.

    Numbers under a relation whose word is an amount of money are amounts, long numbers under phone are phones.
    """
    names = [name for name in sample.names if name]
    if not names:
        return None
    kinds = Counter(map(classify_value, names))
    if kinds["year"] and kinds["number"]:  # 1,200 among numbers is no year
        kinds["number"] += kinds.pop("year")
    kind, times = max(kinds.items(), key=itemgetter(1))
    said = classify_noun(words)
    if kind and times >= SHARE * len(names):
        if kind in ("number", "year") and said in ("amount", "phone", "number"):
            kind = said
        return RelationEndProfile(kind, times / len(names))
    numeric = sum(times for kind, times in kinds.items() if kind in ("number", "year", "phone", "amount"))
    if numeric >= SHARE * len(names):
        return RelationEndProfile(said if said in ("amount", "phone") else "number", numeric / len(names))
    return (
        RelationEndProfile("text", sample.num_values / len(names)) if sample.num_values >= SHARE * len(names) else None
    )


def classify_relation_ends(
    samples: Mapping[int, RelationEndSample], labels: Mapping[int, str], types: Mapping[int, str]
) -> dict[int, RelationEndProfile]:
    """Return the kind of each end. Keys: catalogue number n for the head's end of a relation, -n for the tail's.

    labels: words of each relation by number; types: the words of the type that a source gave an end, by key.
    An entity's kind has its evidence from the end's own type and words, from its names, and from what else its things
    are.
    """
    values = {end: _value_end(sample, labels[-end] if _is_tail(end) else "") for end, sample in samples.items()}
    own = {end: _find_own_evidence(end, labels, types) for end, kind in values.items() if kind is None}
    found: dict[int, RelationEndProfile] = {}
    for end, sample in samples.items():
        value = values[end]
        if value is not None:
            found[end] = RelationEndProfile(value.kind, value.share, (labels[-end],) if _is_tail(end) else ())
            continue
        votes = Counter(own[end])
        for kind, weight in _find_shapes(sample).items():  # not of the other ends: their things have the same names
            votes[kind] += weight  # type: ignore[assignment]
        size = max(len(sample.names), 1)
        for other, times in sample.others.items():
            if other != end and times >= 0.3 * size:
                for kind, weight in own.get(other, {}).items():
                    votes[kind] += 0.5 * weight * times / size  # type: ignore[assignment]
        total = sum(votes.values())
        best = max(votes, key=lambda kind: (votes[kind], kind), default="")
        is_sure = votes[best] >= 0.6 and votes[best] >= 0.5 * total
        words = _called(end, sample, labels, types, values)
        found[end] = RelationEndProfile(
            best if is_sure else UNKNOWN, round(votes[best] / total, 3) if is_sure else 0.0, words
        )
    return found


def _find_own_evidence(end: int, labels: Mapping[int, str], types: Mapping[int, str]) -> dict[str, float]:
    _, tells, _ = _tables()
    votes: Counter[str] = Counter()
    if kind := classify_noun(types.get(end, "")):
        votes[kind] += 2
    label = labels[abs(end)].lower()
    words = [word.lower() for word in _WORD.findall(label)]
    if _is_tail(end):
        last = words[-1] if words else ""
        if last in ("by", "in"):
            votes["person" if last == "by" else "place"] += 0.4  # type: ignore[assignment]
        elif last not in PREPOSITIONS and (kind := classify_noun(label)):
            votes[kind] += 1
    else:
        for word in dict.fromkeys((*words, *("-".join(pair) for pair in pairwise(words)))):
            if kind := tells.get(word, ""):
                votes[kind] += 0.6  # type: ignore[assignment]
        if (typed := _TYPE_OF_A_THING.fullmatch(label)) and (kind := classify_noun(typed[1])):
            votes[kind] += 1
    return dict(votes)


def _find_shapes(sample: RelationEndSample) -> dict[str, float]:
    affixes = _tables()[2]
    shapes = Counter(_shape(name, affixes) for name in sample.names)
    size = len(sample.names)
    return {kind: 0.5 * times / size for kind, times in shapes.items() if kind and times >= 0.5 * size}


def _shape(name: str, affixes: Mapping[str, str]) -> str:
    """Return what the form of a name tells: two or three capitalised words are a person's more often than not."""
    words = name.split()
    if kind := next((affixes[w.lower().strip(".,")] for w in words[::-1] if w.lower().strip(".,") in affixes), ""):
        return kind
    is_name = 2 <= len(words) <= 3 and all(
        w[:1].isupper() and w[1:].replace("-", "").replace(".", "").isalpha() | (len(w) == 2) for w in words
    )
    is_name = is_name and words[0].lower() not in ("the", "a", "an", "la", "el", "der", "die", "das", "le")
    return "person" if is_name else ""


def _called(
    end: int,
    sample: RelationEndSample,
    labels: Mapping[int, str],
    types: Mapping[int, str],
    values: Mapping[int, RelationEndProfile | None],
) -> tuple[str, ...]:
    """Return words for what stands at an end: its type ("ship" of what has a ship type), the relations that lead there,
    a word that its names share."""
    size = len(sample.names)
    called = [types[end]] if types.get(end) else []
    called += [labels[-end]] if _is_tail(end) else []
    common = sorted((-times, other) for other, times in sample.others.items() if times >= 0.3 * size)
    heads = [labels[other].lower() for _, other in common if not _is_tail(other)]
    called += [found[1] for label in heads if (found := _TYPE_OF_A_THING.fullmatch(label))]
    called += [labels[-other] for _, other in common if _is_tail(other) and values.get(other) is None]
    last = Counter(
        word.lower()
        for name in sample.names
        for words in [name.split()]
        if len(words) > 1
        for word in {words[0], words[-1]}
    )
    called += [word for word, times in last.most_common(2) if times >= max(2, 0.3 * size) and word.isalpha()]
    return tuple(dict.fromkeys(called))[:6]


# What a question asks for

_DATE_WORDS = r"\b(what|which) (date|day|month)\b|\bwhat time\b|^(since |until |till |by |from )?when\b|\bbirthday\b"
_MEASURES = "long|tall|heavy|high|far|big|large|small|fast|slow|wide|deep|hot|cold|warm|strong|thick|loud"
_RULES: tuple[tuple[re.Pattern[str], tuple[str, ...], str], ...] = tuple(
    (re.compile(pattern, re.I), tuple(kinds.split()), said)
    for pattern, kinds, said in (
        (r"\be-?mails?\b|\bmail address", "email", "an e-mail address"),
        (r"\b(web ?(site|page|address)s?|home ?page|url)\b", "url", "a web address"),
        (r"\b(tele)?phone\b|\bnumber\b.*\b(call|dial|ring|reach)\b|\bfax\b", "phone", "a phone number"),
        (r"\bhow (do|can|could|should) (i|we|you) (contact|reach)\b", "email phone url", "a way to write or call"),
        (r"\b(what|which) (year|decade)\b", "year date", "a year"),
        (rf"{_DATE_WORDS}|\bwhen (was|were|is|are|did|does|do|will|has|had)\b", "date year", "a date"),
        (r"\bhow (old|recent|new|young)\b", "date year number", "a date"),
        (rf"\bhow ({_MEASURES})\b", "number", "a number"),
        (
            r"\bhow (much|expensive|cheap)\b|\b(what|which) .*\b(cost|price|salary|budget|fee)\b",
            "amount number",
            "an amount",
        ),
        (r"\bhow many\b", "number", "a number"),
        (r"\b(who|whom|whose)\b", "person organisation", "a person"),
        (r"\bwhere\b", "place organisation", "a place"),
    )
)
_FIRST = 6
"""The rules that hold wherever their words stand; of the others that whose words stand first."""
_NOUN = re.compile(r"\b(?:what|which)(?:'s| is| are| was| were)?(?: the| a| an)?((?: [\w-]+){1,3})", re.I)


@dataclass(frozen=True, slots=True)
class WantedKind:
    """The kind of thing that a question asks for: any of `kinds`, best first; none where its words do not tell."""

    kinds: tuple[str, ...] = ()
    said: str = ""
    """In words: "a date"."""


@cache
def find_wanted_kind(question: str) -> WantedKind:
    """Return what kind of thing a question asks for, by the first rule that fits: its question word, or its noun."""
    for pattern, kinds, said in _RULES[:_FIRST]:
        if pattern.search(question):
            return WantedKind(kinds, said)
    if not re.match(r"\W*(who|whom|whose|where|how)\b", question, re.I) and (found := _NOUN.search(question)):
        words = [word for word in found[1].lower().split() if word not in NOT_NOUNS]
        for word in words[:2]:
            if kind := classify_noun(word):
                article = "" if singularise(word) != word else "an " if word[:1] in "aeiou" else "a "
                return WantedKind(_alike(kind), f"{article}{word}")
    fits = [
        (found.start(), at)
        for at, (pattern, *_) in enumerate(_RULES[_FIRST:], start=_FIRST)
        if (found := pattern.search(question))
    ]
    return WantedKind(*_RULES[min(fits)[1]][1:]) if fits else WantedKind()


def find_which_noun(question: str) -> tuple[int, int] | None:
    """Return where the noun after "which" or "what" stands in a question: its first character, and the one after."""
    if found := _NOUN.search(question):
        for word in re.compile(r"[\w-]+").finditer(question, *found.span(1)):
            if word[0].lower() not in NOT_NOUNS:
                return word.span()
    return None


def _alike(kind: str) -> tuple[str, ...]:
    """Return kinds that go for one another: a city hosts what is an organisation to others."""
    pairs = {"date": "year", "amount": "number", "place": "organisation"}
    other = pairs.get(kind) or {two: one for one, two in pairs.items()}.get(kind)
    return (kind, other) if other else (kind,)


def score_kind_agreement(asked: WantedKind, end: RelationEndProfile) -> float:
    """Return how well what a path leads to is of the kind that is asked for, −1 to 1; 0 where either is unknown, and
    −3 for a date, an amount or yes where a person or a place is asked for, which none can be."""
    if not asked.kinds or end.kind == UNKNOWN:
        return 0.0
    if end.kind in _NO_THINGS and asked.kinds[0] in ("person", "place"):
        return -3.0
    if end.kind in asked.kinds:
        return 1.0 if end.kind == asked.kinds[0] or end.kind in VALUE_KINDS else 0.6
    if end.kind in VALUE_KINDS or asked.kinds[0] in VALUE_KINDS:
        return -1.0
    return -0.3 if end.kind == "text" else -0.6 * end.share
