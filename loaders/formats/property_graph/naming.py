"""Guess which property names the nodes with a label.

What a property is called comes first, then how many nodes have it and how much its values differ. A property called
`name` or `title` needs no distinct values, as people and films share theirs; one that only ends so does.
"""

from __future__ import annotations

import re

from ....engine.neo4j.property_graph import PropertySample
from .survey import LabelFacts

NAMES = ("name", "title", "label", "preflabel", "fullname", "displayname", "caption", "headline", "heading")
"""What properties that name a thing are called, the clearest first; case, `_`, `-` and blanks do not count."""
CODES = ("username", "login", "code", "symbol", "isocode", "key", "slug")
"""What names a thing where nothing better does, if its values differ."""
TOGETHER = (("firstname", "lastname"), ("givenname", "familyname"), ("forename", "surname"))
"""What names people in two properties."""
ALIASES = ("alias", "aliases", "altlabel", "altlabels", "alternatename", "alternatenames", "nickname", "nicknames",
           "synonym", "synonyms", "alsoknownas", "aka")  # fmt: skip

LEAST_COVERAGE = 0.5
"""The least share of a label's nodes that have a name."""
LEAST_DISTINCT = 0.5
"""The least share of values that differ where only the end of a property's name speaks for it."""
MOST_CHARS = 120
"""The longest mean of texts that are names."""


def fold(key: str) -> str:
    """Return a property's name in lower case without separators."""
    return re.sub(r"[\s_\-.:]+", "", key).lower()


def guess_names(label: str, facts: LabelFacts) -> list[tuple[str, ...]]:
    """Return the properties that could name the nodes with a label, the likeliest first, some in several parts."""
    folded: dict[str, str] = {}
    for key in sorted(facts.keys, reverse=True):
        folded[fold(key)] = key  # of several that fold to one, the first
    found: dict[tuple[str, ...], tuple[int, int]] = {}
    for key in folded.values():
        if (rank := _rank(label, key, facts)) is not None:
            found[key,] = rank
    for parts in TOGETHER:
        keys = tuple(folded[part] for part in parts if part in folded)
        if len(keys) == len(parts) and all(_is_covered(key, facts) for key in keys):
            found[keys] = (0, 1)  # what only people have: their title is no name
    return sorted(found, key=lambda keys: (found[keys], keys))


def guess_aliases(facts: LabelFacts) -> tuple[str, ...]:
    """Return the properties that hold further names."""
    return tuple(key for key in sorted(facts.keys) if fold(key) in ALIASES)


def is_key(label: str, key: str, facts: LabelFacts) -> bool:
    """Return whether a property is a key of the database and says nothing else: `id`, or LABEL`Id`, with numbers that
    all differ."""
    sample = facts.samples.get(key)
    is_number = sample is not None and sample.type.startswith("INTEGER") and sample.num_distinct == sample.num
    return is_number and fold(key) in ("id", f"{fold(label)}id")


def _rank(label: str, key: str, facts: LabelFacts) -> tuple[int, int] | None:
    """Return a rank, lower is better; None for what is no name."""
    plain, sample = fold(key), facts.samples.get(key)
    if not _is_covered(key, facts) or not _may_name(sample) or plain in ALIASES:
        return None
    if plain in NAMES:
        return 0, 2 * NAMES.index(plain)
    distinct = sample.num_distinct / sample.num if sample else 0.0
    if plain in (f"{fold(label)}name", f"{fold(label)}title"):
        return 0, 2 * len(NAMES)
    in_parts = any(plain in parts for parts in TOGETHER)
    if distinct >= LEAST_DISTINCT and plain.endswith(("name", "title")) and not in_parts:
        return (1, 0) if plain not in CODES else (2, CODES.index(plain))
    if distinct >= LEAST_DISTINCT and plain in CODES:
        return 2, CODES.index(plain)
    return None


def _is_covered(key: str, facts: LabelFacts) -> bool:
    return facts.keys[key] >= LEAST_COVERAGE * facts.num


def _may_name(sample: PropertySample | None) -> bool:
    """Return whether values are such as names are: texts, numbers or lists of texts; True where none were seen."""
    if sample is None:
        return True
    named = sample.type.startswith(("STRING", "INTEGER", "LIST<STRING"))
    return named and sample.num_chars <= MOST_CHARS
