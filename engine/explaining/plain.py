"""Explanations as plain data for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..evidence.plain import FORMAT, chain_data, number
from .explanation import Explanation, Word


def explanation_data(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation: each chain as in evidence, with the weights of words and of their tokens."""
    return {
        "format": FORMAT,
        "id": explanation.question.id,
        "question": explanation.question.text,
        "items": [
            {
                "rank": rank,
                "score": number(path.score),
                **chain_data(path.path),
                "cross_score": None if path.cross_score is None else number(path.cross_score),
                "question_words": _words_data(path.question),
                "path_words": _words_data(path.words),
            }
            for rank, path in enumerate(explanation.paths, start=1)
        ],
        "note": explanation.note,
    }


def _words_data(words: Sequence[Word]) -> list[dict[str, Any]]:
    return [
        {
            "word": word.text,
            "weight": round(word.weight, 6),
            "tokens": [{"token": token, "weight": round(weight, 6)} for token, weight in word.tokens],
        }
        for word in words
    ]
