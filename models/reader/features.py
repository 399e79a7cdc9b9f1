"""Compute the features by which the reader tells right candidates from wrong ones: formulas over columns.

All are our own. A *way* leads to one candidate along one chain; z are log-odds within ± 12:

    two, three     1 where the chain has two hops; three or more
    loose          1 where no chain reaches the candidate, only a triple names it
    chain          z(c): of the chain, of triples that of its weakest step (each step worth its best triple)
    behind         z(c) − max z over the question's chains: 0 of the first one
    rank           −ln(1 + place of the chain among the question's chains by z)
    steady         mean z of the chain's steps − z(c)
    last           z of the last triple that leads to the candidate: ends of one relation differ
    last_behind    last − max last over the chain's ends
    way            z of the weakest triple on the best way to the candidate − z(c)
    on             z of the best triple that leads on from the candidate − last; 0 where none does
    on_first       the same where the chain has one hop, else 0
    stops          1 where nothing leads on
    ends           ln(1 + ends of the chain)
    ways           ln(ways of this source to the candidate)
    similarity     S of the relation path and the question (`models.similarity`, its composed cosine)
    similarity_behind  S − max S over the question's chains
    kind           cosine of what is asked for and what the last hop reaches
    kind_behind    kind − max kind over the question's chains
    plan           ln P(relation path | question) among the question's chains, of a reader that learned it; else 0
    plan_behind    the same − its max over the question's chains
    met            share of the question's topics with a chain to the candidate − 1 / topics
    one            ends where the question asks for one thing, else 0
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

NAMES: Sequence[str] = (
    "two three loose chain behind rank steady last last_behind way on on_first stops ends ways similarity "
    "similarity_behind kind kind_behind plan plan_behind met one"
).split()

LIMIT = 12.0
SPAN = 8.0
"""What differences of log-odds are cut at."""
_ONE = re.compile(
    r"\b(which one|the (first|last|only|largest|biggest|smallest|oldest|youngest|highest|current))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, eq=False)
class SourceChainColumns:
    """One source of a batch. question, topic, hops, score, mean, num_ends, similarity, kind: (num_chains,).

    path: (num_chains, most hops), the hops of each as rows of `hop_vectors`, then −1. hop_vectors: see `plan`.
    plan: (num_chains,), logits of the paths, or nothing. candidate, chain, last, way, on: (num_ways,), sorted by
    candidate. num_topics, wants_one: (num_questions,). num_candidates: of the batch.
    """

    question: Ints
    topic: Ints
    hops: Ints
    score: Floats
    mean: Floats
    num_ends: Ints
    similarity: Floats
    kind: Floats
    candidate: Ints
    chain: Ints
    last: Floats
    way: Floats
    on: Floats
    path: Ints
    hop_vectors: npt.NDArray[np.float32]
    plan: Floats
    num_topics: Ints
    wants_one: npt.NDArray[np.bool_]
    num_candidates: int


def asks_for_one(question: str) -> bool:
    """Return whether a question asks for one thing by its words: "who is the", "the first", "what is the capital"."""
    return bool(_ONE.search(question))


def way_features(ways: SourceChainColumns) -> Floats:
    """Return the features of each way, (num_ways, len(NAMES)), see above."""
    chain, question = ways.chain, ways.question
    num_questions = len(ways.num_topics)
    best = _largest(ways.score, question, num_questions)
    of = question[chain]
    score, hops = ways.score[chain], ways.hops[chain]
    best_last = _largest(ways.last, chain, len(question))
    leads_on = ways.on > -LIMIT
    on = np.where(leads_on, np.clip(ways.on - ways.last, -SPAN, SPAN), 0.0)
    similar, kind = (_largest(each, question, num_questions) for each in (ways.similarity, ways.kind))
    ends = np.log1p(ways.num_ends[chain])
    columns = (
        hops == 2,
        hops >= 3,
        hops < 0,
        score,
        np.maximum(score - best[of], -SPAN),
        -np.log1p(_ranks(question, ways.score)[chain]),
        np.minimum(ways.mean[chain] - score, SPAN),
        ways.last,
        np.maximum(ways.last - best_last[chain], -SPAN),
        np.clip(ways.way - score, -SPAN, SPAN),
        on,
        on * (hops == 1),
        ~leads_on,
        ends,
        np.log(np.bincount(ways.candidate)[ways.candidate]),
        ways.similarity[chain],
        ways.similarity[chain] - similar[of],
        ways.kind[chain],
        ways.kind[chain] - kind[of],
        *_plan(ways),
        _met(ways),
        ends * ways.wants_one[of],
    )
    return np.stack([np.asarray(each, dtype=np.float64) for each in columns], axis=1)


def _plan(ways: SourceChainColumns) -> tuple[Floats, Floats]:
    if not len(ways.plan):
        return np.zeros(len(ways.chain)), np.zeros(len(ways.chain))
    best = _largest(ways.plan, ways.question, len(ways.num_topics))
    behind = ways.plan - best[ways.question]
    total = np.bincount(ways.question, weights=np.exp(behind))
    log = behind - np.log(total[ways.question])
    return np.maximum(log, -SPAN)[ways.chain], np.maximum(behind, -SPAN)[ways.chain]


def _met(ways: SourceChainColumns) -> Floats:
    most = int(ways.topic.max(initial=0)) + 1
    pairs = np.unique(ways.candidate * most + ways.topic[ways.chain])
    topics = np.bincount(pairs // most)
    num = np.maximum(ways.num_topics, 1)[ways.question[ways.chain]]
    return (topics[ways.candidate] - 1) / num


def _ranks(groups: Ints, values: Floats) -> Ints:
    """Return the place of each value in its group, the largest first; equal ones share the better place."""
    order = np.lexsort((-values, groups))
    starts = np.searchsorted(groups[order], groups[order])
    places = np.arange(len(values)) - starts
    same = np.zeros(len(values), dtype=np.bool_)
    same[1:] = (values[order][1:] == values[order][:-1]) & (groups[order][1:] == groups[order][:-1])
    places = np.maximum.accumulate(np.where(same, 0, np.arange(len(values)))) - starts
    ranks = np.zeros(len(values), dtype=np.int64)
    ranks[order] = places
    return ranks


def _largest(values: Floats, groups: Ints, num_groups: int) -> Floats:
    found = np.full(num_groups, -np.inf)
    np.maximum.at(found, groups, values)
    return found
