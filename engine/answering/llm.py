"""Answer with a language model, and cite the evidence that supports its answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from .. import answering
from ..errors import LLMError, UsageError
from ..evidence.calibration import Calibration
from ..evidence.evidence import NO_ANSWER, Answer, Evidence, Item, make_failed_answer
from ..evidence.text import EVIDENCE_TOKENS, MAX_NAMES, Order, fit_evidence, one_line
from ..llm.prompts import (
    BYTES_PER_TOKEN,
    Completed,
    Prompt,
    PromptTooLongError,
    estimate_tokens,
    list_schema,
    send_prompts,
)
from ..steps import Steps
from ..values import AnswerEntity
from ..whole_file import read_text
from .candidates import compute_log_odds, list_ends
from .reply import (
    MAX_TEXT_CHARS,
    add_token_confidence,
    cite_claims,
    complete_answers,
    is_parseable_reply,
    parse_reply,
)

PLACEHOLDERS = ("question", "evidence")
MAX_CHOICES = 20
LEAST_TOKENS = 50
"""Evidence is not halved below this for a model whose context is too small."""
MAX_ANSWERS = 100
MAX_REPLY_TOKENS = 400
"""Both end a model that repeats itself."""

OPTIONS = "Exactly one of these options is the answer. Give it as the only answer, even if nothing says which it is:"

EXAMPLE = """Example.
<evidence>
[1] Mount Elgon —[mountain country]→ Kenya; Uganda
[2] Mount Elgon —[mountain range]→ East African Rift
[3] Kenya —[country capital]→ Nairobi
</evidence>

<question>
In which countries is Mount Elgon?
</question>
{explanation}{"answers": ["Kenya", "Uganda"]}

"""
EXPLANATION = "(Line 1 says in which countries the mountain is; its range and a capital are no such countries.)\n"


class LLMAnswerer:
    """Answers with a chat model; if it fails for a question, that answer has the failure.

    An answer that is in the evidence has its id and items; any other is the model's own (`origin` = ``model``). If the
    model refuses, the answer has no entities, and its text says so. Confidences are the probabilities of the answers'
    tokens; if the endpoint returns none, what the model states. Where the prompt exceeds the model's context, half as
    much evidence is sent, again if need be. A multiple-choice question is answered with one of its options.
    """

    def __init__(
        self,
        *,
        prompt: str | None = None,
        order: Order = "best-first",
        max_names: int = MAX_NAMES,
        reads: int = 0,
        max_tokens: int = EVIDENCE_TOKENS,
        example: str = "",
        chooses: bool = False,
        completes: bool = True,
        calibration: Calibration | None = None,
        min_probability: float = 0.0,
    ) -> None:
        """Take how to ask.

        prompt: a template's text with {question} and {evidence}, None for the default; {example} is optional. order: of
        the evidence in it. max_names: ends named per chain. reads: items of a question, 0 for as many as the recipe
        keeps. max_tokens: the longest evidence, by `estimate_tokens`. example: stands in the place of {example}, which
        the default prompt has. chooses: whether the model may only answer with the first `MAX_CHOICES` names at the
        ends of the evidence. completes: whether `complete_answers` is done, but to multiple-choice questions.
        calibration: of the log-odds of the first answer's confidence, None if unknown;
        min_probability: least probability by it for an answer.
        """
        self._is_default = prompt is None
        template = read_default_prompt() if prompt is None else check_prompt(prompt, "the prompt")
        self._prompt = template.replace("{example}", example)
        self._order: Order = order
        self._max_names = max_names
        self._reads = reads
        self._max_tokens = max_tokens
        self._chooses = chooses
        self._completes = completes
        self._calibration = calibration
        self._min_probability = min_probability

    @property
    def reads(self) -> int:
        """The most items of a question that it reads, 0 for as many as the recipe keeps."""
        return self._reads

    def answer(self, evidence: Sequence[Evidence[Item]]) -> Steps[list[Answer]]:
        """Return the model's answer to each question."""
        done = {number: _choose_nothing(each) for number, each in enumerate(evidence) if self._lacks_choices(each)}
        budgets = {number: self._max_tokens for number in range(len(evidence)) if number not in done}
        while budgets:
            written = {
                number: self._write_evidence(evidence[number], max_tokens) for number, max_tokens in budgets.items()
            }
            completed = yield from send_prompts(
                [self._make_prompt(evidence[number], text) for number, (text, _) in written.items()]
            )
            too_long: dict[int, int] = {}
            for (number, (text, num_items)), outcome in zip(written.items(), completed, strict=True):
                if isinstance(outcome, PromptTooLongError) and (half := estimate_tokens(text) // 2) >= LEAST_TOKENS:
                    too_long[number] = half
                else:
                    done[number] = self._outcome(_note_left_out(evidence[number], num_items, budgets[number]), outcome)
            budgets = too_long
        return [done[number] for number in range(len(evidence))]

    def _lacks_choices(self, evidence: Evidence[Item]) -> bool:
        """Return whether the model, which may only choose, has nothing to choose from."""
        return self._chooses and not evidence.question.options and not list_choices(evidence)

    def write_prompt(self, evidence: Evidence[Item]) -> Prompt:
        """Return the prompt for this evidence."""
        text, _ = self._write_evidence(evidence, self._max_tokens)
        return self._make_prompt(evidence, text)

    def _make_prompt(self, evidence: Evidence[Item], text: str) -> Prompt:
        question, options = evidence.question.text.strip(), evidence.question.options
        content = fill_placeholders(self._prompt, question=question, evidence=text)
        if options:
            return make_choice_prompt(content, options)
        choices = list_choices(evidence) if self._chooses else ()
        unseen = fill_placeholders(self._prompt, question=question, evidence="") if choices else ""
        return Prompt(
            content,
            json=True,
            schema=list_schema(MAX_ANSWERS, "answers", choices=choices) if choices or self._is_default else None,
            logprobs=True,
            max_tokens=MAX_REPLY_TOKENS,
            choices=choices,
            unseen=unseen,
            is_read=is_parseable_reply,
        )

    def _write_evidence(self, evidence: Evidence[Item], max_tokens: int) -> tuple[str, int]:
        """Return the evidence as text of at most so many tokens, and how many items it holds."""
        max_chars = max_tokens * BYTES_PER_TOKEN
        while True:
            text, num_items = fit_evidence(
                evidence.items, evidence.groups, order=self._order, max_names=self._max_names, max_chars=max_chars
            )
            if (tokens := estimate_tokens(text)) <= max_tokens:  # characters beyond ASCII have several bytes
                return text, num_items
            max_chars = min(max_chars - 1, max_chars * max_tokens // tokens)

    def answer_of(self, completed: Completed, evidence: Evidence[Item]) -> Answer:
        """Return the answer in a completion; raise `LLMError` if the completion is an error or cannot be read."""
        if isinstance(completed, LLMError):
            raise completed
        answerer = f"llm:{completed.model}"
        if completed.refusal is not None:
            text = f"The model refused to answer: {one_line(completed.refusal, MAX_TEXT_CHARS)}"
            return Answer(evidence, (), text, answerer, completed.usage)
        reply = parse_reply(completed.content)
        entities = cite_claims(add_token_confidence(reply.claims, completed.logprobs), evidence)
        if self._completes and not evidence.question.options:
            entities = complete_answers(entities, evidence)
        text = reply.text or ", ".join(entity.name for entity in entities) or NO_ANSWER
        sure = self._compute_confidence(entities)
        if sure is not None and sure < self._min_probability:
            text = f"{NO_ANSWER}: {text} has a probability of {sure:.2f}, less than {self._min_probability:g}"
            return Answer(evidence, (), text, answerer, completed.usage, confidence=sure)
        return Answer(evidence, entities, text, answerer, completed.usage, confidence=sure)

    def _compute_confidence(self, entities: Sequence[AnswerEntity]) -> float | None:
        """Return the probability that the first answer is right, None where nobody knows."""
        if self._calibration is None or not entities or entities[0].confidence is None:
            return None
        (log_odds,) = compute_log_odds([entities[0].confidence], Calibration("probability"))
        return self._calibration.probability(float(log_odds))

    def _outcome(self, evidence: Evidence[Item], completed: Completed) -> Answer:
        try:
            return self.answer_of(completed, evidence)
        except LLMError as error:
            return make_failed_answer(evidence, error)


def make_choice_prompt(content: str, options: Sequence[str]) -> Prompt:
    """Return the prompt of a multiple-choice question, to which exactly one of the options is the answer.

    content: the prompt without them. They stand at its end, whatever its template; a schema holds a reply to one of
    them (our own words).
    """
    names = tuple(dict.fromkeys(map(one_line, options)))
    listed = "".join(f"\n- {escape_data(name)}" for name in names)
    return Prompt(
        f"{content.rstrip()}\n\n{OPTIONS}{listed}\n",
        json=True,
        schema=list_schema(1, "answers", choices=names, least=1),
        logprobs=True,
        max_tokens=MAX_REPLY_TOKENS,
        choices=names,
        num_choices=1,
        is_read=is_parseable_reply,
    )


def _choose_nothing(evidence: Evidence[Item]) -> Answer:
    return Answer(evidence, (), f"{NO_ANSWER}: the evidence names nothing that may be the answer", "llm")


def _note_left_out(evidence: Evidence[Item], num_items: int, max_tokens: int) -> Evidence[Item]:
    """Return the evidence, which says how many items the model read if not all."""
    if num_items == len(evidence.items):
        return evidence
    note = f"the language model read the first {num_items} of {len(evidence.items)} items, {max_tokens:,} tokens"
    return replace(evidence, left_out=(*evidence.left_out, note))


def write_example(*, explained: bool) -> str:
    """Return the example of a prompt, with the reason for its answers or without (ReG, appendix F; our own words)."""
    return EXAMPLE.replace("{explanation}", EXPLANATION if explained else "")


def list_choices(evidence: Evidence[Item]) -> tuple[str, ...]:
    """Return the first `MAX_CHOICES` names at ends of the evidence that are no topics, the best item's first."""
    topics = {topic.entity.id for topic in evidence.topics}
    ends = (each for each in list_ends(evidence) if not each.is_mediator and each.id not in topics)
    return tuple(dict.fromkeys(one_line(entity.label) for entity in ends))[:MAX_CHOICES]


def read_default_prompt() -> str:
    """Return the default prompt, from which you can start your own."""
    return read_own_prompt("prompt.txt")


def read_own_prompt(name: str) -> str:
    """Return a prompt that comes with Lodestar."""
    return files(answering).joinpath(name).read_text(encoding="utf-8")


def load_prompt(path: Path) -> str:
    """Return a prompt file's text; raise `InputError` if it cannot be read, `UsageError` without its placeholders."""
    return check_prompt(read_text(path, "the prompt"), str(path))


def check_prompt(text: str, where: str) -> str:
    """Return the template; raise `UsageError` if a placeholder is missing."""
    missing = [f"{{{name}}}" for name in PLACEHOLDERS if f"{{{name}}}" not in text]
    if missing:
        raise UsageError(
            f"{where}: expected the placeholders {{question}} and {{evidence}}, missing: {', '.join(missing)}"
        )
    return text


def fill_placeholders(template: str, *, question: str, evidence: str) -> str:
    """Return the template with its two placeholders filled; all other braces stay as they are.

    Tags <question> and <evidence> inside the data are escaped, so that data cannot end its section, and so are the
    marks of turns in chat templates, which many servers read as such inside a message, too.
    """
    values = {"question": escape_data(question), "evidence": escape_data(evidence)}
    return re.sub(r"\{(question|evidence)\}", lambda match: values[match[1]], template)


_ENDS_SECTION = re.compile(
    r"<(?=\s*/?\s*(?:evidence|question)\b|[|｜]|/?s>|(?:start|end)_of_turn>)|\[(?=/?INST\])", re.IGNORECASE
)
_HARMLESS = {"<": "‹", "[": "［"}


def escape_data(text: str) -> str:
    """Return external text, escaped so that it can end neither its section of the template nor its turn of a chat."""
    encodable = text.encode("utf-8", "replace").decode("utf-8")
    return _ENDS_SECTION.sub(lambda match: _HARMLESS[match[0]], encodable)
