"""Which predictions are right: by ids where both sides have one, else by names; a gold answer is for one prediction."""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from ....models.words import ARTICLES, fold_spelling
from ...questions.gold import GoldAnswer

_NO_DECIMAL_POINT = re.compile(r"(?<!\d)\.|\.(?!\d)")
_NO_MINUS_SIGN = re.compile(r"(?<=\S)-|-(?!\d)")


@dataclass(frozen=True, slots=True)
class Predicted:
    """One prediction: the name it goes by and, where the system knows it, the entity's id.

    Of one question the predictions of one id go by one name; the first one's counts where they do not.
    """

    name: str
    id: str | None = None


def normalised_answer(text: str) -> str:
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
        key = answer.id or frozenset(map(normalised_answer, answer.names))
        names.setdefault(key, {}).update(dict.fromkeys(answer.names))
    return tuple(GoldAnswer(key if isinstance(key, str) else None, tuple(known)) for key, known in names.items())


def matched(predictions: Sequence[Predicted], gold: Sequence[GoldAnswer]) -> tuple[bool, ...]:
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
        for name in {normalised_answer(name) for name in answer.names}:
            by_name.setdefault(name, []).append(index)
    given: set[tuple[bool, str]] = set()
    candidates: list[list[int]] = []
    for predicted in predictions:
        name = normalised_answer(predicted.name)
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
