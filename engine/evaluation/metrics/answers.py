"""Score sets of answers: F1, Hit, Hits@1, and RoG's own variants.

Conventions: where there is no gold answer (to abstain is right) all scores are 1 if nothing was predicted, else 0;
where there is one and nothing was predicted all are 0.

Source: the evaluation script of RoG (Luo et al. 2024, "Reasoning on Graphs"), which many later systems took over.
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
class Predicted:
    """One prediction: the name it goes by and, where the system knows it, the entity's id.

    Of one question the predictions of one id go by one name; the first one's counts where they do not.
    """

    name: str
    id: str | None = None


def normalise_answer(text: str) -> str:
    """Return what spellings of a name share: case, NFKC, underscores, punctuation, English articles, space set aside.

    After SQuAD's answer normalisation (Rajpurkar et al. 2016). Deviations: Unicode's punctuation (category P) instead
    of ASCII's, so that "C++" stays; a decimal point and a minus sign before a number stay. A text of which nothing
    would be left ("The The", "!!!") stays as it is but for case and space, so that no text matches everything.
    """
    folded = fold_spelling(text)
    kept = "".join(c for c in folded.replace("_", " ") if c in ".-" or unicodedata.category(c)[0] != "P")
    kept = _NO_MINUS_SIGN.sub("", _NO_DECIMAL_POINT.sub("", kept))
    words = [word for word in kept.split() if word not in ARTICLES]
    return fold_spelling(" ".join(words)) or " ".join(folded.split())


def distinct_gold(gold: Sequence[GoldAnswer]) -> tuple[GoldAnswer, ...]:
    """Return the gold answers, each once: those of one id are one with all its names, as are those of equal names."""
    names: dict[str | frozenset[str], dict[str, None]] = {}
    for answer in gold:
        key = answer.id or frozenset(map(normalise_answer, answer.names))
        names.setdefault(key, {}).update(dict.fromkeys(answer.names))
    return tuple(GoldAnswer(key if isinstance(key, str) else None, tuple(known)) for key, known in names.items())


def match_predictions(predictions: Sequence[Predicted], gold: Sequence[GoldAnswer]) -> tuple[bool, ...]:
    """Return for each prediction, in order of rank, whether it is right, by one-to-one matching.

    A maximum matching of predictions and `distinct_gold` where they agree. Earlier ranks are served first: of all
    matchings this one's mask is the lexicographically greatest, which no maximum matching is larger than (Kuhn's
    augmenting paths in order of rank). A prediction given before (the same id, or no ids and the same name) is wrong.
    """
    candidates = _candidates(predictions, distinct_gold(gold))
    holder: dict[int, int] = {}
    dead: set[int] = set()
    return tuple(_is_served(prediction, candidates, holder, dead) for prediction in range(len(predictions)))


def _candidates(predictions: Sequence[Predicted], gold: Sequence[GoldAnswer]) -> list[list[int]]:
    """Return for each prediction the indexes of the gold answers it agrees with; none where it was given before."""
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


def _is_served(start: int, candidates: list[list[int]], holder: dict[int, int], dead: set[int]) -> bool:
    """Give the prediction a gold answer, moving earlier ones to others where need be; return whether it has one.

    `holder` is by gold answer the prediction that has it; `dead` are the gold answers that lead to no free one.
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
"""Also of a question that failed or timed out: that is no abstention, whatever the gold answers are."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What micro-averages are made of: of one question, how many predictions were right, made and to be made."""

    num_right: int
    num_predicted: int
    num_gold: int

    def __post_init__(self) -> None:
        if not 0 <= self.num_right <= min(self.num_predicted, self.num_gold):
            raise ValueError(f"expected 0 ≤ num_right ≤ num_predicted and num_gold, found {self}")


def strict_scores(predictions: Sequence[Predicted], gold: Sequence[GoldAnswer]) -> AnswerScores:
    """Return the scores of ranked predictions, right where `match_predictions` says so.

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


def answer_counts(predictions: Sequence[Predicted], gold: Sequence[GoldAnswer]) -> Counted:
    """Return the counts of one question; of one that failed, with no predictions."""
    return Counted(sum(match_predictions(predictions, gold)), len(predictions), len(distinct_gold(gold)))


def micro_f1(counts: Sequence[Counted]) -> float:
    """Return 2 Σr / (Σp + Σg) over all questions asked (micro-average; Manning et al. 2008, section 13.6).

    1 where nothing was predicted and nothing was to be; a right abstention adds nothing. No questions: `ValueError`.
    """
    if not counts:
        raise ValueError("expected the counts of at least one question, found none")
    total = sum(count.num_predicted + count.num_gold for count in counts)
    return 2 * sum(count.num_right for count in counts) / total if total else 1.0


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
