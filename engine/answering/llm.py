"""Answer with a language model: write the prompt, parse the reply, and cite the evidence that supports its answers."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ...models import Range, one_line
from ...models.graphrag_fi import compute_answer_confidences
from ...models.wording import casefold_nfkc
from .. import answering
from ..data_model import AnswerEntity, Chain, Entity
from ..errors import LLMError, UsageError
from ..evidence import NO_ANSWER, Answer, Evidence, Item, make_failed_answer
from ..evidence.text import EVIDENCE_TOKENS, MAX_NAMES, Order, format_evidence
from ..file_access import read_text_file
from ..llm import (
    BYTES_PER_TOKEN,
    MAX_REPLY_TOKENS,
    Completed,
    Prompt,
    PromptTooLongError,
    escape_prompt_text,
    estimate_tokens,
    fill_placeholders,
    find_end_of_reasoning,
    find_json_objects,
    make_list_schema,
)
from ..neo4j.graph_requests import read_search_names
from ..parts import Answerer, option, part
from .candidates import list_end_entities

if TYPE_CHECKING:
    from ..context import Context, Database
    from ..resources import GraphResources

LEAST_TOKENS = 50
"""Evidence is not halved below this for a model whose context is too small."""
MAX_ANSWERS = 100
"""Of a reply; ends a model that repeats itself, as `MAX_REPLY_TOKENS` does."""
MAX_RENAMED = 500
"""Ends of a question's evidence whose other names are read."""

OPTIONS = "Exactly one of these options is the answer. Give it as the only answer, even if nothing says which it is:"


@part("llm")
@dataclass(frozen=True)
class LanguageModelAnswerer(Answerer):
    """Answers from the evidence with a language model (docs/llm.md).

    An answer that is in the evidence has its id and items; any other is the model's own (`origin` = ``model``). If the
    model refuses, the answer has no entities, and its text says so. Confidences are the probabilities of the answers'
    tokens; if the endpoint returns none, what the model states. Where the prompt exceeds the model's context, half as
    much evidence is sent, again if need be. A multiple-choice question is answered with one of its options.
    """

    order: Order | Literal["auto"] = option(
        "auto",
        "order of the evidence in the prompt: best-first, ascending, lost-in-the-middle, or auto: ascending after "
        "path-pooling, else best-first",
        source="Path Pooling, section 4.3.3",
    )
    reads: Annotated[int, Range(0, 1_000)] = option(0, "items of a question that it reads; 0 for as many as top_k")
    tokens: Annotated[int, Range(50, 1_000_000)] = option(
        EVIDENCE_TOKENS,
        "longest evidence of a prompt, in tokens (estimated); half of it if the model's context is too small",
    )
    complete: bool = option(
        True, "whether all ends of a path are answers where it names two of at most 100, or the only one"
    )

    def open(self, graph: GraphResources) -> str | None:
        """Return the template of the user's own prompt; raise `LLMError` if no model is configured."""
        _ = graph.shared.chat
        path = graph.shared.settings.llm_prompt
        return _load_prompt(Path(path)) if path else None

    def num_read(self, _graph: GraphResources) -> int:
        return self.reads

    def __call__(self, ctx: Context, evidence: Sequence[Evidence[Item]]) -> list[Answer]:
        template: str | None = self.opened(ctx.graph)
        done: dict[int, Answer] = {}
        budgets = dict.fromkeys(range(len(evidence)), self.tokens)
        while budgets:
            written = {n: self._write_evidence(evidence[n], max_tokens) for n, max_tokens in budgets.items()}
            prompts = [self.make_prompt(evidence[n], text, template) for n, (text, _) in written.items()]
            completed = ctx.complete(prompts)
            too_long: dict[int, int] = {}
            for (number, (text, num_items)), outcome in zip(written.items(), completed, strict=True):
                if isinstance(outcome, PromptTooLongError) and (half := estimate_tokens(text) // 2) >= LEAST_TOKENS:
                    too_long[number] = half
                else:
                    read, num_given = evidence[number], len(evidence[number].items)
                    if num_items < num_given:
                        note = f"the first {num_items} of {num_given} items, {budgets[number]:,} tokens"
                        read = replace(read, left_out=(*read.left_out, f"the language model read {note}"))
                    try:
                        done[number] = self.answer_of(outcome, read, ctx.db)
                    except LLMError as error:
                        done[number] = make_failed_answer(read, error)
            budgets = too_long
        return [done[number] for number in range(len(evidence))]

    def make_prompt(self, evidence: Evidence[Item], text: str | None = None, template: str | None = None) -> Prompt:
        """Return the prompt of a question with its evidence as text. template: the user's own."""
        text = self._write_evidence(evidence, self.tokens)[0] if text is None else text
        question, options = evidence.question.text.strip(), evidence.question.options
        content = fill_placeholders(template or read_bundled_prompt("prompt.txt"), question=question, evidence=text)
        if options:
            return make_multiple_choice_prompt(content, options)
        return Prompt(
            content,
            json=True,
            schema=make_list_schema(MAX_ANSWERS, "answers") if template is None else None,
            logprobs=True,
            max_tokens=MAX_REPLY_TOKENS,
            is_read=is_parseable_reply,
        )

    def _write_evidence(self, evidence: Evidence[Item], max_tokens: int) -> tuple[str, int]:
        max_chars = max_tokens * BYTES_PER_TOKEN
        is_pooled = any(name.startswith("path-pooling") for name, *_ in evidence.trace.stages)
        automatic: Order = "ascending" if is_pooled else "best-first"
        order = automatic if self.order == "auto" else self.order
        while True:
            text, num_items = format_evidence(
                evidence.items, evidence.labels, order=order, max_names=MAX_NAMES, max_chars=max_chars
            )
            if (tokens := estimate_tokens(text)) <= max_tokens:  # characters beyond ASCII have several bytes
                return text, num_items
            max_chars = min(max_chars - 1, max_chars * max_tokens // tokens)

    def answer_of(self, completed: Completed, evidence: Evidence[Item], db: Database) -> Answer:
        """Return the answer in a completion; raise `LLMError` if the completion is an error or cannot be read.

        Where a name is not in the evidence, the other names of its entities are read.
        """
        if isinstance(completed, LLMError):
            raise completed
        answerer = f"llm:{completed.model}"
        if completed.refusal is not None:
            text = f"The model refused to answer: {one_line(completed.refusal, MAX_TEXT_CHARS)}"
            return Answer(evidence, (), text, answerer, completed.usage)
        reply = parse_reply(completed.content)
        claims = add_token_confidence(reply.claims, completed.logprobs)
        entities = cite_evidence_for_claims(claims, evidence)
        if any(entity.id is None for entity in entities):
            ids = [end.id for end in list_end_entities(evidence) if not end.is_mediator][:MAX_RENAMED]
            aliases = {id_: named.search_names for id_, named in db.run(read_search_names(ids)).items()} if ids else {}
            entities = cite_evidence_for_claims(claims, evidence, aliases)
        if self.complete and not evidence.question.options:
            entities = add_other_chain_ends(entities, evidence)
        text = reply.text or ", ".join(entity.name for entity in entities) or NO_ANSWER
        return Answer(evidence, entities, text, answerer, completed.usage)


def make_multiple_choice_prompt(content: str, options: Sequence[str]) -> Prompt:
    """Return the prompt of a multiple-choice question, to which exactly one of the options is the answer.

    content: the prompt without them. They stand at its end, whatever its template; a schema holds a reply to one of
    them (our own words).
    """
    names = tuple(dict.fromkeys(map(one_line, options)))
    listed = "".join(f"\n- {escape_prompt_text(name)}" for name in names)
    return Prompt(
        f"{content.rstrip()}\n\n{OPTIONS}{listed}\n",
        json=True,
        schema=make_list_schema(1, "answers", choices=names, least=1),
        logprobs=True,
        max_tokens=MAX_REPLY_TOKENS,
        is_read=is_parseable_reply,
    )


def read_bundled_prompt(name: str) -> str:
    return files(answering).joinpath(name).read_text(encoding="utf-8")


def _load_prompt(path: Path) -> str:
    """Return a prompt file's text; raise `InputError` if it cannot be read, `UsageError` without its placeholders."""
    text = read_text_file(path, "the prompt")
    if missing := [name for name in ("{question}", "{evidence}") if name not in text]:
        raise UsageError(
            f"{path}: expected the placeholders {{question}} and {{evidence}}, missing: {', '.join(missing)}"
        )
    return text


MAX_TEXT_CHARS = 2_000
MAX_CLAIMS = 1_000
"""Answers that are read of a reply, the first ones."""
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
_TOKENS = re.compile(r"(?s)\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|//[^\n]*|/\*.*?(?:\*/|\Z)|\b(?:true|false|null)\b")
_OF_PYTHON = {"true": "True", "false": "False", "null": "None"}
_LISTED = re.compile(r"\A\d{1,3}[.):][ \t]+|\.\Z")
"""What stands around a name in a list or a sentence."""


@dataclass(frozen=True, slots=True)
class AnswerClaim:
    """An answer as the model named it; `confidence` is None unless the model gave one from 0 to 1."""

    name: str
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class _ParsedReply:
    """The model's claims, best first, and its answer as a sentence."""

    claims: tuple[AnswerClaim, ...]
    text: str


_SPECIAL = re.compile(r"<[|｜][^<>|｜\n]{1,40}[|｜]>")
"""What ends a turn, as <|im_end|>."""


def parse_reply(content: str) -> _ParsedReply:
    """Return the claims in a model's reply.

    Expected is ``{"answers": ["Sol", {"name": "Sol", "confidence": 0.9}], "text": "…"}``. Also accepted: a code fence,
    text around the object, a whole ``<think>`` section before it, "answer" for "answers", a single answer instead of a
    list, a bare list, an object in a string, one with single quotes, comments or a comma too many. Of several objects
    the last counts. Without any of these, lines that begin with ``ans:`` are the answers, else those of a list with
    bullets or numbers ("none" is no answer, and marks of bold text are no part of a name); of a list that was cut off
    all names that are whole. Raises `LLMError` if there are none either.
    """
    content = _SPECIAL.sub("", content[find_end_of_reasoning(content) :]).strip()
    if content.startswith('"'):
        with suppress(ValueError):
            content = str(json.loads(content))
    objects = [*find_json_objects(content)] or _read_lenient_object(content)
    found = [value for value in objects if "answers" in value or "answer" in value]
    if found:
        answers = found[-1].get("answers", found[-1].get("answer"))
        text = found[-1].get("text")
    else:
        answers, text = _parse_without_object(content), None
    listed = answers if isinstance(answers, list) else [] if answers is None else [answers]
    claims: dict[str, AnswerClaim] = {}
    for claim in map(_parse_claim, listed[:MAX_CLAIMS]):
        if claim.name:
            claims.setdefault(normalise_name(claim.name), claim)
    return _ParsedReply(tuple(claims.values()), one_line(text, MAX_TEXT_CHARS) if isinstance(text, str) else "")


def is_parseable_reply(content: str) -> bool:
    try:
        parse_reply(content)
    except LLMError:
        return False
    return True


def cite_evidence_for_claims(
    claims: tuple[AnswerClaim, ...], evidence: Evidence[Item], aliases: Mapping[str, Sequence[str]] | None = None
) -> tuple[AnswerEntity, ...]:
    """Return the claims as answers, in their order: with id and items, or else as the model's own.

    aliases: more names of entities, by id. A name is looked up among the ends of the chains first, then among their
    other entities, also without a number before it or a full stop after it; both entities of a triple are ends. If
    several entities of the best matching item share the name, each is an answer, because the model cannot tell them
    apart.
    """
    known = _find_occurrences(evidence, aliases or {})
    answers: dict[str, AnswerEntity] = {}
    for claim in claims:
        spellings = (normalise_name(claim.name), normalise_name(_LISTED.sub("", claim.name.strip())))
        matches = _select_best(next((known[name] for name in spellings if name in known), {}))
        for match in matches:
            items = tuple(sorted(match.as_end or match.on_the_way))
            answer = AnswerEntity(match.entity.label, match.entity.id, claim.confidence, "graph", items)
            answers.setdefault(f"id {match.entity.id}", answer)
        if not matches:
            answers[f"name {normalise_name(claim.name)}"] = AnswerEntity(
                claim.name, None, claim.confidence, "model", ()
            )
    return tuple(answers.values())


def add_other_chain_ends(answers: tuple[AnswerEntity, ...], evidence: Evidence[Item]) -> tuple[AnswerEntity, ...]:
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


def add_token_confidence(
    claims: Sequence[AnswerClaim], logprobs: Sequence[tuple[str, float]]
) -> tuple[AnswerClaim, ...]:
    """Return the claims with their token probabilities as confidences; unchanged if there are no log-probabilities.

    If the reply spells a name in another way, its confidence is unknown. Thoughts before a reply do not count.
    """
    if not logprobs:
        return tuple(claims)
    start = find_end_of_reasoning("".join(text for text, _ in logprobs))
    confidences = compute_answer_confidences(logprobs, [claim.name for claim in claims], start)
    return tuple(AnswerClaim(claim.name, confidence) for claim, confidence in zip(claims, confidences, strict=True))


def normalise_name(name: str) -> str:
    """Return the normalised name: in NFKC and one case, without underscores, extra white space and outer quotes."""
    folded = casefold_nfkc(name)
    line = one_line(folded.replace("_", " "))
    return line.strip("\"'“”‘’«» ") or line


@dataclass(slots=True)
class _Occurrence:
    entity: Entity
    as_end: set[int] = field(default_factory=set)
    on_the_way: set[int] = field(default_factory=set)


def _find_occurrences(
    evidence: Evidence[Item], aliases: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, _Occurrence]]:
    by_id: dict[str, _Occurrence] = {}
    for index, scored in enumerate(evidence.items):
        item = scored.value
        for entity in item.ends if isinstance(item, Chain) else (item.tail, item.head):
            by_id.setdefault(entity.id, _Occurrence(entity)).as_end.add(index)
        if isinstance(item, Chain):
            for entity in (item.topic, *(end for path in item.instances() for _, end in path)):
                by_id.setdefault(entity.id, _Occurrence(entity)).on_the_way.add(index)
    known: dict[str, dict[str, _Occurrence]] = {}
    called: dict[str, dict[str, _Occurrence]] = {}
    for id_, each in by_id.items():
        if not each.entity.is_mediator:
            known.setdefault(normalise_name(each.entity.label), {})[id_] = each
        for alias in aliases.get(id_, ()):
            called.setdefault(normalise_name(alias), {})[id_] = each
    return called | known


def _select_best(same_name: dict[str, _Occurrence]) -> list[_Occurrence]:
    for places in ("as_end", "on_the_way"):
        found = {id_: getattr(occurrence, places) for id_, occurrence in same_name.items()}
        if any(found.values()):
            first = min(min(indexes) for indexes in found.values() if indexes)
            return [same_name[id_] for id_, indexes in found.items() if first in indexes]
    return []


def _read_lenient_object(content: str) -> list[dict[str, Any]]:
    def as_python(token: re.Match[str]) -> str:
        return "" if token[0].startswith("/") else _OF_PYTHON.get(token[0], token[0])

    written = content[content.find("{") : content.rfind("}") + 1]
    try:
        value = ast.literal_eval(_TOKENS.sub(as_python, written))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    return [value] if isinstance(value, dict) else []


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
        raise LLMError(
            'the language model\'s reply cannot be read: expected a JSON object with "answers"; '
            "ask for it in the prompt, or use another model"
        )
    names = [_BOLD.sub(r"\1", line) for line in lines]
    return [name for name in names if not re.fullmatch(_NO_ANSWER, name)]


def _parse_claim(value: object) -> AnswerClaim:
    if isinstance(value, dict):
        named = next((value[key] for key in ("name", "answer", "entity") if key in value), None)
        given = value.get("confidence")
        valid = isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= 1
        return AnswerClaim(_parse_name(named), float(given) if given is not None and valid else None)
    return AnswerClaim(_parse_name(value))


def _parse_name(value: object) -> str:
    if isinstance(value, str):
        return one_line(value)
    return one_line(json.dumps(value)) if isinstance(value, int | float) else ""
