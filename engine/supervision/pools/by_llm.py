"""Supervision refined by a language model (ReG, section 4.1): numbered chains go in, the numbers of some come out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files

from ....models.mined.pool import PoolChain, PooledQuestion
from ...answering.llm import filled
from ...chat.prompts import Completed, Completion, Message, Prompt, prompted
from ...errors import LLMError
from ...evidence.text import one_line
from ...steps import Steps
from .. import pools
from .chosen_numbers import chosen_numbers

UNNAMED = "…"
MAX_NAME_CHARS = 80
INVERSE = "^"
FAILED = "unrefined: no reply"
UNREADABLE = "unrefined: no reply could be read"
RETRIED = "replies that could not be read"
COUNTS = ("refined", FAILED, UNREADABLE, RETRIED)


class LLMRefiner:
    """Asks a chat model which chains are the supervision of a question.

    A reply that cannot be read is answered with what was wrong with it, up to `max_retries` times; where there is still
    none the shortest paths stay (`unrefined`). `counts` has how often which of `COUNTS` happened.
    """

    def __init__(self, *, max_retries: int = 2) -> None:
        self._template = files(pools).joinpath("prompt.txt").read_text(encoding="utf-8")
        self._max_retries = max_retries
        self.counts: Counter[str] = Counter(dict.fromkeys(COUNTS, 0))

    def refine(self, questions: Sequence[PooledQuestion]) -> Steps[list[PooledQuestion]]:
        """Return the questions with what was chosen; their prompts are sent at the same time.

        Raises `LLMError`, the first one's, where not one of several questions was answered: nothing would be refined.
        """
        asked: dict[int, tuple[Message, ...]] = {
            place: (Message("user", self.prompt_for(question)),) for place, question in enumerate(questions)
        }
        done: dict[int, PooledQuestion] = {}
        failures: list[LLMError] = []
        for attempt in range(self._max_retries + 1):
            completed: list[Completed] = yield from prompted(
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
                    done[place] = self._unrefined(question, FAILED)
                    continue
                try:
                    chosen = _chosen(said, question)
                except LLMError as error:
                    self.counts[RETRIED] += 1
                    if attempt == self._max_retries:
                        done[place] = self._unrefined(question, UNREADABLE)
                    else:
                        asked[place] = (*messages, *_again(said, error, len(question.chains)))
                else:
                    self.counts["refined"] += 1
                    done[place] = replace(question, chosen=chosen, how="refined")
            if not asked:
                break
        if failures and len(failures) == len(questions):
            raise failures[0]
        return [done[place] for place in range(len(questions))]

    def prompt_for(self, question: PooledQuestion) -> str:
        """Return what is asked about a question."""
        lines = [f"{number}. {written(chain)}" for number, chain in enumerate(question.chains, start=1)]
        return filled(self._template, question=one_line(question.text), evidence="\n".join(lines))

    def _unrefined(self, question: PooledQuestion, why: str) -> PooledQuestion:
        self.counts[why] += 1
        return replace(question, chosen=question.weak, how="unrefined")


def written(chain: PoolChain) -> str:
    """Return a chain as one line, each of its facts in its own direction."""
    words = [_name(chain.names[0])]
    for step, name in zip(chain.steps, chain.names[1:], strict=True):
        inverse = step.startswith(INVERSE)
        arrow = "<-" if inverse else "->"
        words += [arrow, one_line(step.removeprefix(INVERSE)), arrow, _name(name)]
    return " ".join(words) + (f" (1 of {chain.count:,})" if chain.count > 1 else "")


def _name(name: str) -> str:
    return one_line(name, MAX_NAME_CHARS) if name else UNNAMED


def _chosen(said: Completion, question: PooledQuestion) -> tuple[int, ...]:
    if said.refusal is not None:
        raise LLMError("the model refused")
    return chosen_numbers(said.content, len(question.chains))


def _is_choice(content: str, num_chains: int) -> bool:
    try:
        chosen_numbers(content, num_chains)
    except LLMError:
        return False
    return True


def _again(said: Completion, error: LLMError, num_chains: int) -> tuple[Message, Message]:
    told = (
        f"This could not be used: {error}. Reply with one JSON object and nothing else, as "
        f'{{"chains": [1]}}, with at least one number from 1 to {num_chains}.'
    )
    return Message("assistant", said.content or (said.refusal or "")), Message("user", told)
