"""Choose the supervision of each question from its candidate pool by a language model (ReG, section 4.1)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from ...models.mined import INVERSE, PoolChain, PooledQuestion, PoolFile
from ..answering.llm import fill_placeholders, find_json_objects
from ..errors import LLMError
from ..evidence.text import one_line as one_name_line
from ..llm.gateway import ChatGateway
from ..llm.prompts import Completion, Message, Prompt
from ..progress import Progress, ignore_progress
from ..settings import Settings

_KEYS = {"chains", "chain", "numbers", "selected", "chosen", "answer", "answers"}
_NUMBER = re.compile(r"(?<![\w.-])\d{1,6}(?![\w.]|-\w)")


def parse_chosen_numbers(content: str, num_chains: int) -> tuple[int, ...]:
    """Return the indices of the chosen chains, from 0, ascending.

    The expected reply is ``{"chains": [1, 3]}``, counted from 1. Also accepted: text around the object, other keys,
    numbers as text, a single number instead of a list, and a bare list; of several objects or lists the last counts.
    Numbers without a chain are ignored. Raises `LLMError` if no chain is left.
    """
    content = re.sub(r"\A.*</think>", "", content, flags=re.DOTALL).strip()
    replies = [
        value[key] for value in find_json_objects(content) if isinstance(value, dict) for key in _KEYS & value.keys()
    ]
    said = json.dumps(replies[-1]) if replies else "".join(re.findall(r"\[[^\[\]]*\]", content)[-1:])
    numbers = [int(number) for number in _NUMBER.findall(said)]
    chosen = sorted({number - 1 for number in numbers if 1 <= number <= num_chains})
    if not chosen:
        found = f"found {', '.join(map(str, numbers[:5]))}" if numbers else "found none"
        raise LLMError(f"expected numbers from 1 to {num_chains} in the reply, {found}")
    return tuple(chosen)


UNNAMED = "…"
MAX_NAME_CHARS = 80
FAILED = "unrefined: no reply"
UNREADABLE = "unrefined: no reply could be read"
RETRIED = "replies that could not be read"
COUNTS = ("refined", FAILED, UNREADABLE, RETRIED)
MAX_RETRIES = 2
BATCH = 64
"""Questions that are refined at a time."""


class LLMRefiner:
    """Asks a chat model which chains are the supervision of a question.

    An unreadable reply is answered with the error, up to `MAX_RETRIES` times; after that the shortest paths stay
    (`unrefined`). `counts` has the number of each of `COUNTS`.
    """

    def __init__(self) -> None:
        self._template = Path(__file__).with_name("refine-prompt.txt").read_text(encoding="utf-8")
        self.counts: Counter[str] = Counter(dict.fromkeys(COUNTS, 0))

    def refine(self, questions: Sequence[PooledQuestion], chat: ChatGateway) -> list[PooledQuestion]:
        """Return the questions with their chosen chains; their prompts are sent concurrently.

        Raises the first `LLMError` if no question was answered, because nothing would be refined.
        """
        asked: dict[int, tuple[Message, ...]] = {
            place: (Message("user", self.prompt_for(question)),) for place, question in enumerate(questions)
        }
        done: dict[int, PooledQuestion] = {}
        failures: list[LLMError] = []
        for attempt in range(MAX_RETRIES + 1):
            completed = chat.complete(
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
                    if attempt == MAX_RETRIES:
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


def refine_pool(pool: PoolFile, settings: Settings, cache: Path, *, progress: Progress = ignore_progress) -> PoolFile:
    """Return the pool as refined by the language model of the settings.

    Replies are stored in the settings' cache, else in `cache`, so that they are paid for once. Raises `LLMError` if no
    model is configured, or no question of a batch is answered, for example when the budget is spent.
    """
    refiner = LLMRefiner()
    found: list[PooledQuestion] = []
    with closing(ChatGateway.of(settings if settings.llm_cache else replace(settings, llm_cache=str(cache)))) as chat:
        progress("asking", 0, len(pool.questions))
        for start in range(0, len(pool.questions), BATCH):
            found += refiner.refine(pool.questions[start : start + BATCH], chat)
            progress("asking", len(found), len(pool.questions))
    spent = {"calls": chat.usage.calls, "from the cache": chat.usage.cached, "tokens": chat.usage.tokens}
    return pool.apply_refinement(found, chat.endpoint.model, {**refiner.counts, **spent})
