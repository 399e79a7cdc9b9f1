"""What a reader is given of a question: its text and the triples, verbalised, with where each entity is mentioned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

ARROW, END = "→", ";"
UNNAMED_TEXT = "?"
"""What is written for an entity without a name, which nobody can point at."""

MAX_TEXT = 64
"""Tokens of a name or a relation."""

Tokenise = Callable[[str], list[int]]
"""The ids of a text's tokens, without those a tokenizer adds."""


@dataclass(frozen=True, slots=True)
class Passage:
    """triples: head, relation and tail, heads and tails as places in `names`. candidates: places in `names` of what may
    be pointed at."""

    question: str
    names: tuple[str | None, ...]
    triples: tuple[tuple[int, str, int], ...]
    candidates: tuple[int, ...]


@dataclass(slots=True)
class Written:
    """The ids of a passage without the graph token, which stands after the first. mentions: candidate (its place in the
    passage's `candidates`), first token and the one after the last."""

    ids: list[int] = field(default_factory=list)
    mentions: list[tuple[int, int, int]] = field(default_factory=list)


def written(
    passage: Passage,
    tokenise: Tokenise,
    begin: int,
    separate: int,
    max_tokens: int,
    *,
    has_text: bool,
    after: str = "",
) -> Written:
    """Return a passage as tokens: [begin] question [separate] head → relation → tail ; … [separate].

    Triples come in their order, as many as fit whole. Without text the names of the candidates alone, ours: a reader
    that points needs something to point at. after: what is read between question and triples, as an option; of a
    question that is too long its end, where it says what is asked for. Of a name `MAX_TEXT` tokens.
    """
    place = {name: number for number, name in enumerate(passage.candidates)}
    added = [*tokenise(after)[: max_tokens // 4], separate] if after else []
    asked = tokenise(passage.question)
    most = max_tokens // 2 if has_text or passage.candidates else max_tokens - 2 - len(added)
    found = Written([begin, *asked[-most:], separate, *added])
    rows: Sequence[Sequence[int | str]] = (
        [(head, ARROW, relation, ARROW, tail, END) for head, relation, tail in passage.triples]
        if has_text
        else [(candidate, END) for candidate in passage.candidates]
    )
    for row in rows:
        ids: list[int] = []
        mentions: list[tuple[int, int, int]] = []
        for part in row:
            text = (passage.names[part] or UNNAMED_TEXT) if isinstance(part, int) else part
            tokens = tokenise(text)[:MAX_TEXT]
            start = len(found.ids) + len(ids)
            ids += tokens
            if isinstance(part, int) and part in place and tokens:
                mentions.append((place[part], start, start + len(tokens)))
        if len(found.ids) + len(ids) + 1 > max_tokens:
            break
        found.ids += ids
        found.mentions += mentions
    found.ids.append(separate)
    return found
