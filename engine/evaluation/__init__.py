"""Score ranked answers and paths against gold answers, question by question, and say how sure such figures are.

The denominator of every mean is the number of questions asked, and every score lies in [0, 1]. Without a gold answer a
score is 1 if nothing was predicted, else 0; with a gold answer and no prediction it is 0. Relations are compared by
name, without regard to direction.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np
from numpy.typing import NDArray

from ...models.mined_files import compute_f1_from_precision_recall
from ...models.wording import ARTICLES, casefold_nfkc
from ..gold_questions import GoldAnswer, GoldQuestion

CUTS = (1, 2, 3, 5, 10)
"""The k of the metrics of paths at k."""
NUM_PATHS = (3, 5, 7)
"""The numbers of paths in STAR's table (section 5.3.3)."""
_NO_DECIMAL_POINT = re.compile(r"(?<!\d)\.|\.(?!\d)")
_NO_MINUS_SIGN = re.compile(r"(?<=\S)-|-(?!\d)")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


@dataclass(frozen=True, slots=True)
class Prediction:
    """One prediction: its name and, if the system knows it, the entity's id.

    Predictions of one question with the same id have one name: the first one's.
    """

    name: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class RetrievedPath:
    """A retrieved relation path: its relations in walking order, and its distinct ends."""

    relations: tuple[str, ...]
    ends: tuple[Prediction, ...]


def normalise_answer(text: str) -> str:
    """Return a name without case, underscores, punctuation, English articles and extra space, in NFKC.

    After SQuAD's answer normalisation (Rajpurkar et al. 2016). Deviations: Unicode's punctuation (category P) instead
    of ASCII's, so that "C++" stays; a decimal point and a minus sign before a number stay. A text that would become
    empty ("The The", "!!!") loses only case and extra space, so that no text matches everything.
    """
    folded = casefold_nfkc(text)
    kept = "".join(c for c in folded.replace("_", " ") if c in ".-" or unicodedata.category(c)[0] != "P")
    kept = _NO_MINUS_SIGN.sub("", _NO_DECIMAL_POINT.sub("", kept))
    words = [word for word in kept.split() if word not in ARTICLES]
    return casefold_nfkc(" ".join(words)) or " ".join(folded.split())


def merge_equal_gold_answers(gold: Sequence[GoldAnswer]) -> tuple[GoldAnswer, ...]:
    """Return the distinct gold answers: answers with the same id, or with equal names, become one with all names."""
    names: dict[str | frozenset[str], dict[str, None]] = {}
    for answer in gold:
        key = answer.id or frozenset(map(normalise_answer, answer.names))
        names.setdefault(key, {}).update(dict.fromkeys(answer.names))
    return tuple(GoldAnswer(key if isinstance(key, str) else None, tuple(known)) for key, known in names.items())


def judge_predictions(predictions: Sequence[Prediction], gold: Sequence[GoldAnswer]) -> tuple[bool, ...]:
    """Return for each prediction, in rank order, whether it is right, by one-to-one matching.

    A prediction and a gold answer agree by id where both have one, else by a name. The matching is a maximum one of the
    predictions and `merge_equal_gold_answers`, in which earlier ranks take precedence (Kuhn's augmenting paths in rank
    order). A repeated prediction (the same id, or no ids and the same name) is wrong.
    """
    candidates = _candidates(predictions, merge_equal_gold_answers(gold))
    holder: dict[int, int] = {}
    dead: set[int] = set()
    return tuple(_augment(prediction, candidates, holder, dead) for prediction in range(len(predictions)))


def _candidates(predictions: Sequence[Prediction], gold: Sequence[GoldAnswer]) -> list[list[int]]:
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
            while True:
                holder[answer] = seen_from[answer]
                if holder[answer] == start:
                    return True
                answer = left_for[holder[answer]]  # noqa: PLW2901 - back along the path
    dead.update(seen_from)
    return False


def compute_answer_scores(predictions: Sequence[Prediction], gold: Sequence[GoldAnswer]) -> dict[str, float]:
    """Return the scores of ranked predictions that `judge_predictions` judges, by ir-measures.

    With r right of p predictions and g distinct gold answers: precision r / p, recall r / g, F1 2r / (p + g), Hit
    [r > 0], Hits@1 [the first is right], exact match [r = p = g]; MRR and nDCG@10 of the ranking.
    """
    right = judge_predictions(predictions, gold)
    ranked = _rank_scores(right, len(merge_equal_gold_answers(gold)))
    names = {"hits_at_1": "Success@1", "f1": "SetF", "precision": "SetP", "recall": "SetR"}
    strict = {name: ranked[measure] for name, measure in names.items()}
    strict["hit"] = float(any(right)) if gold else ranked["SetF"]
    strict["exact_match"] = float(strict["f1"] == 1)
    return {
        **{f"strict/{name}": value for name, value in strict.items()},
        "mrr": ranked["RR"],
        "ndcg@10": ranked["nDCG@10"],
    }


def _rank_scores(right: Sequence[bool], num_gold: int) -> dict[str, float]:
    import ir_measures

    measures = list(map(ir_measures.parse_measure, ("Success@1", "SetP", "SetR", "SetF", "RR", "nDCG@10")))
    if not right or not num_gold:
        return dict.fromkeys(map(str, measures), float(not right and not num_gold))
    relevant = [str(rank) for rank, is_right in enumerate(right) if is_right]
    missing = [f"missing {number}" for number in range(num_gold - len(relevant))]
    gold = {"question": dict.fromkeys(relevant + missing, 1)}
    run = {"question": {str(rank): -float(rank) for rank in range(len(right))}}
    return {str(found.measure): found.value for found in ir_measures.iter_calc(measures, gold, run)}


def compute_rog_scores(predictions: Sequence[Prediction], gold: Sequence[GoldAnswer]) -> dict[str, float]:
    """Return the scores of ranked predictions by the substring rule of published baselines; ids are ignored.

    Source: the evaluation script of RoG (Luo et al. 2024). Texts are lower-cased; ASCII punctuation, articles and extra
    white space are removed. A gold answer is matched if its text is a substring of the texts of all predictions joined
    by spaces. With m of g gold answers matched and p predictions: precision m / p, recall m / g ("accuracy" in the
    script), F1 their harmonic mean, Hit [m > 0]. One prediction may match several gold answers; values above 1 are
    clipped. Ours, not in the script: Hits@1 [a gold answer is matched in the first prediction]. Deviations: underscores
    are spaces; any name of a gold answer matches (its id if it has no name).
    """
    figures = ("rog/hits_at_1", "rog/hit", "rog/precision", "rog/recall", "rog/f1")
    if not gold or not predictions:
        return dict.fromkeys(figures, float(not gold and not predictions))
    texts = [tuple(_text(name) for name in answer.names or (answer.id or "",)) for answer in gold]

    def count_matched(some: Sequence[Prediction]) -> int:
        joined = _text(" ".join(predicted.name for predicted in some))
        return sum(any(text in joined for text in names) for names in texts)

    num_matched = count_matched(predictions)
    precision, recall = num_matched / len(predictions), num_matched / len(gold)
    values = (
        count_matched(predictions[:1]) > 0,
        num_matched > 0,
        precision,
        recall,
        compute_f1_from_precision_recall(precision, recall),
    )
    return {name: min(float(value), 1.0) for name, value in zip(figures, values, strict=True)}


def _text(name: str) -> str:
    return " ".join(_ARTICLE.sub(" ", name.replace("_", " ").lower().translate(_NO_PUNCTUATION)).split())


def compute_path_scores(paths: Sequence[RetrievedPath], question: GoldQuestion) -> dict[str, float]:
    """Return the scores of ranked paths; those of gold paths only for a question that has some.

    hits_at_1_any, hits_any@k: a gold answer is among the ends of the first path, or of the first k. hits_at_1_expected:
    the probability that a random end of the first path is right. answer_recall@k: the share of the gold answers among
    the ends of the first k paths (SubgraphRAG, Li et al. 2025). path_recall@k, gold_path_hit@k: the share of the gold
    relation paths among the first k, and whether there is one. first_path_right: the first path is a gold path, or its
    ends are exactly the gold answers.
    """
    gold = question.answers
    num_gold = len(merge_equal_gold_answers(gold))
    right = [judge_predictions(path.ends, gold) for path in paths[:1]]
    first = right[0] if right else ()

    def recall_at(k: int) -> float:
        ends = list(dict.fromkeys(end for path in paths[:k] for end in path.ends))
        return sum(judge_predictions(ends, gold)) / num_gold

    none = float(not paths)
    figures = {
        "path/hits_at_1_any": float(any(first)) if gold else none,
        "path/hits_at_1_expected": (sum(first) / len(first) if first else 0.0) if gold else none,
        **{f"path/hits_any@{k}": float(recall_at(k) > 0) if gold else none for k in NUM_PATHS},
        **{f"path/answer_recall@{k}": recall_at(k) if gold else none for k in CUTS},
    }
    if question.paths:
        wanted = {path.relations for path in question.paths}
        shares = {k: len(wanted & {path.relations for path in paths[:k]}) / len(wanted) for k in CUTS}
        exact = bool(first) and all(first) and sum(first) == num_gold
        figures["path/first_path_right"] = float(shares[1] > 0 or exact)
        figures |= {f"path/path_recall@{k}": share for k, share in shares.items()}
        figures |= {f"path/gold_path_hit@{k}": float(share > 0) for k, share in shares.items()}
    return figures


# How sure figures and confidences are. Resampling uses values only, never their order.

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
_MAX_EXACT = 16
"""Non-zero differences up to which every sign flip is enumerated."""
_ROUNDING = 1e-12
_CHUNK = 500
"""Samples that are drawn at a time, for memory."""


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """System a against b: the mean difference a − b with its interval, the p-value, and where each is better."""

    difference: float
    interval: ConfidenceInterval
    p_value: float
    num_won: int
    num_lost: int
    num_tied: int


def bootstrap_interval(values: Sequence[float], *, num_samples: int = 10_000, seed: int = 0) -> ConfidenceInterval:
    """Return the 95 % percentile bootstrap interval of the mean (Efron & Tibshirani 1993, chapter 13).

    Raises `ValueError` without a value, for a value that is not finite, or without a sample.
    """
    if num_samples < 1:
        raise ValueError(f"expected at least one sample, found {num_samples}")
    sizes, counts = np.unique(_finite(values), return_counts=True)
    generator, num_values = np.random.default_rng(seed), int(counts.sum())
    means = [
        generator.multinomial(num_values, counts / num_values, size=min(_CHUNK, num_samples - start)) @ sizes
        for start in range(0, num_samples, _CHUNK)
    ]
    low, high = np.quantile(np.concatenate(means) / num_values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return ConfidenceInterval(float(low), float(high))


def compare_paired_scores(
    a: Sequence[float], b: Sequence[float], *, num_samples: int = 10_000, seed: int = 0
) -> PairedComparison:
    """Compare two systems on the same questions with a two-sided sign-flip randomisation test.

    p = share of the sign flips of the differences whose |sum| is at least the observed one. Up to 16 non-zero
    differences all flips are enumerated; else p = (1 + such flips) / (1 + num_samples), drawn at random. Source:
    Smucker et al. 2007; the + 1 is Davison & Hinkley 1997, equation 4.11. Errors: as above.
    """
    if len(a) != len(b):
        raise ValueError(f"expected two systems on the same questions, found {len(a)} and {len(b)} values")
    differences = _finite(a) - _finite(b)
    differences[np.abs(differences) <= _ROUNDING] = 0.0
    return PairedComparison(
        difference=fsum(differences) / len(differences),
        interval=bootstrap_interval(differences.tolist(), num_samples=num_samples, seed=seed),
        p_value=_sign_flip_p(differences, num_samples, seed),
        num_won=int((differences > 0).sum()),
        num_lost=int((differences < 0).sum()),
        num_tied=int((differences == 0).sum()),
    )


def _sign_flip_p(differences: Floats, num_samples: int, seed: int) -> float:
    sizes, counts = np.unique(np.abs(differences[differences != 0]), return_counts=True)
    least = abs(fsum(differences)) - 1e-9 * float(sizes @ counts)  # sums that differ by rounding are equal
    if counts.sum() <= _MAX_EXACT:
        flipped = np.zeros(1)
        for size in np.repeat(sizes, counts):
            flipped = np.concatenate([flipped + size, flipped - size])
        return float((np.abs(flipped) >= least).mean())
    generator, num_extreme = np.random.default_rng(seed), 0
    for start in range(0, num_samples, _CHUNK):
        shape = min(_CHUNK, num_samples - start), len(counts)
        flipped = (2 * generator.binomial(counts, 0.5, size=shape) - counts) @ sizes
        num_extreme += int((np.abs(flipped) >= least).sum())
    return (1 + num_extreme) / (1 + num_samples)


def _finite(values: Sequence[float]) -> Floats:
    found = np.array(values, dtype=np.float64)
    if not found.size or not np.isfinite(found).all():
        raise ValueError(f"expected at least one value, all finite, found {len(found)}")
    return found


def expected_calibration_error(confidences: Sequence[float], right: Sequence[bool], num_bins: int = 10) -> float:
    """Return ECE = Σ over bins b of |b| / n · |share right in b − mean confidence in b|, in [0, 1].

    The bins are of equal width over [0, 1]. Source: Guo et al. 2017, equation 3. Deviation: bins are closed below, not
    above. Raises `ValueError` for no predictions, unequal lengths or a confidence outside [0, 1].
    """
    sure, hits = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if sure.shape != hits.shape or not sure.size or not ((sure >= 0) & (sure <= 1)).all():
        raise ValueError(f"expected as many confidences in [0, 1] as judgements, found {sure.shape}, {hits.shape}")
    places = np.searchsorted(np.arange(1, num_bins) / num_bins, sure, side="right")
    return float(np.abs(np.bincount(places, hits - sure)).sum() / len(sure))
