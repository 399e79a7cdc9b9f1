"""Score answers and ranked paths against gold answers: pure functions with formula, source and conventions.

The denominator of every mean is the number of questions asked; a question that failed has `ALL_WRONG`. Answers are
scored in two ways: by `strict_scores`, and by `rog_scores` like the published baselines (the evaluation script of RoG,
Luo et al. 2024).

Without a gold answer (abstaining is right) a score is 1 if nothing was predicted or ranked, else 0; with a gold answer
and no prediction or path it is 0. Equal scores keep the order of the stage that gave them. Relations are compared by
name, without regard to direction. k is at least 1. Metrics of gold paths and triples raise `ValueError` without any.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, log2

from ...models.f1 import f1_of
from ...models.words import ARTICLES, fold_spelling
from ..gold_questions import GoldAnswer, GoldPath

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


_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def rog_scores(predictions: Sequence[Prediction], gold: Sequence[GoldAnswer]) -> AnswerScores:
    """Return the scores of ranked predictions by the substring rule; ids are ignored.

    Texts are lower-cased; ASCII punctuation, articles and extra white space are removed. A gold answer is matched if
    its text is a substring of the texts of all predictions joined by spaces. With m of g gold answers matched and p
    predictions: precision m / p, recall ("accuracy" in the script) m / g, F1 their harmonic mean, Hit [m > 0]. One
    prediction may match several gold answers, so m / p and F1 can exceed 1.

    Ours, not in the script: Hits@1 [a gold answer is matched in the first prediction], exact match [precision ≥ 1 and
    recall = 1]. Deviations: underscores are spaces, as systems show names; values above 1 are clipped; any name of
    a gold answer matches (its id if it has no name); a question without gold answers is scored as above, where the
    script fails. As in the script, duplicate gold answers count each, and a gold answer whose text
    becomes empty ("The The") is matched by any prediction.
    """
    if not gold:
        return ALL_WRONG if predictions else ALL_RIGHT
    if not predictions:
        return ALL_WRONG
    texts = [tuple(_text(name) for name in answer.names or (answer.id or "",)) for answer in gold]
    num_matched = _num_matched(predictions, texts)
    precision, recall = num_matched / len(predictions), num_matched / len(gold)
    f1 = f1_of(precision, recall)
    return AnswerScores(
        hits_at_1=float(_num_matched(predictions[:1], texts) > 0),
        hit=float(num_matched > 0),
        precision=min(precision, 1.0),
        recall=recall,
        f1=min(f1, 1.0),
        exact_match=float(num_matched == len(gold) >= len(predictions)),
    )


def _text(name: str) -> str:
    return " ".join(_ARTICLE.sub(" ", name.replace("_", " ").lower().translate(_NO_PUNCTUATION)).split())


def _num_matched(predictions: Sequence[Prediction], texts: Sequence[tuple[str, ...]]) -> int:
    joined = _text(" ".join(predicted.name for predicted in predictions))
    return sum(any(text in joined for text in names) for names in texts)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Whether the item at each rank, best first, is relevant; `num_relevant` also counts relevant items that are
    missing.
    """

    relevant: tuple[bool, ...]
    num_relevant: int

    def __post_init__(self) -> None:
        if sum(self.relevant) > self.num_relevant:
            raise ValueError(f"expected at most {self.num_relevant} relevant places, found {sum(self.relevant)}")


def answer_ranking(predictions: Sequence[Prediction], gold: Sequence[GoldAnswer]) -> Ranking:
    """Return ranked predictions as a ranking, relevant if `match_predictions` says so."""
    return Ranking(match_predictions(predictions, gold), len(distinct_gold(gold)))


def reciprocal_rank(ranking: Ranking) -> float:
    """Return 1 / rank of the first relevant item, 0 without one; its mean is MRR (Voorhees 1999)."""
    if not ranking.num_relevant:
        return float(not ranking.relevant)
    return 1 / (ranking.relevant.index(True) + 1) if any(ranking.relevant) else 0.0


def ndcg_at_k(ranking: Ranking, k: int) -> float:
    """Return DCG@k / ideal DCG@k with DCG = Σ over ranks i ≤ k of rel_i / log2(i + 1) and rel_i in {0, 1}.

    Source: Järvelin & Kekäläinen 2002. Deviations: the discount is log2(i + 1) from the first rank on, as in trec_eval,
    where theirs is log2 i from the second. The ideal ranking begins with min(k, |relevant|) relevant items.
    """
    top = _first_relevant(ranking, k)
    if not ranking.num_relevant:
        return float(not ranking.relevant)
    gain = fsum(1 / log2(rank + 1) for rank, relevant in enumerate(top, start=1) if relevant)
    return gain / fsum(1 / log2(rank + 1) for rank in range(1, min(k, ranking.num_relevant) + 1))


def _first_relevant(ranking: Ranking, k: int) -> tuple[bool, ...]:
    if k < 1:
        raise ValueError(f"expected k of at least 1, found {k}")
    return ranking.relevant[:k]


FoundTriple = tuple[Prediction, str, Prediction]
"""(head, relation, tail)."""

_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class RetrievedPath:
    """A retrieved relation path: its relations in walking order, its distinct ends, and its triples.

    A retriever of single triples gives each as a path of one relation.
    """

    relations: tuple[str, ...]
    ends: tuple[Prediction, ...]
    triples: tuple[FoundTriple, ...] = ()


def hits_at_1_any(paths: Sequence[RetrievedPath], gold: Sequence[GoldAnswer]) -> float:
    """Return [a gold answer is among the ends of the first path]: the generous reading of Hits@1 for paths."""
    if not gold:
        return float(not paths)
    return float(any(match_predictions(paths[0].ends, gold))) if paths else 0.0


def hits_any_at_k(paths: Sequence[RetrievedPath], gold: Sequence[GoldAnswer], k: int) -> float:
    """Return [a gold answer is among the ends of the first k paths]; for k = 1 this is `hits_at_1_any`.

    Source: STAR's results by number of retrieved paths (section 5.3.3), for retrieval alone.
    """
    top = _top(paths, k)
    if not gold:
        return float(not paths)
    return float(any(any(match_predictions(path.ends, gold)) for path in top))


def hits_at_1_expected(paths: Sequence[RetrievedPath], gold: Sequence[GoldAnswer]) -> float:
    """Return |gold among the ends of the first path| / |its ends|: the probability that a random end is right.

    0 if the first path has no ends. Never above `hits_at_1_any`.
    """
    if not gold:
        return float(not paths)
    if not paths or not paths[0].ends:
        return 0.0
    return sum(match_predictions(paths[0].ends, gold)) / len(paths[0].ends)


def answer_recall_at_k(paths: Sequence[RetrievedPath], gold: Sequence[GoldAnswer], k: int) -> float:
    """Return |gold answers among the ends of the first k paths| / |gold answers|, matched one to one.

    Source: the answer recall of SubgraphRAG (Li et al. 2025), over paths.
    """
    top = _top(paths, k)
    if not gold:
        return float(not paths)
    ends = list(dict.fromkeys(end for path in top for end in path.ends))
    return sum(match_predictions(ends, gold)) / len(distinct_gold(gold))


def path_recall_at_k(paths: Sequence[RetrievedPath], gold_paths: Sequence[GoldPath], k: int) -> float:
    """Return |gold relation paths among the first k| / |gold relation paths|, distinct by their relations."""
    found = {path.relations for path in _top(paths, k)}
    wanted = {path.relations for path in gold_paths}
    if not wanted:
        raise ValueError("expected at least one gold path, found none: path recall is for annotated questions")
    return len(found & wanted) / len(wanted)


def gold_path_hit_at_k(paths: Sequence[RetrievedPath], gold_paths: Sequence[GoldPath], k: int) -> float:
    """Return [one of the gold relation paths is among the first k]."""
    return float(path_recall_at_k(paths, gold_paths, k) > 0)


def first_path_right(
    paths: Sequence[RetrievedPath], gold: Sequence[GoldAnswer], gold_paths: Sequence[GoldPath]
) -> float:
    """Return [the first path is a gold relation path, or its ends are exactly the gold answers].

    Our own: two relations with the same meaning lead to the same ends, and annotators wrote one of them.
    """
    if not paths:
        return 0.0
    if gold_path_hit_at_k(paths, gold_paths, 1):
        return 1.0
    right = match_predictions(paths[0].ends, gold)
    return float(bool(right) and all(right) and sum(right) == len(distinct_gold(gold)))


def triple_recall_at_k(paths: Sequence[RetrievedPath], gold_triples: Sequence[tuple[str, str, str]], k: int) -> float:
    """Return |gold triples in the first k paths| / |gold triples|; head and tail match by id or by name.

    Source: the triple recall of SubgraphRAG (Li et al. 2025), where each retrieved triple is its own path.
    """
    top = _top(paths, k)
    wanted = set(gold_triples)
    if not wanted:
        raise ValueError("expected at least one gold triple, found none: triple recall is for annotated questions")
    found = {
        (head, relation, tail)
        for path in top
        for first, relation, last in path.triples
        for head in _keys(first)
        for tail in _keys(last)
    }
    num_found = sum(
        any((h, relation, t) in found for h in _gold_keys(head) for t in _gold_keys(tail))
        for head, relation, tail in wanted
    )
    return num_found / len(wanted)


def _keys(entity: Prediction) -> list[_Key]:
    return ([("id", entity.id)] if entity.id else []) + (
        [("name", normalise_answer(entity.name))] if entity.name else []
    )


def _gold_keys(text: str) -> tuple[_Key, _Key]:
    return ("id", text), ("name", normalise_answer(text))


def _top(paths: Sequence[RetrievedPath], k: int) -> Sequence[RetrievedPath]:
    if k < 1:
        raise ValueError(f"expected k of at least 1, found {k}")
    return paths[:k]
