"""Relation paths as a language model reads and writes them: ``<PATH> a <SEP> b`` and its own end token.

RoG's form, which ReG@Path has (appendix D.3). Deviations: the path ends with the model's end token, and the marks are
written in the tokens that the model has, so that no embedding is new and all that learns is the LoRA. Every piece is
cut into tokens by itself: a path has the same tokens wherever it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...causal_lm import CausalLMError
from ..paths.vocabulary import Vocabulary

Tokens = tuple[int, ...]

MAX_QUESTION_CHARS = 1_000
PROMPT = "Question: {question}\nTopic: {topic}\nRelations that lead from the topic to the answer:\n<PATH>"
SEPARATOR = " <SEP>"


class PlanText:
    """Prompts and paths as tokens. Raises `CausalLMError` for a tokenizer without an end token."""

    def __init__(self, tokenizer: Any, vocabulary: Vocabulary) -> None:
        if tokenizer.eos_token_id is None:
            raise CausalLMError("the language model's tokenizer has no end token: expected one, to end a path with")
        self.end = int(tokenizer.eos_token_id)
        self.padding = int(tokenizer.pad_token_id)
        self._tokenizer = tokenizer
        self._vocabulary = vocabulary
        self.separator = self._pieces(SEPARATOR)
        self._of_step: dict[str, Tokens] = {}

    def prompt(self, question: str, topic: str) -> Tokens:
        """Return what the model reads before it writes a path from a topic, by its name."""
        text = PROMPT.format(question=question[:MAX_QUESTION_CHARS], topic=topic)
        tokens = tuple(self._tokenizer(text)["input_ids"])
        return tokens[:-1] if tokens[-1] == self.end else tokens

    def step(self, step: str) -> Tokens:
        """Return the tokens of a relation as it is walked."""
        if step not in self._of_step:
            self._of_step[step] = self._pieces(f" {self._vocabulary.texts[self._vocabulary.tokens[step]]}")
        return self._of_step[step]

    def path(self, steps: Sequence[str]) -> Tokens:
        """Return the tokens of a path, without its end."""
        found: Tokens = ()
        for number, step in enumerate(steps):
            found += (self.separator if number else ()) + self.step(step)
        return found

    def _pieces(self, text: str) -> Tokens:
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])
