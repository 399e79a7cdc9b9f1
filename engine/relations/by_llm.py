"""Ask a language model for the phrases by which people ask for relations, within a budget; filter and keep them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ...models.text.vectors import TextVectors
from ..errors import LLMError
from ..llm.gateway import ChatGateway
from ..llm.prompts import Prompt, list_schema
from ..neo4j.catalogue import Catalogue, Phrase, RelationInfo
from ..neo4j.gateway import Gateway
from ..neo4j.templates import Request, Row, template
from ..progress import Progress, ignore_progress
from ..settings import Settings
from .describing import RelationDescription
from .filtering import leave_out_strays, select_phrases, split_names
from .kinds import AMONG

REPLIES = "phrases.sqlite"
"""Replies are kept in this file of the home folder where the settings name no other."""
SAMPLES = 3
NAMES = 64
"""Triples of a relation whose names no phrase may have."""
PHRASES = 4
"""For each direction of a relation."""
EXAMPLE = {
    "tail": ["who wrote", "the writer of", "who is it by", "whose book is"],
    "head": ["what did they write", "books by", "works of", "which books has written"],
}
_SYSTEM = (
    "You name relations of a knowledge graph in the words that ordinary people use when they ask. You reply with one "
    'JSON object: {"tail": [short phrases that ask for what the arrow points at], "head": [short phrases that ask for '
    'where it starts]}. Four phrases each, of two to six words, lower case, without names. For "book --author--> '
    f'person" that is {json.dumps(EXAMPLE)}.'
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

    `filtering` says what is left out. The budget is the settings' (`llm_max_calls`, `llm_max_tokens`). Raises
    `LLMError` if no model is configured or nothing at all was answered.
    """
    wanted = [r for r in catalogue.relations if not any(p.origin == "llm" for p in r.phrases)]
    own = chat is None
    model = chat or ChatGateway.of(replace(settings, llm_cache=settings.llm_cache or str(settings.home_dir / REPLIES)))
    examples = [text for some in EXAMPLE.values() for text in some]
    samples = {relation.name: _samples(gateway, relation) for relation in wanted}
    others = split_names([name for rows in samples.values() for row in rows for name in row])
    found: dict[str, tuple[Phrase, ...]] = {}
    reasons: Counter[str] = Counter()
    failure: LLMError | None = None
    try:
        for start in range(0, len(wanted), 8):
            some = wanted[start : start + 8]
            completed = model.complete([_prompt(relation, samples[relation.name][:SAMPLES]) for relation in some])
            for relation, said in zip(some, completed, strict=True):
                if isinstance(said, LLMError):
                    failure = said
                    reasons["relations not answered"] += 1
                    continue
                texts = _texts(said.content)
                if texts is None:
                    reasons["replies that could not be read"] += 1
                    continue
                names = [name for row in samples[relation.name] for name in row if name]
                found[relation.name] = select_phrases(relation, texts, names, others, examples, reasons)
                reasons["relations without a phrase"] += not found[relation.name]
            progress("asking", min(start + 8, len(wanted)), len(wanted))
        spent = f"{model.usage.calls:,} calls, {model.usage.cached:,} from the cache"
        why = f"; of others: {failure}" if failure else ""
        say(f"{len(found):,} of {len(wanted):,} relations by {model.endpoint.model} ({spent}){why}")
    finally:
        if own:
            model.close()
    if failure is not None and not found:
        raise failure
    kept = leave_out_strays(found, catalogue, vectors, reasons)
    return kept, +reasons


def _samples(gateway: Gateway, relation: RelationInfo) -> list[tuple[str, str]]:
    rows: Sequence[Row] = gateway.fetch(
        Request(
            template("sample_relation"),
            {"limit": NAMES, "relation": relation.name, "max_relations": 0, "among": AMONG},
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
        _SYSTEM + "\n\n" + "\n".join(lines),
        json=True,
        schema=list_schema(PHRASES, *EXAMPLE),
        max_tokens=220,
        is_read=lambda said: _texts(said) is not None,
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
