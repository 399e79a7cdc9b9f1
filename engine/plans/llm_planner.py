"""Ask a language model for plans: JSON under a schema whose names are those of the graph. It never writes Cypher.

The model sees the kinds, the names that the question has, and the relations whose words are nearest to it, in another
order for each sample. What it writes is executed; a plan that cannot be read or gives nothing is asked for once more.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ...models.wording import STOP_WORDS, singularise
from ..data_model import Topic
from ..errors import InputError, LLMError
from ..llm import Completed, Message, Prompt, escape_prompt_text, find_end_of_reasoning, find_json_objects
from .compile import PlanResult, compile_plan, execute_plans
from .plan import Plan, parse_plan
from .schema import DATES, NUMBERS, THROUGH, GraphSchema, SetDistributions, reverse_step, split_mediated_step
from .words import StepWordMatcher, tokenise

if TYPE_CHECKING:
    from ..context import Context

MAX_RELATIONS = 30
MAX_KINDS = 40
MAX_NAMES = 12
MAX_REPLY_TOKENS = 300
LEAST_PROBABILITY = 0.1
"""Of a topic that the model is told of."""
_NUMBER = re.compile(r"(-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?)\s*(\D*)$", re.I)
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """What a plan for one question may name, by what the model calls it.

    numbered, dated: the steps that lead to numbers, and to dates; relations: lines that say what each joins.
    """

    names: Mapping[str, tuple[str, ...]]
    kinds: Mapping[str, str]
    steps: Mapping[str, str]
    numbered: frozenset[str]
    dated: frozenset[str]
    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WrittenPlan:
    """A plan that a model wrote, and what it gives. share: of the samples that give the same."""

    plan: Plan
    result: PlanResult
    share: float


@cache
def _read_instructions() -> str:
    """Return the part of the prompt that is the same for every question."""
    return files(__name__.rpartition(".")[0]).joinpath("instructions.txt").read_text(encoding="utf-8")


def _choose_vocabulary(schema: GraphSchema, steps: StepWordMatcher, text: str, topics: Sequence[Topic]) -> _Vocabulary:
    """Return the kinds, names and relations that a question is likeliest to need."""
    words = [token.text for token in tokenise(text) if token.text not in STOP_WORDS]
    steps.prepare(words, ())
    at_topics = {schema.numbers.get(abs(number)) for topic in topics for number in topic.relations}
    fits: dict[str, float] = defaultdict(float)
    for word in words:
        for step, fit in steps.match(word).items():
            fits[step.removeprefix("^")] += fit
    forward = [step for step in schema.ends if not step.startswith("^")]
    forward.sort(key=lambda step: -fits.get(step, 0.0) - 0.2 * (split_mediated_step(step)[0] in at_topics))
    shown, lines = {}, []
    for step in forward[:MAX_RELATIONS]:
        name = _show(step, steps, shown)
        shown |= {name: step, f"^{name}": reverse_step(step)}
        start = schema.ends.get(reverse_step(step), SetDistributions())
        lines.append(f"{name}: {_say_class(start)} -> {_say_class(schema.ends[step])}")
    named = {singularise(word) for word in words}
    kinds = sorted(schema.of_kind, key=lambda kind: (not named & {kind, kind.split()[-1]}, kind))[:MAX_KINDS]
    names: dict[str, tuple[str, ...]] = {}
    for topic in topics:
        if (topic.probability or 1.0) >= LEAST_PROBABILITY and len(names) < MAX_NAMES:
            label = topic.entity.label
            names[label] = tuple(dict.fromkeys((*names.get(label, ()), topic.entity.id)))
    values = {name: schema.ends[step].value for name, step in shown.items() if step in schema.ends}
    numbered, dated = (frozenset(n for n, kind in values.items() if kind in of) for of in (NUMBERS, DATES))
    return _Vocabulary(names, {kind: kind for kind in kinds}, shown, numbered, dated, tuple(lines))


def _show(step: str, steps: StepWordMatcher, taken: Mapping[str, str]) -> str:
    """Return the words of a relation; its own name where another one has the same words."""
    said = next(iter(steps.texts.get(step, ())), step.replace(THROUGH, " / "))
    return step.replace(THROUGH, " / ") if said in taken else said


def _say_class(cls: SetDistributions) -> str:
    return cls.value or max(cls.kinds, key=lambda kind: cls.kinds[kind], default="thing")


def _reply_schema(vocabulary: _Vocabulary) -> Json:
    """Return the JSON schema of a reply: the algebra of `plan`, whose names are enumerated."""
    one: Json = {"$ref": "#/$defs/set"}
    path = {"type": "array", "items": _one_of(vocabulary.steps), "minItems": 1, "maxItems": 3}
    op = _one_of(("=", "!=", "<", "<=", ">", ">="))
    sets = [
        _object("follow", of=one, path=path),
        _object("where", of=one, condition={"$ref": "#/$defs/condition"}),
        _object("best", of=one, how=_one_of(("most", "least")), path=path, k=_whole(1)),
        *(_object(each, left=one, right=one) for each in ("both", "either", "without")),
    ]
    if vocabulary.kinds:
        sets.insert(0, _object("kind", name=_one_of(vocabulary.kinds)))
    if vocabulary.names:
        names = {"type": "array", "items": _one_of(vocabulary.names), "minItems": 1, "maxItems": 5}
        sets.insert(0, _object("topics", names=names))
    conditions = [
        _object("has", path=path, to=one),
        _object("lacks", path=path, to={"anyOf": [one, {"type": "null"}]}),
        _object("is", path=path, op=op, value={"type": "string", "maxLength": 60}),
        _object("countof", path=path, op=op, number=_whole(0)),
    ]
    plans = [
        *(_object(each, of=one) for each in ("find", "count", "exists")),
        _object("total", how=_one_of(("sum", "mean", "min", "max")), of=one, path=path),
        _object("rank", of=one, by=path),
    ]
    return {
        "type": "object",
        "properties": {"plan": {"anyOf": plans}},
        "required": ["plan"],
        "additionalProperties": False,
        "$defs": {"set": {"anyOf": sets}, "condition": {"anyOf": conditions}},
    }


def _object(do: str, **properties: Any) -> Json:
    return {
        "type": "object",
        "properties": {"do": {"type": "string", "enum": [do]}, **properties},
        "required": ["do", *properties],
        "additionalProperties": False,
    }


def _one_of(texts: Mapping[str, Any] | Sequence[str]) -> Json:
    return {"type": "string", "enum": list(texts)}


def _whole(least: int) -> Json:
    return {"type": "integer", "minimum": least, "maximum": 1_000}


def _make_prompt(text: str, vocabulary: _Vocabulary, sample: int = 0) -> Prompt:
    """Return the prompt of a question; sample: from where on the relations are listed."""
    start = sample * len(vocabulary.relations) // 3
    relations = (*vocabulary.relations[start:], *vocabulary.relations[:start])
    content = "\n".join(
        [
            _read_instructions(),
            f"Kinds: {escape_prompt_text(', '.join(vocabulary.kinds))}",
            "Relations:",
            *(f"- {escape_prompt_text(line)}" for line in relations),
            f"Names: {escape_prompt_text(', '.join(vocabulary.names))}",
            f"Question: {escape_prompt_text(' '.join(text.split()))}",
        ]
    )
    return Prompt(content, json=True, schema=_reply_schema(vocabulary), max_tokens=MAX_REPLY_TOKENS)


def _make_repair(prompt: Prompt, reply: str, fault: str) -> Prompt:
    """Return the prompt that asks once more for what could not be read or gave nothing."""
    turn = f"{fault}. Write another plan for the same question."
    messages = (*prompt.messages, Message("assistant", reply), Message("user", turn))
    return Prompt(messages, json=True, schema=prompt.schema, max_tokens=prompt.max_tokens)


def _read_reply(outcome: Completed, vocabulary: _Vocabulary) -> Plan:
    """Return the plan in a reply. Raises `InputError` that says what is wrong with it, `LLMError` for a failed call."""
    if isinstance(outcome, LLMError):
        raise outcome
    data = next(find_json_objects(outcome.content[find_end_of_reasoning(outcome.content) :]), None)
    if data is None:
        raise InputError("That is no whole JSON object")
    return parse_plan(json.dumps(_translate(data.get("plan", data), vocabulary)))  # type: ignore[no-any-return]


def _translate(data: Any, vocabulary: _Vocabulary) -> Any:
    """Return a reply's object in the graph's own names."""
    if not isinstance(data, Mapping):
        return data
    found: Json = {}
    last = _list(data.get("path"))[-1:]
    for key, value in data.items():
        if key in ("path", "by"):
            found[key] = [
                each
                for name in _list(value)
                for each in split_mediated_step(_look_up(name, vocabulary.steps, "relation"))
            ]
        elif key == "names":
            found["ids"] = [id_ for name in _list(value) for id_ in _look_up(name, vocabulary.names, "name")]
        elif key == "name":
            found[key] = _look_up(value, vocabulary.kinds, "kind")
        elif key == "value":
            found |= _read_value(str(value), vocabulary.dated.issuperset(last))
        elif value is not None:
            found[key] = _translate(value, vocabulary)
    if data.get("do") == "best":
        found["count"] = not (vocabulary.numbered | vocabulary.dated).issuperset(last)
    return found


def _list(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def _look_up(name: Any, known: Mapping[str, Any], what: str) -> Any:
    if str(name) not in known:
        raise InputError(f"{str(name)[:60]!r} is no {what} of the list")
    return known[str(name)]


def _read_value(text: str, is_dated: bool) -> Json:
    if is_dated and _DATE.fullmatch(text):
        return {"date": text}
    if found := _NUMBER.match(text):
        return {"number": float(found[1].replace(",", "")), "unit": found[2].strip()}
    return {"text": text}


def write_plans(
    ctx: Context,
    schema: GraphSchema,
    steps: StepWordMatcher,
    asked: Sequence[tuple[str, Sequence[Topic]]],
    samples: int,
) -> list[WrittenPlan | str]:
    """Return for each question with its topics the plan that most of some samples agree with by what they give, or why
    there is none. Two batches of prompts, the second one of repairs."""
    vocabularies = [_choose_vocabulary(schema, steps, text, topics) for text, topics in asked]
    turns = [
        (at, _make_prompt(text, vocabularies[at], sample))
        for at, (text, _) in enumerate(asked)
        for sample in range(samples)
    ]
    found: dict[int, list[tuple[Plan, PlanResult]]] = defaultdict(list)
    faults: dict[int, str] = {}
    for _ in range(2):
        outcomes = ctx.complete([prompt for _, prompt in turns])
        read = [_read(outcome, vocabularies[at]) for (at, _), outcome in zip(turns, outcomes, strict=True)]
        results = iter(
            execute_plans(ctx, [compile_plan(each, schema) for each in read if not isinstance(each, Exception)])
        )
        repairs = []
        for (at, prompt), outcome, plan in zip(turns, outcomes, read, strict=True):
            result = None if isinstance(plan, Exception) else next(results)
            if not isinstance(plan, Exception) and result is not None and not result.is_empty:
                found[at].append((plan, result))
                continue
            faults[at] = str(plan) if isinstance(plan, Exception) else "That plan gives nothing"
            if not isinstance(outcome, LLMError):
                repairs.append((at, _make_repair(prompt, outcome.content, faults[at])))
        turns = repairs
    return [_agree(found[at], samples) if found[at] else faults.get(at, "no reply") for at in range(len(asked))]


def _read(outcome: Completed, vocabulary: _Vocabulary) -> Plan | LLMError | InputError:
    try:
        return _read_reply(outcome, vocabulary)
    except (LLMError, InputError) as error:
        return error


def _agree(some: Sequence[tuple[Plan, PlanResult]], samples: int) -> WrittenPlan:
    """Return the first of the plans that most others agree with."""
    votes = [sum(have_equal_results(result, other) for _, other in some) for _, result in some]
    best = votes.index(max(votes))
    return WrittenPlan(*some[best], votes[best] / samples)


def have_equal_results(one: PlanResult, two: PlanResult) -> bool:
    """Whether two plans give the same."""
    given, other = ((r.yes, r.number, r.total, {row.entity.id for row in r.rows}) for r in (one, two))
    return given == other
