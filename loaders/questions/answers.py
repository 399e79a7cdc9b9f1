"""Right answers as sets over Freebase write them: the id of an entity with a name, or a literal in its place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from ...engine.questions.gold import GoldAnswer
from ..formats.freebase.ids import FREEBASE_ID

_MAX_SHARED = 1 << 17
_ENTITY = re.compile(rf":?({FREEBASE_ID})")


def entity_id(text: str) -> str | None:
    """Return the id that the text is, without the colon that some files put before it; None for other text."""
    match = _ENTITY.fullmatch(text.strip())
    return match[1] if match else None


def freebase_answers(written: Iterable[tuple[str, Iterable[str]]]) -> tuple[GoldAnswer, ...]:
    """Return the answers written as (id or literal, names), as `distinct_answers` does.

    What is no id is a literal, of which the text is a name; a name that is an id says nothing. A pair without any text
    is no answer.
    """
    found = []
    for argument, names in written:
        entity = entity_id(argument)
        texts = [name for name in names if name and entity_id(name) is None]
        if entity is None and argument:
            texts.insert(0, argument)
        if entity or texts:
            found.append(GoldAnswer(entity, distinct_texts(texts)))
    return distinct_answers(found)


@lru_cache(_MAX_SHARED)
def name_answer(name: str) -> GoldAnswer:
    """Return the answer whose id is its name; one object for many questions, of which a set has millions."""
    return GoldAnswer(name, (name,))


def distinct_answers(answers: Iterable[GoldAnswer]) -> tuple[GoldAnswer, ...]:
    """Return each answer once, in order: those of one id are one, with the names of all."""
    names: dict[str | tuple[str, ...], dict[str, None]] = {}
    for answer in answers:
        names.setdefault(answer.id or answer.names, {}).update(dict.fromkeys(answer.names))
    return tuple(GoldAnswer(key if isinstance(key, str) else None, tuple(found)) for key, found in names.items())


def distinct_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return each text once, in order, and no empty one."""
    return tuple(dict.fromkeys(filter(None, texts)))
