"""Write a path, or two that meet, as a question in plain English."""

from __future__ import annotations

import random
from collections.abc import Sequence

from .english import Kind, plural, property_of, singular
from .phrases import HopPhraseSet, HopWording, phrases_of, wh_word

OTHER_WORDS = 0.4
"""How often a relation goes by other words than its own, where it has some."""
CLAUSE = 0.5
"""How often the last hop is asked as a clause ("who directed …"), not as a noun phrase ("who is the director of …")."""

_FRAMES = (
    "{wh} is {np}", "{wh} is {np}", "{wh} are {np}", "what is {np}", "what are {np}", "{wh} was {np}", "name {np}",
    "list {np}", "tell me {np}", "find {np}", "give me {np}", "can you tell me {np}", "i would like to know {np}",
    "do you know {np}", "which is {np}", "show me {np}", "what was {np}", "{np}", "{np}", "{wh} would be {np}",
)  # fmt: skip
_BEFORE = ("", "", "", "", "", "", "", "", "tell me ", "do you know ", "please say ", "can you say ", "i wonder ")


def question_of(path: Sequence[HopWording], topic: str, chance: random.Random) -> str:
    """Return a question for what a path leads to from a topic of this name."""
    phrase, rest = _beginning(path, topic, chance)
    for hop in rest[:-1]:
        phrase = _fill_template(_noun(phrases_of(hop), chance), phrase)
    if not rest:
        back = path[1]
        return _finish_text(_frame_phrase(phrase, phrases_of(back).kind, back, chance), topic, chance)
    last = phrases_of(rest[-1])
    if _happens(CLAUSE, chance):
        return _finish_text(chance.choice(_BEFORE) + _fill_template(_ask(last, chance), phrase), topic, chance)
    phrase = _fill_template(_noun(last, chance), phrase)
    return _finish_text(_frame_phrase(phrase, last.kind, rest[-1], chance), topic, chance)


def joint_question(
    paths: tuple[Sequence[HopWording], Sequence[HopWording]], topics: tuple[str, str], chance: random.Random
) -> str:
    """Return a question for what two paths from two topics have in common."""
    reached = next((hop.reached[0] for hop in (paths[0][-1], paths[1][-1]) if hop.reached), "")
    parts = []
    for path, topic in zip(paths, topics, strict=True):
        phrase = topic
        for hop in path[:-1]:
            phrase = _fill_template(_noun(phrases_of(hop), chance), phrase)
        parts.append(_fill_template(_noun(phrases_of(path[-1]), chance), phrase))
    one, two = (part.removeprefix("the ") for part in parts)
    kind = phrases_of(paths[0][-1]).kind
    wh = wh_word(kind) if kind != "number" else "what"
    text = chance.choice(
        (
            f"{wh} is both the {one} and the {two}",
            f"{wh} is the {one} and the {two}",
            f"which {reached or 'one'} is the {one} and also the {two}",
            f"the {one} who is also the {two}",
            f"of the {one}, which are the {two}",
            f"name the {one} that is the {two}",
            f"which of the {one} is the {two}",
        )
    )
    return _finish_text(text, topics[0], chance)


def _beginning(path: Sequence[HopWording], topic: str, chance: random.Random) -> tuple[str, Sequence[HopWording]]:
    """Return the noun phrase of the first hops where they go there and back, else the topic, and the hops left."""
    if len(path) > 1 and _way_back(path[0], path[1]):
        noun = singular(property_of(path[0].properties[-1]).noun)
        what = (path[1].reached or ("thing",))[0]
        many = plural(what)
        if path[0].inverse:
            between = plural((path[0].reached or ("thing",))[0])
            forms = (f"the other {plural(noun)} of {topic}'s {between}", f"the {plural(noun)} beside {topic}",
                     f"the {plural(noun)} who share {between} with {topic}", f"{topic}'s fellow {plural(noun)}",
                     f"the {plural(noun)} of the same {between} as {topic}")  # fmt: skip
        else:
            forms = (f"the {many} with the same {noun} as {topic}", f"the other {many} of {topic}'s {noun}",
                     f"the {many} that share {topic}'s {noun}", f"{many} that have the {noun} of {topic}",
                     f"the {many} sharing a {noun} with {topic}")  # fmt: skip
        return chance.choice(forms), path[2:]
    return topic, path


def _way_back(one: HopWording, two: HopWording) -> bool:
    return one.properties == tuple(reversed(two.properties)) and one.inverse != two.inverse


def _noun(phrases: HopPhraseSet, chance: random.Random) -> str:
    return _draw_form(phrases.nouns, phrases.own[0], phrases.others, chance)


def _ask(phrases: HopPhraseSet, chance: random.Random) -> str:
    return _draw_form(phrases.asks, phrases.own[1], phrases.others, chance)


def _draw_form(forms: Sequence[str], own: int, others_only: bool, chance: random.Random) -> str:
    others = forms[own:]
    return chance.choice(others if others and (_happens(OTHER_WORDS, chance) or others_only) else forms[:own])


def _frame_phrase(phrase: str, kind: Kind, hop: HopWording, chance: random.Random) -> str:
    """Return a question for a noun phrase."""
    if hop.reached and _happens(0.2, chance):
        type_ = chance.choice(hop.reached)
        return chance.choice((f"which {type_} is {phrase}", f"what {type_} is {phrase}", f"{phrase}, which {type_}"))
    wh = "what" if kind == "number" else wh_word(kind)
    return chance.choice(_FRAMES).replace("{wh}", wh).replace("{np}", phrase)


def _fill_template(template: str, phrase: str) -> str:
    return template.replace("{x}", phrase)


def _finish_text(text: str, topic: str, chance: random.Random) -> str:
    """Return the text as somebody types it: with a capital or without, with a question mark or without."""
    text = " ".join(text.split())
    (style,) = chance.choices(("small", "capital", "as it is"), (0.35, 0.45, 0.2))
    if style == "small":
        text = text.lower()
    elif style == "capital" and not text.startswith(topic):
        text = text[:1].upper() + text[1:]
    return text + ("?" if _happens(0.6, chance) else "")


def _happens(share: float, chance: random.Random) -> bool:
    return chance.random() < share
