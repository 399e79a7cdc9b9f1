"""Ask a language model for the phrases by which people ask for relations, within a budget; filter and keep them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...models.text.vectors import TextVectors
from ..errors import InputError, LLMError
from ..llm.gateway import ChatGateway
from ..llm.prompts import Prompt
from ..neo4j.catalogue import Catalogue, Phrase, RelationInfo
from ..neo4j.gateway import Gateway
from ..neo4j.templates import Request, Row, template
from ..progress import Progress, ignore_progress
from ..settings import Settings
from .describing import RelationDescription, check_text
from .kinds import AMONG

REPLIES = "phrases.sqlite"
"""Replies are kept in this file of the home folder where the settings name no other."""
SAMPLES = 3
MOST = 6
"""Phrases of a relation and direction that are taken."""
MAX_WORDS = 9
NEARER = 0.05
"""By how much a phrase's cosine to another relation may be more than to its own. Our own choice."""
_SYSTEM = (
    "You name relations of a knowledge graph in the words that ordinary people use when they ask. You reply with one "
    'JSON object: {"tail": [short phrases that ask for what the arrow points at], "head": [short phrases that ask for '
    'where it starts]}. Four phrases each, of two to six words, lower case, without names. For "book --author--> '
    'person" that is {"tail": ["who wrote", "the writer of", "who is it by", "whose book is"], "head": ["what did they '
    'write", "books by", "works of", "which books has written"]}.'
)


def phrases_by_llm(
    gateway: Gateway,
    catalogue: Catalogue,
    settings: Settings,
    vectors: TextVectors,
    *,
    progress: Progress = ignore_progress,
    chat: ChatGateway | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> tuple[dict[str, RelationDescription], Counter[str]]:
    """Return phrases for the relations that have none of a language model yet, and why others were left out.

    Left out is what names an entity of the samples, has markup, is too long, or is nearer to another relation's words
    than
    to its own. The budget is the settings' (`llm_max_calls`, `llm_max_tokens`). Raises `LLMError` where no model is
    configured or nothing at all was answered.
    """
    wanted = [r for r in catalogue.relations if not any(p.origin == "llm" for p in r.phrases)]
    own = chat is None
    model = chat or ChatGateway.of(replace(settings, llm_cache=settings.llm_cache or str(settings.home_dir / REPLIES)))
    samples = {relation.name: _samples(gateway, relation) for relation in wanted}
    found: dict[str, RelationDescription] = {}
    reasons: Counter[str] = Counter()
    failure: LLMError | None = None
    try:
        for start in range(0, len(wanted), 8):
            some = wanted[start : start + 8]
            completed = model.complete([_prompt(relation, samples[relation.name]) for relation in some])
            for relation, said in zip(some, completed, strict=True):
                if isinstance(said, LLMError):
                    failure = said
                    reasons["relations not answered"] += 1
                    continue
                texts = _texts(said.content)
                if texts is None:
                    reasons["replies that could not be read"] += 1
                    continue
                names = {name for row in samples[relation.name] for name in row if name}
                found[relation.name] = RelationDescription(phrases=_fit(relation, texts, names, reasons))
            progress("asking", min(start + 8, len(wanted)), len(wanted))
        spent = f"{model.usage.calls:,} calls, {model.usage.cached:,} from the cache"
        say(f"{len(found):,} of {len(wanted):,} relations by {model.endpoint.model} ({spent})")
    finally:
        if own:
            model.close()
    if failure is not None and not found:
        raise failure
    return _of_their_own(found, catalogue, vectors, reasons), reasons


def _samples(gateway: Gateway, relation: RelationInfo) -> list[tuple[str, str]]:
    rows: Sequence[Row] = gateway.fetch(
        Request(
            template("sample_relation"),
            {"limit": SAMPLES, "relation": relation.name, "max_relations": 0, "among": AMONG},
            lambda rows: rows,
            {"RELATION": relation.stored_as or relation.name},
        )
    )
    return [(row[0], row[2]) for row in rows]


def _prompt(relation: RelationInfo, samples: Sequence[tuple[str, str]]) -> Prompt:
    head = relation.domain or relation.head.kind
    tail = relation.range or relation.tail.kind
    lines = [f"{head} --{relation.shown_label}--> {tail}"]
    lines += [f"description: {relation.description}"] if relation.description else []
    lines += [
        f"example: {h[:60] or '(unnamed)'} --{relation.shown_label}--> {t[:60] or '(unnamed)'}" for h, t in samples
    ]
    return Prompt(
        _SYSTEM + "\n\n" + "\n".join(lines), json=True, max_tokens=220, is_read=lambda said: _texts(said) is not None
    )


def _texts(content: str) -> dict[str, list[str]] | None:
    try:
        data = json.loads(content[content.index("{") : content.rindex("}") + 1])
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, Mapping):
        return None
    texts = {
        way: [text for text in data.get(way, []) if isinstance(text, str)]
        for way in ("tail", "head")
        if isinstance(data.get(way, []), list)
    }
    return texts if any(texts.values()) else None


def _fit(
    relation: RelationInfo, texts: Mapping[str, Sequence[str]], names: set[str], reasons: Counter[str]
) -> tuple[Phrase, ...]:
    """Return the phrases that can be taken as they are."""
    found: list[Phrase] = []
    parts = {word.casefold() for name in names for word in re.findall(r"\w{4,}", name) if word[:1].isupper()}
    parts -= set(relation.shown_label.casefold().split())
    for way, said in texts.items():
        taken = 0
        for text in dict.fromkeys(said):
            try:
                line = check_text(text).strip(" ?.!\"'").lower()
            except InputError:
                reasons["empty, too long or with markup"] += 1
                continue
            words = re.findall(r"\w+", line)
            if not words or len(words) > MAX_WORDS:
                reasons["empty, too long or with markup"] += 1
            elif parts & set(words) or any(name.casefold() in line for name in names if len(name) > 3):
                reasons["with a name of the graph"] += 1
            elif taken < MOST:
                found.append(Phrase(line, "llm", way == "head"))
                taken += 1
    return tuple(found)


def _of_their_own(
    found: Mapping[str, RelationDescription], catalogue: Catalogue, vectors: TextVectors, reasons: Counter[str]
) -> dict[str, RelationDescription]:
    """Leave out the phrases that are nearer to another relation's label than to their own, or that two relations
    have."""
    labels = [relation.shown_label for relation in catalogue.relations]
    place = {relation.name: at for at, relation in enumerate(catalogue.relations)}
    of_labels = vectors.stack(labels, lasting=True)
    how_often = Counter((p.text, p.inverse) for words in found.values() for p in words.phrases)
    kept: dict[str, RelationDescription] = {}
    for name, words in found.items():
        phrases = []
        if words.phrases:
            cosines = vectors.stack([p.text for p in words.phrases]) @ of_labels.T
            for phrase, row in zip(words.phrases, cosines, strict=True):
                nearer = np.flatnonzero(row > row[place[name]] + NEARER)
                if how_often[phrase.text, phrase.inverse] > 1:
                    reasons["said of two relations"] += 1
                elif not phrase.inverse and any(labels[at] != labels[place[name]] for at in nearer.tolist()):
                    reasons["nearer to another relation"] += 1
                else:
                    phrases.append(phrase)
        kept[name] = RelationDescription(phrases=tuple(phrases))
    return kept
