"""Scores by the substring rule of published baselines, so that figures can be set beside theirs.

Source: the evaluation script of RoG (Luo et al. 2024, "Reasoning on Graphs"), which many later systems took over.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

from ....models.f1 import f1_of
from ...questions.gold import GoldAnswer
from .answers import ALL_RIGHT, ALL_WRONG, AnswerScores
from .matching import Predicted

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


@dataclass(frozen=True, slots=True)
class RogScores:
    """The scores, each clipped to 1; `exceeded` says that precision, and with it perhaps F1, was above 1 before."""

    scores: AnswerScores
    exceeded: bool


def rog_scores(predictions: Sequence[Predicted], gold: Sequence[GoldAnswer]) -> RogScores:
    """Return the scores of ranked predictions by the substring rule; ids count for nothing.

    A text is lower-cased, its ASCII punctuation, articles and extra white space taken out. A gold answer is matched
    where its text is a substring of the text of all predictions joined by spaces. With m of g gold answers matched and
    p predictions: precision m / p, recall ("accuracy" in the script) m / g, F1 their harmonic mean, Hit [m > 0].
    One prediction may match several gold answers: m / p and F1 can exceed 1.

    Ours, the script having none: Hits@1 [a gold answer is matched in the first prediction], exact match [precision ≥ 1
    and recall = 1]. Deviations: underscores are spaces, as
    systems show names; figures above 1 are clipped, and `exceeded` says so; any name of a gold answer matches
    (its id where it has no name); a question without gold answers is scored as in `answers`, where the script fails.
    As in the script a gold answer stays as often as it is given, and one whose text comes out empty ("The The") is
    matched by any prediction.
    """
    if not gold:
        return RogScores(ALL_WRONG if predictions else ALL_RIGHT, exceeded=False)
    if not predictions:
        return RogScores(ALL_WRONG, exceeded=False)
    texts = [tuple(_text(name) for name in answer.names or (answer.id or "",)) for answer in gold]
    num_matched = _num_matched(predictions, texts)
    precision, recall = num_matched / len(predictions), num_matched / len(gold)
    f1 = f1_of(precision, recall)
    scores = AnswerScores(
        hits_at_1=float(_num_matched(predictions[:1], texts) > 0),
        hit=float(num_matched > 0),
        precision=min(precision, 1.0),
        recall=recall,
        f1=min(f1, 1.0),
        exact_match=float(num_matched == len(gold) >= len(predictions)),
    )
    return RogScores(scores, exceeded=precision > 1)


def _text(name: str) -> str:
    return " ".join(_ARTICLE.sub(" ", name.replace("_", " ").lower().translate(_NO_PUNCTUATION)).split())


def _num_matched(predictions: Sequence[Predicted], texts: Sequence[tuple[str, ...]]) -> int:
    joined = _text(" ".join(predicted.name for predicted in predictions))
    return sum(any(text in joined for text in names) for names in texts)
