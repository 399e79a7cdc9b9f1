"""Parse a language model's reply, and cite the evidence for its claims."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...models.graphrag_fi import answer_confidences
from ...models.words import fold_spelling
from ..errors import LLMError
from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Item
from ..evidence.text import one_line
from ..values import AnswerEntity, Entity

MAX_TEXT_CHARS = 2_000
MAX_CLAIMS = 1_000
"""Answers that are read of a reply, the first ones."""
MAX_STARTS = 1_000
"""Braces of a reply at which an object is looked for, the first ones."""
LEAST_NAMED, MAX_COMPLETED = 2, 100
"""How many ends of a chain a reply must name for all to be answers, and the most that a chain may have for it."""
_ANSWER_LINE = re.compile(r"(?im)^[ \t]*ans(?:wers?)?[ \t]*:[ \t]*(\S.*)$")
_NO_ANSWER = re.compile(r"(?i)(none|unknown|not available|no answer)")
_LISTED_LINE = re.compile(r"(?m)^[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]+(\S.*)$")
"""The forms of a reply without JSON: ``ans: Sol``, as ReG asks for it (appendix F), and a list of lines."""
_LIST_START = re.compile(r'"answers?"\s*:\s*\[(?P<names>(?:\s*"(?:[^"\\]|\\.)*"\s*,)+)')
"""The names of a list that a comma follows; where the list does not end, they are all that is whole."""
_BOLD = re.compile(r"\A\*\*(.*)\*\*\Z")
_FENCE = re.compile(r"\A```\w*|```\Z")
_END_OF_THOUGHTS = "</think>"


@dataclass(frozen=True, slots=True)
class Claim:
    """An answer as the model named it; `confidence` is None unless the model gave one from 0 to 1."""

    name: str
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """The model's claims, best first, and its answer as a sentence."""

    claims: tuple[Claim, ...]
    text: str


def parse_reply(content: str) -> ParsedReply:
    """Return the claims in a model's reply.

    Expected is ``{"answers": ["Sol", {"name": "Sol", "confidence": 0.9}], "text": "…"}``. Also accepted: a code fence,
    text around the object, a whole ``<think>`` section before it, "answer" for "answers", a single answer instead of a
    list, and a bare list. Of several objects the last counts. Without any of these, lines that begin with ``ans:`` are
    the answers, else those of a list with bullets or numbers ("none" is no answer, and marks of bold text are no part
    of a name); of a list that was cut off all names that are whole. Raises `LLMError` if there are none either.
    """
    content = content.rpartition(_END_OF_THOUGHTS)[2].strip()
    if content.startswith("<think>"):
        raise _unreadable_error()
    found = [value for value in find_json_objects(content) if "answers" in value or "answer" in value]
    if found:
        answers = found[-1].get("answers", found[-1].get("answer"))
        text = found[-1].get("text")
    else:
        answers, text = _parse_without_object(content), None
    listed = answers if isinstance(answers, list) else [] if answers is None else [answers]
    claims: dict[str, Claim] = {}
    for claim in map(_parse_claim, listed[:MAX_CLAIMS]):
        if claim.name:
            claims.setdefault(normalise_name(claim.name), claim)
    return ParsedReply(tuple(claims.values()), one_line(text, MAX_TEXT_CHARS) if isinstance(text, str) else "")


def is_parseable_reply(content: str) -> bool:
    """Return whether `parse_reply` can read it."""
    try:
        parse_reply(content)
    except LLMError:
        return False
    return True


def cite_claims(claims: tuple[Claim, ...], evidence: Evidence[Item]) -> tuple[AnswerEntity, ...]:
    """Return the claims as answers, in their order: with id and items, or else as the model's own.

    A name is looked up among the ends of the chains first, then among their other entities; both entities of a triple
    are ends. If several entities of the best matching item share the name, each is an answer, because the model cannot
    tell them apart.
    """
    known = _find_occurrences(evidence)
    answers: dict[str, AnswerEntity] = {}
    for claim in claims:
        matches = _select_best(known.get(normalise_name(claim.name), {}))
        for match in matches:
            items = tuple(sorted(match.as_end or match.on_the_way))
            answer = AnswerEntity(match.entity.label, match.entity.id, claim.confidence, "graph", items)
            answers.setdefault(f"id {match.entity.id}", answer)
        if not matches:
            answers[f"name {normalise_name(claim.name)}"] = AnswerEntity(
                claim.name, None, claim.confidence, "model", ()
            )
    return tuple(answers.values())


def complete_answers(answers: tuple[AnswerEntity, ...], evidence: Evidence[Item]) -> tuple[AnswerEntity, ...]:
    """Return the answers, and after them the other ends of the first chain of which two are among them (our own).

    A small model names a few of many. A chain with a single end counts where that is named; one with more than
    `MAX_COMPLETED` is passed over. What is added has the least confidence of what was named of that chain.
    """
    named = {answer.id: answer for answer in answers if answer.id is not None}
    for index, scored in enumerate(evidence.items):
        ends = scored.value.answers if isinstance(scored.value, Chain) else ()
        known = [named[end.id].confidence for end in ends if end.id in named]
        if known and len(known) >= min(LEAST_NAMED, len(ends)) and len(ends) <= MAX_COMPLETED:
            stated = [each for each in known if each is not None]
            confidence = min(stated) if len(stated) == len(known) else None
            others = (end for end in ends if end.id not in named and not end.is_mediator)
            return (*answers, *(AnswerEntity(end.label, end.id, confidence, "graph", (index,)) for end in others))
    return answers


def add_token_confidence(claims: Sequence[Claim], logprobs: Sequence[tuple[str, float]]) -> tuple[Claim, ...]:
    """Return the claims with their token probabilities as confidences; unchanged if there are no log-probabilities.

    If the reply spells a name in another way, its confidence is unknown. Thoughts before a reply do not count.
    """
    if not logprobs:
        return tuple(claims)
    start = len("".join(text for text, _ in logprobs).rpartition(_END_OF_THOUGHTS)[0])
    confidences = answer_confidences(logprobs, [claim.name for claim in claims], start)
    return tuple(Claim(claim.name, confidence) for claim, confidence in zip(claims, confidences, strict=True))


def normalise_name(name: str) -> str:
    """Return the normalised name: in NFKC and one case, without underscores, extra white space and outer quotes."""
    folded = fold_spelling(name)
    line = one_line(folded.replace("_", " "))
    return line.strip("\"'“”‘’«» ") or line


@dataclass(slots=True)
class _Occurrence:
    entity: Entity
    as_end: set[int] = field(default_factory=set)
    on_the_way: set[int] = field(default_factory=set)


def _find_occurrences(evidence: Evidence[Item]) -> dict[str, dict[str, _Occurrence]]:
    """Return the paths of each named entity, by normalised name and then by id."""
    known: dict[str, dict[str, _Occurrence]] = {}
    by_id: dict[str, _Occurrence] = {}
    for index, scored in enumerate(evidence.items):
        item = scored.value
        for entity in item.ends if isinstance(item, Chain) else (item.tail, item.head):
            _note_occurrence(entity, known, by_id).as_end.add(index)
        if isinstance(item, Chain):
            for entity in (item.topic, *(e for instance in item.instances() for e in instance.entities)):
                _note_occurrence(entity, known, by_id).on_the_way.add(index)
    return known


def _note_occurrence(
    entity: Entity, known: dict[str, dict[str, _Occurrence]], by_id: dict[str, _Occurrence]
) -> _Occurrence:
    if entity.id not in by_id:
        by_id[entity.id] = _Occurrence(entity)
        if not entity.is_mediator:
            known.setdefault(normalise_name(entity.label), {})[entity.id] = by_id[entity.id]
    return by_id[entity.id]


def _select_best(same_name: dict[str, _Occurrence]) -> list[_Occurrence]:
    """Return the entities that are ends of the best path with such an end, else those on the best path with any."""
    for places in ("as_end", "on_the_way"):
        found = {id_: getattr(occurrence, places) for id_, occurrence in same_name.items()}
        if any(found.values()):
            first = min(min(indexes) for indexes in found.values() if indexes)
            return [same_name[id_] for id_, indexes in found.items() if first in indexes]
    return []


def find_json_objects(content: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects in a text; at most `MAX_STARTS` braces are tried."""
    decoder = json.JSONDecoder()
    start = content.find("{")
    for _ in range(MAX_STARTS):
        if start < 0:
            return
        try:
            value, end = decoder.raw_decode(content, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield value
        start = content.find("{", end)


def _parse_without_object(content: str) -> list[Any]:
    try:
        value = json.loads(_FENCE.sub("", content))
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, list):
        return value
    if (cut := _LIST_START.search(content)) and "]" not in content[cut.end() :]:
        return [name for name in json.loads(f"[{cut['names'].rstrip().removesuffix(',')}]") if name]
    lines = [line.rstrip(" \t\r.") for line in re.findall(_ANSWER_LINE, content)]
    lines = lines or [line.rstrip() for line in re.findall(_LISTED_LINE, content)]
    if not lines:
        raise _unreadable_error()
    names = [_BOLD.sub(r"\1", line) for line in lines]
    return [name for name in names if not re.fullmatch(_NO_ANSWER, name)]


def _unreadable_error() -> LLMError:
    return LLMError(
        'the language model\'s reply cannot be read: expected a JSON object with "answers"; '
        "ask for it in the prompt, or use another model"
    )


def _parse_claim(value: object) -> Claim:
    if isinstance(value, dict):
        named = next((value[key] for key in ("name", "answer", "entity") if key in value), None)
        given = value.get("confidence")
        valid = isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= 1
        return Claim(_parse_name(named), float(given) if given is not None and valid else None)
    return Claim(_parse_name(value))


def _parse_name(value: object) -> str:
    if isinstance(value, str):
        return one_line(value)
    return one_line(json.dumps(value)) if isinstance(value, int | float) else ""
