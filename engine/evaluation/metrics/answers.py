"""Score sets of answers: F1, Hit, Hits@1, and RoG's own variants.

Conventions: without a gold answer (abstaining is right) all scores are 1 if nothing was predicted, else 0; with a gold
answer and no prediction all are 0.

Source: the evaluation script of RoG (Luo et al. 2024, "Reasoning on Graphs"), which many later systems use.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from ....models.f1 import f1_of
from ....models.words import ARTICLES, fold_spelling
from ...gold_questions import GoldAnswer

_NO_DECIMAL_POINT = re.compile(r"(?<!\d)\.|\.(?!\d)")
_NO_MINUS_SIGN = re.compile(r"(?<=\S)-|-(?!\d)")


@dataclass(frozen=True, slots=True)
class Prediction:
    """One prediction: its name and, if the system knows it, the entity's id.

    Predictions of one question with the same id have one name: the first one's.
    """

    name: str
    id: str | None = None


def normalise_answer(text: str) -> str:
    """Return the normal form of a name, without case, underscores, punctuation, English articles and extra space, in
    NFKC.

    After SQuAD's answer normalisation (Rajpurkar et al. 2016). Deviations: Unicode's punctuation (category P) instead
    of ASCII's, so that "C++" stays; a decimal point and a minus sign before a number stay. A text that would become
    empty ("The The", "!!!") loses only case and extra space, so that no text matches everything.
    """
    folded = fold_spelling(text)
    kept = "".join(c for c in folded.replace("_", " ") if c in ".-" or unicodedata.category(c)[0] != "P")
    kept = _NO_MINUS_SIGN.sub("", _NO_DECIMAL_POINT.sub("", kept))
    words = [word for word in kept.split() if word not in ARTICLES]
    return fold_spelling(" ".join(words)) or " ".join(folded.split())


def distinct_gold(gold: Sequence[GoldAnswer]) -> tuple[GoldAnswer, ...]:
    """Return the distinct gold answers: answers with the same id, or with equal names, become one with all names."""
    names: dict[str | frozenset[str], dict[str, None]] = {}
    for answer in gold:
        key = answer.id or frozenset(map(normalise_answer, answer.names))
        names.setdefault(key, {}).update(dict.fromkeys(answer.names))
    return tuple(GoldAnswer(key if isinstance(key, str) else None, tuple(known)) for key, known in names.items())


def match_predictions(predictions: Sequence[Prediction], gold: Sequence[GoldAnswer]) -> tuple[bool, ...]:
    """Return for each prediction, in rank order, whether it is right, by one-to-one matching.

    A maximum matching of predictions and `distinct_gold`. Earlier ranks take precedence: this matching's mask is the
    lexicographically greatest of all maximum matchings (Kuhn's augmenting paths in rank order). A repeated prediction
    (the same id, or no ids and the same name) is wrong.
    """
    candidates = _candidates(predictions, distinct_gold(gold))
    holder: dict[int, int] = {}
    dead: set[int] = set()
    return tuple(_augment(prediction, candidates, holder, dead) for prediction in range(len(predictions)))


def _candidates(predictions: Sequence[Prediction], gold: Sequence[GoldAnswer]) -> list[list[int]]:
    """Return for each prediction the indices of the gold answers it agrees with; empty for a repeated prediction."""
    by_id = {answer.id: index for index, answer in enumerate(gold) if answer.id}
    by_name: dict[str, list[int]] = {}
    for index, answer in enumerate(gold):
        for name in {normalise_answer(name) for name in answer.names}:
            by_name.setdefault(name, []).append(index)
    given: set[tuple[bool, str]] = set()
    candidates: list[list[int]] = []
    for predicted in predictions:
        name = normalise_answer(predicted.name)
        key = (True, predicted.id) if predicted.id else (False, name)
        named = by_name.get(name, [])
        if key in given:
            candidates.append([])
        elif predicted.id:
            own = [by_id[predicted.id]] if predicted.id in by_id else []
            candidates.append(own + [index for index in named if not gold[index].id])
        else:
            candidates.append(named)
        given.add(key)
    return candidates


def _augment(start: int, candidates: list[list[int]], holder: dict[int, int], dead: set[int]) -> bool:
    """Match the prediction with a gold answer, moving earlier ones to others if needed; return whether it succeeded.

    `holder` maps gold answers to their predictions; `dead` are gold answers from which no free one can be reached.
    """
    seen_from: dict[int, int] = {}
    left_for: dict[int, int] = {}
    queue = deque([start])
    while queue:
        prediction = queue.popleft()
        for answer in candidates[prediction]:
            if answer in seen_from or answer in dead:
                continue
            seen_from[answer] = prediction
            if answer in holder:
                left_for[holder[answer]] = answer
                queue.append(holder[answer])
                continue
            free = answer
            while True:
                holder[free] = seen_from[free]
                if holder[free] == start:
                    return True
                free = left_for[holder[free]]
    dead.update(seen_from)
    return False


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """Scores of one question; each in [0, 1]."""

    hits_at_1: float
    hit: float
    precision: float
    recall: float
    f1: float
    exact_match: float


ALL_RIGHT = AnswerScores(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
ALL_WRONG = AnswerScores(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""Also of a question that failed or timed out: a failure is no abstention, whatever the gold answers are."""


@dataclass(frozen=True, slots=True)
class AnswerCounts:
    """Counts of one question for micro-averages: right predictions, predictions, gold answers."""

    num_right: int
    num_predicted: int
    num_gold: int

    def __post_init__(self) -> None:
        if not 0 <= self.num_right <= min(self.num_predicted, self.num_gold):
            raise ValueError(f"expected 0 ≤ num_right ≤ num_predicted and num_gold, found {self}")


def strict_scores(predictions: Sequence[Prediction], gold: Sequence[GoldAnswer]) -> AnswerScores:
    """Return the scores of ranked predictions, matched by `match_predictions`.

    With r right of p predictions and g distinct gold answers: precision r / p, recall r / g, F1 2r / (p + g) (their
    harmonic mean), Hit [r > 0], Hits@1 [the first is right], exact match [r = p = g].
    Source: van Rijsbergen 1979, chapter 7 (F); the mean of F1 over questions is WebQSP's (Yih et al. 2016).
    """
    if not gold:
        return ALL_WRONG if predictions else ALL_RIGHT
    if not predictions:
        return ALL_WRONG
    right = match_predictions(predictions, gold)
    num_right, num_predicted, num_gold = sum(right), len(predictions), len(distinct_gold(gold))
    return AnswerScores(
        hits_at_1=float(right[0]),
        hit=float(num_right > 0),
        precision=num_right / num_predicted,
        recall=num_right / num_gold,
        f1=2 * num_right / (num_predicted + num_gold),
        exact_match=float(num_right == num_predicted == num_gold),
    )


def answer_counts(predictions: Sequence[Prediction], gold: Sequence[GoldAnswer]) -> AnswerCounts:
    """Return the counts of one question; for a failed one pass no predictions."""
    return AnswerCounts(sum(match_predictions(predictions, gold)), len(predictions), len(distinct_gold(gold)))


def micro_f1(counts: Sequence[AnswerCounts]) -> float:
    """Return 2 Σr / (Σp + Σg) over all questions (micro-average; Manning et al. 2008, section 13.6).

    1 if nothing was predicted and there are no gold answers; a right abstention adds nothing. Raises `ValueError`
    without questions.
    """
    if not counts:
        raise ValueError("expected the counts of at least one question, found none")
    total = sum(count.num_predicted + count.num_gold for count in counts)
    return 2 * sum(count.num_right for count in counts) / total if total else 1.0


_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


@dataclass(frozen=True, slots=True)
class RogScores:
    """The scores, each clipped to 1; `exceeded` tells whether precision (and so perhaps F1) was above 1."""

    scores: AnswerScores
    exceeded: bool


def rog_scores(predictions: Sequence[Prediction], gold: Sequence[GoldAnswer]) -> RogScores:
    """Return the scores of ranked predictions by the substring rule; ids are ignored.

    Texts are lower-cased; ASCII punctuation, articles and extra white space are removed. A gold answer is matched if
    its text is a substring of the texts of all predictions joined by spaces. With m of g gold answers matched and p
    predictions: precision m / p, recall ("accuracy" in the script) m / g, F1 their harmonic mean, Hit [m > 0]. One
    prediction may match several gold answers, so m / p and F1 can exceed 1.

    Ours, not in the script: Hits@1 [a gold answer is matched in the first prediction], exact match [precision ≥ 1 and
    recall = 1]. Deviations: underscores are spaces, as systems show names; values above 1 are clipped and reported by
    `exceeded`; any name of a gold answer matches (its id if it has no name); a question without gold answers is scored
    as above, where the script fails. As in the script, duplicate gold answers count each, and a gold answer whose text
    becomes empty ("The The") is matched by any prediction.
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


def _num_matched(predictions: Sequence[Prediction], texts: Sequence[tuple[str, ...]]) -> int:
    joined = _text(" ".join(predicted.name for predicted in predictions))
    return sum(any(text in joined for text in names) for names in texts)
