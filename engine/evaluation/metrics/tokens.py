"""What the language model cost: mean tokens of prompts and completions per question asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of all calls made for one question, those of failed calls too; zero where no call was made."""

    prompt: int
    completion: int


@dataclass(frozen=True, slots=True)
class MeanTokens:
    """Means over the questions whose tokens are known; `num_unknown` questions are not among them."""

    prompt: float
    completion: float
    num_unknown: int


def mean_tokens(spent: Sequence[Tokens | None]) -> MeanTokens:
    """Return Σ tokens / n over the questions asked; None stands for a question whose server did not say.

    Raises `ValueError` where no question's tokens are known.
    """
    known = [tokens for tokens in spent if tokens is not None]
    if not known:
        raise ValueError(f"expected the tokens of at least one question, found none known of {len(spent)}")
    return MeanTokens(
        prompt=sum(tokens.prompt for tokens in known) / len(known),
        completion=sum(tokens.completion for tokens in known) / len(known),
        num_unknown=len(spent) - len(known),
    )
