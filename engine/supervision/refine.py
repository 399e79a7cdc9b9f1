"""Choose the supervision of each question from its candidate pool, by a scorer or a language model.

The scorer is our own, in place of ReG's language model and weaker: it reads relation paths from topics, so it only
chooses among shortest paths and ignores neighbourhoods. It removes paths that reach an answer by chance, the paper's
case (I), and adds nothing, its case (II).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from ...models.message_text import one_line
from ...models.mined import MinedFileError, PoolChain, PooledQuestion, PoolFile, read_pool
from ...models.text.encoders import SentenceEncoder
from ..answering.llm import fill_placeholders, find_json_objects
from ..errors import InputError, LLMError
from ..evidence.text import one_line as one_name_line
from ..llm.gateway import ChatGateway
from ..llm.prompts import Completed, Completion, Message, Prompt, send_prompts
from ..parallel import HERE, PerProcess, Workers
from ..progress import Progress, ignore_progress
from ..retrieval.scoring import PathQuery, PathScorer
from ..settings import Settings
from ..steps import Steps, run_steps
from ..values import Entity, RelationPath, RelationStep, Topic

_KEYS = ("chains", "chain", "numbers", "selected", "chosen", "answer", "answers")
_NUMBER = re.compile(r"(?<![\w.-])\d{1,6}(?![\w.]|-\w)")
MAX_DIGITS = 9

_LINE_OF_NUMBERS = re.compile(
    r"[\s\[\](){}#.,;:&\d]*|.*\b(?:chains?|lines?|numbers?|chosen|selected)\b.*", re.IGNORECASE
)


def parse_chosen_numbers(content: str, num_chains: int) -> tuple[int, ...]:
    """Return the indices of the chosen chains, from 0, ascending.

    The expected reply is ``{"chains": [1, 3]}``, counted from 1. Also accepted: text and a code fence around the
    object, a ``<think>`` section before it, other keys, numbers as text or as objects with a number, a single number
    instead of a list, a bare list, and one line of numbers; of several objects the last with a known key counts.
    Numbers without a chain are ignored. Raises `LLMError` if no chain is left.
    """
    content = re.sub(r"\A.*</think>", "", content, flags=re.DOTALL).strip()
    replies: list[Any] = [
        value[key] for value in find_json_objects(content) for key in _KEYS if isinstance(value, dict) and key in value
    ]
    try:
        numbers = _numbers(replies[-1]) if replies else _numbers_in_text(content)
    except RecursionError:  # deeply nested lists
        numbers = []
    chosen = sorted({number - 1 for number in numbers if 1 <= number <= num_chains})
    if not chosen:
        found = f"found {', '.join(map(str, numbers[:5]))}" if numbers else "found none"
        raise LLMError(f"expected numbers from 1 to {num_chains} in the reply, {found}")
    return tuple(chosen)


def _numbers(value: Any) -> list[int]:
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int):
        return [value]
    if isinstance(value, float):
        return [int(value)] if value.is_integer() else []
    if isinstance(value, str):
        return [int(number) for number in _NUMBER.findall(value) if len(number) <= MAX_DIGITS]
    if isinstance(value, dict):
        named = next((value[key] for key in ("number", "id", "index", "chain") if key in value), None)
        return _numbers(named)
    return [number for each in value for number in _numbers(each)]


def _numbers_in_text(content: str) -> list[int]:
    """Return the numbers of a reply without an object: those of a bare list, else of the last line of numbers."""
    for text in re.findall(r"\[[^\[\]]*\]", content)[::-1]:
        try:
            return _numbers(json.loads(text))
        except (ValueError, RecursionError):
            continue
    lines = [line for line in content.splitlines() if _NUMBER.search(line) and _LINE_OF_NUMBERS.fullmatch(line)]
    return _numbers(lines[-1]) if lines else []


INVERSE = "^"


def choose_by_score(scorer: PathScorer, margin: float, questions: Sequence[PooledQuestion]) -> list[PooledQuestion]:
    """Keep the shortest paths of each question whose score is within `margin` of the best one's.

    margin: in units of the score; see `Calibration.from_log_odds`.
    """
    scores = scorer.score([_query(question) for question in questions])
    refined = []
    for question, score in zip(questions, scores, strict=True):
        best = score.stop.max(initial=float("-inf"))
        kept = [number for number, each in zip(question.weak, score.stop, strict=True) if each >= best - margin]
        refined.append(replace(question, chosen=tuple(kept), how="refined"))
    return refined


def _query(question: PooledQuestion) -> PathQuery:
    chains = [question.chains[number] for number in question.weak]
    return PathQuery(
        question.text,
        tuple(Topic(Entity(chain.start, chain.names[0] or None)) for chain in chains),
        tuple(map(_path, chains)),
        (0.0,) * len(chains),
    )


def _path(chain: PoolChain) -> RelationPath:
    return RelationPath(
        tuple(
            RelationStep(step.removeprefix(INVERSE), inverse=step.startswith(INVERSE), to_mediator=not name)
            for step, name in zip(chain.steps, chain.names[1:], strict=True)
        )
    )


UNNAMED = "…"
MAX_NAME_CHARS = 80
FAILED = "unrefined: no reply"
UNREADABLE = "unrefined: no reply could be read"
RETRIED = "replies that could not be read"
COUNTS = ("refined", FAILED, UNREADABLE, RETRIED)
BATCH = 64
"""Questions that are refined at a time."""


class LLMRefiner:
    """Asks a chat model which chains are the supervision of a question.

    An unreadable reply is answered with the error, up to `max_retries` times; after that the shortest paths stay
    (`unrefined`). `counts` has the number of each of `COUNTS`.
    """

    batch = BATCH
    """Questions that are asked at a time."""
    how = ""
    """What follows the model's name in the file."""

    def __init__(self, *, max_retries: int = 2) -> None:
        self._template = Path(__file__).with_name("refine-prompt.txt").read_text(encoding="utf-8")
        self._max_retries = max_retries
        self.counts: Counter[str] = Counter(dict.fromkeys(COUNTS, 0))

    def refine(self, questions: Sequence[PooledQuestion]) -> Steps[list[PooledQuestion]]:
        """Return the questions with their chosen chains; their prompts are sent concurrently.

        Raises the first `LLMError` if no question was answered, because nothing would be refined.
        """
        asked: dict[int, tuple[Message, ...]] = {
            place: (Message("user", self.prompt_for(question)),) for place, question in enumerate(questions)
        }
        done: dict[int, PooledQuestion] = {}
        failures: list[LLMError] = []
        for attempt in range(self._max_retries + 1):
            completed: list[Completed] = yield from send_prompts(
                [
                    Prompt(messages, json=True, is_read=partial(_is_choice, num_chains=len(questions[place].chains)))
                    for place, messages in asked.items()
                ]
            )
            waiting, asked = asked, {}
            for (place, messages), said in zip(waiting.items(), completed, strict=True):
                question = questions[place]
                if isinstance(said, LLMError):
                    failures.append(said)
                    done[place] = self._keep_unrefined(question, FAILED)
                    continue
                try:
                    chosen = _parse_choice(said, question)
                except LLMError as error:
                    self.counts[RETRIED] += 1
                    if attempt == self._max_retries:
                        done[place] = self._keep_unrefined(question, UNREADABLE)
                    else:
                        asked[place] = (*messages, *_retry_messages(said, error, len(question.chains)))
                else:
                    self.counts["refined"] += 1
                    done[place] = replace(question, chosen=chosen, how="refined")
            if not asked:
                break
        if failures and len(failures) == len(questions):
            raise failures[0]
        return [done[place] for place in range(len(questions))]

    def prompt_for(self, question: PooledQuestion) -> str:
        """Return the prompt for a question."""
        lines = [f"{number}. {write_chain(chain)}" for number, chain in enumerate(question.chains, start=1)]
        return fill_placeholders(self._template, question=one_name_line(question.text), evidence="\n".join(lines))

    def _keep_unrefined(self, question: PooledQuestion, why: str) -> PooledQuestion:
        self.counts[why] += 1
        return replace(question, chosen=question.weak, how="unrefined")


MOST_EACH = 6
"""Chains of a question that `EachChainRefiner` asks about. Our own choice."""
EACH_MARGIN = 0.15
"""How far below the best shortest path, in log-odds, another one is chosen by it. Our own choice."""


class EachChainRefiner:
    """Asks a chat model of one chain at a time whether it says what the question asks.

    A small model that reads all chains names them all, or the first ones; asked about each it tells them apart. A
    chain's score is the log-odds of "yes", by the log-probability of the reply's first token; 1 or −1 from an endpoint
    that gives none. Chosen are the shortest paths within `margin` of the best one, and of the other chains those that
    score at least as much as that one. At most `most` chains are asked about: the shortest paths, then those whose line
    is nearest to the question for `encoder`. `counts` as in `LLMRefiner`.
    """

    batch = 8
    how = ", each chain"

    def __init__(self, encoder: SentenceEncoder, *, margin: float = EACH_MARGIN, most: int = MOST_EACH) -> None:
        self._template = Path(__file__).with_name("refine-each-prompt.txt").read_text(encoding="utf-8")
        self._encoder = encoder
        self._margin = margin
        self._most = most
        self.counts: Counter[str] = Counter(dict.fromkeys(COUNTS, 0))

    def refine(self, questions: Sequence[PooledQuestion]) -> Steps[list[PooledQuestion]]:
        """Return the questions with their chosen chains; their prompts are sent concurrently.

        Raises the first `LLMError` if no question was answered.
        """
        offered = [self.offer(question) for question in questions]
        completed: list[Completed] = yield from send_prompts(
            [
                Prompt(self.prompt_for(question, number), logprobs=True, max_tokens=1, is_read=_is_yes_or_no)
                for question, numbers in zip(questions, offered, strict=True)
                for number in numbers
            ]
        )
        failures = [each for each in completed if isinstance(each, LLMError)]
        if failures and len(failures) == len(completed):
            raise failures[0]
        said = iter(completed)
        return [
            self._choose(question, {number: next(said) for number in numbers})
            for question, numbers in zip(questions, offered, strict=True)
        ]

    def offer(self, question: PooledQuestion) -> list[int]:
        """Return the numbers of the chains that are asked about."""
        others = [number for number in range(len(question.chains)) if number not in set(question.weak)]
        room = max(self._most - len(question.weak), 0)
        if len(others) > room > 0:
            lines = [write_chain(question.chains[number]) for number in others]
            asked, *vectors = self._encoder.encode([question.text, *lines])
            nearest = np.argsort(-(np.stack(vectors) @ asked), kind="stable")[:room]
            others = sorted(others[place] for place in nearest.tolist())
        return [*question.weak[: self._most], *others[:room]]

    def prompt_for(self, question: PooledQuestion, number: int) -> str:
        """Return the prompt for a chain; the chain is last, so that a server that keeps what it has read reads the rest
        once."""
        answer = next((_name(chain.names[-1]) for chain in question.chains if chain.kind == "path"), UNNAMED)
        return fill_placeholders(
            self._template,
            question=one_name_line(question.text),
            evidence=f"answer: {answer}\nline: {write_chain(question.chains[number])}",
        )

    def _choose(self, question: PooledQuestion, said: Mapping[int, Completed]) -> PooledQuestion:
        scores = {
            number: log_odds
            for number, each in said.items()
            if isinstance(each, Completion) and (log_odds := read_log_odds(each)) is not None
        }
        paths = [number for number in question.weak if number in scores]
        if not paths:
            failed = all(isinstance(each, LLMError) for each in said.values())
            why = FAILED if failed else UNREADABLE
            self.counts[why] += 1
            return replace(question, chosen=question.weak, how="unrefined")
        best = max(scores[number] for number in paths)
        bars = {number: best - self._margin if number in paths else best for number in scores}
        self.counts["refined"] += 1
        chosen = tuple(sorted(number for number, score in scores.items() if score >= bars[number]))
        return replace(question, chosen=chosen, how="refined")


_YES_OR_NO = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


def _is_yes_or_no(content: str) -> bool:
    return _YES_OR_NO.match(content) is not None


def read_log_odds(said: Completion) -> float | None:
    """Return the log-odds of "yes" in a reply of yes or no, ln(p / (1 − p)); None for any other reply."""
    found = None if said.refusal is not None else _YES_OR_NO.match(said.content)
    if found is None:
        return None
    sign = 1.0 if found[1].lower() == "yes" else -1.0
    if not said.logprobs:
        return sign
    p = min(max(math.exp(said.logprobs[0][1]), 1e-6), 1 - 1e-6)
    return sign * math.log(p / (1 - p))


def write_chain(chain: PoolChain) -> str:
    """Return a chain as one line, with the direction of each triple."""
    words = [_name(chain.names[0])]
    for step, name in zip(chain.steps, chain.names[1:], strict=True):
        inverse = step.startswith(INVERSE)
        arrow = "<-" if inverse else "->"
        words += [arrow, one_name_line(step.removeprefix(INVERSE)), arrow, _name(name)]
    return " ".join(words) + (f" (1 of {chain.count:,})" if chain.count > 1 else "")


def _name(name: str) -> str:
    return one_name_line(name, MAX_NAME_CHARS) if name else UNNAMED


def _parse_choice(said: Completion, question: PooledQuestion) -> tuple[int, ...]:
    if said.refusal is not None:
        raise LLMError("the model refused")
    return parse_chosen_numbers(said.content, len(question.chains))


def _is_choice(content: str, num_chains: int) -> bool:
    try:
        parse_chosen_numbers(content, num_chains)
    except LLMError:
        return False
    return True


def _retry_messages(said: Completion, error: LLMError, num_chains: int) -> tuple[Message, Message]:
    told = (
        f"This could not be used: {error}. Reply with one JSON object and nothing else, as "
        f'{{"chains": [1]}}, with at least one number from 1 to {num_chains}.'
    )
    return Message("assistant", said.content or (said.refusal or "")), Message("user", told)


def pool_of(path: Path) -> PoolFile:
    """Read a candidate pool. Raises `InputError` if the file is no pool, or damaged."""
    try:
        return read_pool(path)
    except MinedFileError as error:
        raise InputError(str(error)) from error


def refine_by_llm(
    pool: PoolFile,
    settings: Settings,
    cache: Path,
    refiner: LLMRefiner | EachChainRefiner | None = None,
    *,
    progress: Progress = ignore_progress,
) -> PoolFile:
    """Return the pool as refined by the language model of the settings; refiner: how it is asked, by default of all
    chains of a question at once.

    Replies are stored in the settings' cache, else in `cache`, so that they are paid for once. Raises `LLMError` if no
    model is configured, or no question of a batch is answered, for example when the budget is spent.
    """
    refiner = refiner or LLMRefiner()
    chat = ChatGateway.of(settings if settings.llm_cache else replace(settings, llm_cache=str(cache)))
    found: list[PooledQuestion] = []
    try:
        progress("asking", 0, len(pool.questions))
        for start in range(0, len(pool.questions), refiner.batch):
            found += _drive_steps(refiner.refine(pool.questions[start : start + refiner.batch]), chat)
            progress("asking", len(found), len(pool.questions))
    finally:
        chat.close()
    usage = chat.usage
    spent = {"calls": usage.calls, "from the cache": usage.cached, "tokens": usage.tokens}
    return pool.apply_refinement(found, chat.endpoint.model + refiner.how, {**refiner.counts, **spent})


Scoring = tuple[PathScorer, Collection[str], float]
"""A scorer, the relations that it knows, and the margin of `choose_by_score`."""


def refine_by_scorer(
    pool: PoolFile,
    opened: PerProcess[Scoring],
    name: str,
    *,
    workers: Workers = HERE,
    progress: Progress = ignore_progress,
) -> PoolFile:
    """Return the pool with the shortest paths that score best for the question; see `choose_by_score`.

    Raises `InputError` for a pool of a graph with other relations than the scorer knows.
    """
    relations = opened.value[1]
    steps = (step for question in pool.questions for chain in question.chains for step in chain.steps)
    unknown = next((step for step in steps if step.removeprefix(INVERSE) not in relations), None)
    if unknown is not None:
        raise InputError(
            f"the pool is of another graph: this one has no relation {one_line(unknown, 80)}: mine the pool again"
        )
    batches = [pool.questions[start : start + BATCH] for start in range(0, len(pool.questions), BATCH)]
    found: list[PooledQuestion] = []
    progress("scoring", 0, len(pool.questions))
    for refined in workers.map(partial(_refine_by_scorer, opened), batches):
        found += refined
        progress("scoring", len(found), len(pool.questions))
    return pool.apply_refinement(found, name, {"refined": len(found)})


def _refine_by_scorer(opened: PerProcess[Scoring], questions: Sequence[PooledQuestion]) -> list[PooledQuestion]:
    return choose_by_score(opened.value[0], opened.value[2], questions)


def compute_supervision_sizes(pool: PoolFile) -> dict[str, float]:
    """Return the means per question of shortest paths and of supervision chains."""
    return {
        "shortest paths": fmean(len(question.weak) for question in pool.questions),
        "chosen": fmean(len(question.supervision) for question in pool.questions),
    }


def _drive_steps(steps: Steps[list[PooledQuestion]], chat: ChatGateway) -> list[PooledQuestion]:
    def send(group: object) -> list[Completed]:
        assert isinstance(group, tuple)
        return chat.complete([call for call in group if isinstance(call, Prompt)])

    return run_steps(steps, send)
