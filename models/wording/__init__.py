"""Fold spellings, list English words by what they do in a question or a name, and inflect them.

The lists differ because what they are for does: the weights of linking and of `similarity` were fitted with theirs.
Inflection is by rules of thumb, our own; words of another language, numbers and addresses are taken as they are.
Operators (not, more than, before, how many) are a closed list, ``operators.toml``: an answer that used none of
those in its question was not understood (`engine.plans.unused_words`).
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

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

INDEX_STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this"
    " to was will with".split()
)
"""Words that the index of names leaves out."""

ARTICLES = frozenset({"a", "an", "the"})
"""What answers are compared without (SQuAD's normalisation)."""

DETERMINERS = ARTICLES | frozenset("its his her their".split())
"""What a noun follows (operator words)."""

PREPOSITIONS = frozenset("in on at from to for with by of into about under over against as".split())
"""What a relation's label ends or begins with where it is half a sentence."""

AUXILIARIES = frozenset("is are was were do does did has have had".split())

CLAUSE_WORDS = AUXILIARIES | frozenset(
    "in of from at on by within through near under after before that which who with can border speak use we you they he"
    " she i it".split()
)
"""Where the noun phrase that a question asks for ends (operator words)."""

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

_IRREGULAR = {
    "born": "bear", "written": "write", "wrote": "write", "made": "make", "built": "build", "won": "win",
    "led": "lead", "held": "hold", "sung": "sing", "sang": "sing", "drawn": "draw", "known": "know", "taught": "teach",
    "spoken": "speak", "sold": "sell", "bought": "buy", "found": "find", "given": "give", "taken": "take",
    "driven": "drive", "eaten": "eat", "grown": "grow", "left": "leave", "met": "meet", "paid": "pay", "run": "run",
    "seen": "see", "sent": "send", "shot": "shoot", "worn": "wear", "begun": "begin", "kept": "keep", "set": "set",
    "told": "tell", "thrown": "throw", "split": "split", "chosen": "choose", "broken": "break", "hidden": "hide",
    "created": "create",
}  # fmt: skip
_PAST = frozenset(
    "won got took went came became had began gave ran sat stood spoke fell rose left met fought lost".split()
)
_VERBS = frozenset(
    "contains borders owns produces includes speaks manages leads employs teaches works lives belongs plays shares "
    "reports uses requires depends supplies makes sells buys causes treats knows manufactures represents governs "
    "follows precedes succeeds directs writes stars adjoins consists develops supports runs studies attends hosts "
    "operates sponsors connects links joins inhibits activates binds regulates interacts affects covers".split()
)


_UNMARKED = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ħ": "h", "ı": "i"}
    | dict.fromkeys("‘’ʼʻ", "'")
)
"""What Unicode does not decompose, as the index of names has it; and apostrophes."""


def fold_name(text: str) -> str:
    """Return the text as names are compared: no accents, vowel points or joiners, no case, underscores opened."""
    if text.isascii():
        return text.replace("_", " ").lower()
    decomposed = unicodedata.normalize("NFKD", text.replace("_", " "))
    plain = "".join(c for c in decomposed if not (unicodedata.combining(c) or unicodedata.category(c) == "Cf"))
    return unicodedata.normalize("NFC", plain.casefold().translate(_UNMARKED))


LETTER_FOR_MARK = "\u02d1"


def replace_combining_marks(text: str) -> str:
    """Return the text with a letter in the place of each mark and joiner, which Python's `\\w` does not match."""
    if text.isascii():
        return text
    return "".join(LETTER_FOR_MARK if unicodedata.category(c) in ("Mn", "Mc", "Me", "Cf") else c for c in text)


def strip_marks(text: str) -> str:
    """Return the text without marks of any kind, dependent vowels among them, as DuckDB's `strip_accents` does."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if not unicodedata.category(c).startswith("M")))


def casefold_nfkc(text: str) -> str:
    """Return what is equal where two texts differ in case or compatible characters alone: NFKC, case-folded, NFKC."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def normalise_question(text: str) -> str:
    """Return a question's words in lower case, which are equal for two versions of the same question."""
    return re.sub(r"\W+", " ", text.lower()).strip()


def is_verb(word: str) -> bool:
    """Return whether a word in small letters is a verb of the third person, or of the past, that the rules know."""
    return word in _VERBS or word in _PAST or _is_participle(word)


_IRREGULAR_PLURALS = {
    "children": "child", "people": "person", "series": "series", "species": "species", "movies": "movie",
    "cookies": "cookie", "calories": "calorie", "rookies": "rookie", "brownies": "brownie", "buses": "bus",
}  # fmt: skip
_PLURALS = tuple(_IRREGULAR_PLURALS)


def singularise(word: str) -> str:
    """Return the last word of a text in the singular, where the rules of thumb know one."""
    if word.endswith(_PLURALS):
        return next(word.removesuffix(each) + one for each, one in _IRREGULAR_PLURALS.items() if word.endswith(each))
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is", "news")):
        return word[:-1]
    return word


def pluralise(word: str) -> str:
    """Return a noun phrase in the plural; one that is in the plural stays. "place of birth" is "places of birth"."""
    for particle in (" of ", " in ", " for ", " with "):
        head, found, rest = word.partition(particle)
        if found:
            return f"{pluralise(head)}{found}{rest}"
    if singularise(word) != word:
        return word
    for several, one in _IRREGULAR_PLURALS.items():
        if word.endswith(one):
            return word.removesuffix(one) + several
    if word.endswith(("man", "woman")) and not word.endswith("human"):
        return f"{word[:-2]}en"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"


def find_verb_base(verb: str) -> str:
    """Return the base form of a verb in the third person or the past."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("ied"):
        return verb[:-1] if len(verb) == len("died") else f"{verb[:-3]}y"
    if verb.endswith("ed"):
        stem = verb[:-2]
        if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "sl":
            return stem[:-1]
        return f"{stem}e" if _wants_e(stem) else stem
    return singularise(verb)


def make_question(relation: str, name: str) -> tuple[str, bool] | None:
    """Return a question for what a relation leads to from the thing with this name, and whether it is asked by a noun.

    relation: its words. Returns None where they make no question.
    """
    words = relation.removeprefix("has ")
    first, *rest = words.split() or [""]
    if first in AUXILIARIES and rest:
        return f"What {first} {name} {' '.join(rest)}?", False
    if words.split()[-1:] and words.split()[-1] in PREPOSITIONS:
        return f"What is {name} {words}?", False
    if is_verb(first):
        form = "does" if first.endswith("s") else "did"
        return " ".join(["What", form, name, find_verb_base(first), *rest]) + "?", False
    if first in PREPOSITIONS or not first:
        return None
    is_noun = not is_verb(words.split()[-1]) and all(singularise(word) == word for word in words.split()[:-1])
    return f"What {'is' if singularise(words) == words else 'are'} the {words} of {name}?", is_noun


def _wants_e(stem: str) -> bool:
    endings = ("at", "uc", "uk", "os", "ag", "iz", "is", "ar", "ir", "or", "ur", "ov", "iv", "ut", "as", "us", "c", "v")
    return stem.endswith(endings) and not stem.endswith(("bord", "rd", "eat", "oat", "uct"))


def _is_participle(word: str) -> bool:
    return word in _IRREGULAR or (word.endswith("ed") and len(word) > 3 and word not in {"need", "speed", "breed"})


Kind = Literal["person", "place", "time", "number", "thing"]


@dataclass(frozen=True, slots=True)
class _Entry:
    """Other words of a relation: nouns, questions in both directions, noun phrases for what leads to the topic."""

    nouns: tuple[str, ...]
    asks: tuple[str, ...]
    inverse: tuple[str, ...]
    back: tuple[str, ...]


NOTHING = _Entry((), (), (), ())


@dataclass(frozen=True, slots=True)
class _Lexicon:
    """kinds: of words. relations: entries by a property's text. contrasts: pairs of words that exclude each other."""

    kinds: Mapping[str, Kind]
    relations: Mapping[str, _Entry]
    contrasts: Sequence[tuple[str, str]]

    def entry(self, text: str) -> _Entry:
        """Return the entry of a property: of its text, of its last two words, or of its last word alone."""
        words = text.lower().split()
        for tail in (words, words[-2:], words[-1:]):
            for form in (" ".join(tail), singularise(" ".join(tail))):
                if form in self.relations:
                    return self.relations[form]
        return NOTHING


@cache
def read_lexicon() -> _Lexicon:
    data: dict[str, Any] = tomllib.loads(files(__name__).joinpath("lexicon.toml").read_text(encoding="utf-8"))
    relations = {
        name: _Entry(*(tuple(entry.get(field, ())) for field in ("nouns", "asks", "inverse", "back")))
        for entry in data["relations"]
        for name in entry["of"]
    }
    kinds: dict[str, Kind] = {word: kind for kind, words in data["kinds"].items() for word in words.split()}
    return _Lexicon(kinds, relations, [(one, other) for one, other in data["contrasts"]["pairs"]])


@cache
def list_lexicon_phrases(label: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return phrases for what a relation of this label leads to, and for what leads to it by the relation.

    Nouns as they are; questions without their topic: "when was {x} born" is "when was born".
    """
    meant = translate_label(label)
    entry = read_lexicon().entry(meant or label)
    if entry is NOTHING:
        return (meant,) if meant else (), ()
    forward = (meant, *entry.nouns, *map(_bare_phrase, entry.asks))
    inverse = (*map(_bare_phrase, entry.back), *map(_bare_phrase, entry.inverse))
    own = label.lower()
    return tuple(p for p in dict.fromkeys(forward) if p and p != own), tuple(p for p in dict.fromkeys(inverse) if p)


@cache
def translate_label(label: str) -> str:
    """Return what a label of another language means, word by word; empty for one that is not wholly known or is
    English.

    A noun that another follows by "of" stays in its place: "fecha de nacimiento" is "date of birth".
    """
    words = [fold_name(word) for word in label.split()]
    known = _foreign()
    if not words or any(word not in known for word in words):
        return ""
    meant = " ".join(known[word] for word in words)
    return "" if meant == label.lower() else meant


@cache
def _foreign() -> Mapping[str, str]:
    text = files(__name__).joinpath("languages.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["words"]


def _bare_phrase(template: str) -> str:
    """Return a template without the places of topic and type."""
    return " ".join(template.replace("{x}'s", " ").replace("{x}", " ").replace("{t}", "").split())


MAX_INITIALS = 6

_BREAK = re.compile(r"[\x00-&(-/:-@\[-`{-\x7f]+")
_BEFORE_BRACKET = re.compile(r"[^(,]*")


def find_initials(name: str) -> tuple[str, ...]:
    """Return the initials of a search name: of all its words, and of those before its first article or preposition.

    Text after a bracket or a comma does not count. Names have initials if they have two to six words that begin with an
    ASCII letter or digit, the first with a letter.
    """
    before = _BEFORE_BRACKET.match(name)
    words = [word for word in _BREAK.split(before.group() if before else "") if word]
    first_small = next((at for at, word in enumerate(words) if word in SMALL_WORDS), len(words))
    both = (_join_initials([word for word in words if word not in SMALL_WORDS]), _join_initials(words[:first_small]))
    return tuple(dict.fromkeys(filter(None, both)))


_CAMEL = re.compile(r"[A-Z][a-z]+(?:[A-Z][a-z]{2,})+")
_DOTTED = re.compile(r"\b([A-Za-z])\.([A-Za-z])\.", re.ASCII)


def find_other_spellings(name: str) -> tuple[str, ...]:
    """Return how a search name is also written, where the index would not find it: A.I. as AI, Ἀθῆναι as Αθηναι, The
    The as the_the_, TokenArcade as Token Arcade.

    The index folds Latin letters alone, and leaves stop words out. The stage's macro `other_spellings` has the same
    rules.
    """
    plain = strip_marks(name)
    found = [plain] if plain != name and any(c > "\u024f" for c in plain) else []
    if (undotted := _DOTTED.sub(r"\1\2", name)) != name:
        found.append(undotted)
    words = name.lower().split(" ")
    if INDEX_STOP_WORDS.issuperset(words):
        found.append(join_words_with_underscores(words))
    if _CAMEL.fullmatch(name):
        found.append(re.sub(r"([a-z])([A-Z])", r"\1 \2", name))
    return tuple(found)


def join_words_with_underscores(words: Sequence[str]) -> str:
    return "".join(f"{word}_" for word in words)


def _join_initials(words: list[str]) -> str:
    firsts = "".join(word[0] for word in words)
    fits = 2 <= len(words) <= MAX_INITIALS and firsts.isascii() and firsts.isalnum() and firsts[0].isalpha()
    return firsts.upper() if fits else ""


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
    data = tomllib.loads(files(__name__).joinpath("operators.toml").read_text(encoding="utf-8"))
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
