"""Pairs of a question and the relations that answer it, from sets over other graphs: more words for what people ask."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from ...verbalise import Directed, RelationWords, verbalise_hop


@dataclass(frozen=True, slots=True)
class RelationPair:
    """A question without the mentions of its topics, and the relations that lead to its answers, by number."""

    text: str
    relations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RelationPairs:
    """Pairs over one list of relations, whose words they share. `name` and `sha256` are of what they were read from."""

    name: str
    sha256: str
    relations: tuple[RelationWords, ...]
    pairs: tuple[RelationPair, ...]


@dataclass(frozen=True, slots=True)
class PairSample:
    """Some pairs with some relations to tell apart: the questions' texts; the relations' words, forwards and inverse;
    right, for each question the rows of its relations."""

    texts: tuple[str, ...]
    forwards: tuple[str, ...]
    inverse: tuple[str, ...]
    right: tuple[tuple[int, ...], ...]


def sampled(pairs: RelationPairs, num_pairs: int, num_others: int, chance: random.Random) -> PairSample:
    """Return `num_pairs` of the pairs, with their relations and up to `num_others` more to be told from them."""
    chosen = chance.sample(pairs.pairs, min(num_pairs, len(pairs.pairs)))
    others = chance.sample(range(len(pairs.relations)), min(num_others, len(pairs.relations)))
    numbers = list(dict.fromkeys([number for pair in chosen for number in pair.relations] + others))
    row = {number: at for at, number in enumerate(numbers)}
    words = [pairs.relations[number] for number in numbers]
    return PairSample(
        tuple(pair.text for pair in chosen),
        _verbalised(words, inverse=False),
        _verbalised(words, inverse=True),
        tuple(tuple(row[number] for number in pair.relations) for pair in chosen),
    )


def _verbalised(words: Sequence[RelationWords], *, inverse: bool) -> tuple[str, ...]:
    return tuple(verbalise_hop((Directed(each, inverse),)) for each in words)
