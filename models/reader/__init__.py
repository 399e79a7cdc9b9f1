"""Score candidates with the reader's weights: a linear model over the features of each way, the best way counts.

    z(way) = w_source · features(way) + b_source
    a(candidate, source) = max z over the source's ways to it; ABSENT where the source has none
    logit(candidate) = Σ_source v_source · a(candidate, source) + v_0, P = σ(logit)
    P(the first answer is right) = σ(c · logit + c_0)

Our own. Shipped weights know the two kinds of evidence, chains and triples, fitted on training questions of several
graphs; a reader of your own graph has weights of each source of its recipe and learns which paths questions ask for.

Features
--------
A *way* leads to one candidate along one chain; z are log-odds within ± 12:

    two, three     1 where the chain has two hops; three or more
    behind         z(c) − max z over the question's chains, z of triples that of the chain's weakest step (each step
                   worth its best triple): 0 of the first one
    last           z of the last triple that leads to the candidate: ends of one relation differ; of chains z(c)
    stops          1 where nothing leads on from the candidate
    ends           ln(1 + ends of the chain)
    ways           ln(ways of this source to the candidate)
    similarity_behind  S − max S over the question's chains, S the similarity of the relation path and the question
                   (`models.path_similarity`, its composed cosine)
    plan           ln P(relation path | question) among the question's chains, of a reader that learned it; else 0
    met            share of the question's topics with a chain to the candidate − 1 / topics

Plan of paths
-------------
Which relation paths a question asks for: a bilinear score of question and path, for any number of hops.

    logit(path | q) = q · L · v_last + Σ_k q · S · v_k + q · l_length
    v of a hop = [u, d · u], u the unit vector of its words, d = −1 where its first step goes against the relation

q is the unit vector of the question without its topics. P is the softmax over the paths that a source has for the
question. Fitted by Adam on the likelihood of the paths whose ends agree best with the right answers. Our own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field, FiniteFloat
from pydantic.dataclasses import dataclass as pydantic_dataclass

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

NAMES: Sequence[str] = "two three behind last stops ends ways similarity_behind plan met".split()

SPAN = 8.0
"""What differences of log-odds are cut at."""


@dataclass(frozen=True, slots=True, eq=False)
class SourceChainColumns:
    """One source of a batch. question, topic, hops, score, num_ends, similarity: (num_chains,).

    path: (num_chains, most hops), the hops of each as rows of `hop_vectors`, then −1. hop_vectors: v of each hop, see
    above, and a last row of zeros.
    plan: (num_chains,), logits of the paths, or nothing. candidate, chain, last, stops: (num_ways,), by candidate.
    num_topics: (num_questions,). num_candidates: of the batch.
    """

    question: Ints
    topic: Ints
    hops: Ints
    score: Floats
    num_ends: Ints
    candidate: Ints
    chain: Ints
    last: Floats
    stops: Ints
    num_topics: Ints
    num_candidates: int
    similarity: Floats = field(default_factory=lambda: np.zeros(0))
    path: Ints = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    hop_vectors: npt.NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    plan: Floats = field(default_factory=lambda: np.zeros(0))


NamedColumns = tuple[str, str, SourceChainColumns]
"""Name and kind of a source, and its columns."""


def compute_way_features(ways: SourceChainColumns) -> Floats:
    """Return the features of each way, (num_ways, len(NAMES)), see above."""
    chain, question = ways.chain, ways.question
    best, similar = (_largest(each, question, len(ways.num_topics)) for each in (ways.score, ways.similarity))
    columns = (
        ways.hops[chain] == 2,
        ways.hops[chain] >= 3,
        np.maximum(ways.score - best[question], -SPAN)[chain],
        ways.last,
        ways.stops,
        np.log1p(ways.num_ends[chain]),
        np.log(np.bincount(ways.candidate)[ways.candidate]),
        (ways.similarity - similar[question])[chain],
        _plan(ways),
        _met(ways),
    )
    return np.stack([np.asarray(each, dtype=np.float64) for each in columns], axis=1)


def _plan(ways: SourceChainColumns) -> Floats:
    if not len(ways.plan):
        return np.zeros(len(ways.chain))
    behind = ways.plan - _largest(ways.plan, ways.question, len(ways.num_topics))[ways.question]
    log = behind - np.log(np.bincount(ways.question, weights=np.exp(behind))[ways.question])
    return np.maximum(log, -SPAN)[ways.chain]


def _met(ways: SourceChainColumns) -> Floats:
    most = int(ways.topic.max(initial=0)) + 1
    topics = np.bincount(np.unique(ways.candidate * most + ways.topic[ways.chain]) // most)
    return (topics[ways.candidate] - 1) / np.maximum(ways.num_topics, 1)[ways.question[ways.chain]]


def _largest(values: Floats, groups: Ints, num_groups: int) -> Floats:
    found = np.full(num_groups, -np.inf)
    np.maximum.at(found, groups, values)
    return found


MAX_HOPS = 4
"""Longer paths count as of so many hops in a plan."""


class PathPlanWeights(NamedTuple):
    """L and S, (dimension, 2 · dimension), and l, (dimension, MAX_HOPS + 1): arrays, in training tensors."""

    last: Any
    steps: Any
    length: Any

    def compute_logits(self, vectors: Any, hop_vectors: Any, question: Ints, path: Ints) -> Any:
        """Return the logit of each path, (num_paths,); vectors: (num_questions, dimension)."""
        num_hops = np.minimum((path >= 0).sum(axis=1), MAX_HOPS)
        end = path[np.arange(len(path)), np.maximum(num_hops - 1, 0)]
        of_last, of_steps = (vectors @ each @ hop_vectors.T for each in (self.last, self.steps))
        of_length = (vectors @ self.length)[question, num_hops]
        return of_length + of_last[question, end] + of_steps[question[:, None], path].sum(axis=1)

    def score(self, vectors: npt.NDArray[np.floating[Any]], ways: SourceChainColumns) -> Floats:
        """Return the logit of each chain's path, (num_chains,), the same alone and in a batch."""
        exact = PathPlanWeights(*(each.astype(np.float64) for each in self))
        found: Floats = exact.compute_logits(vectors, ways.hop_vectors, ways.question, ways.path)
        return found.round(5)


ABSENT = -6.0
"""The log-odds of a candidate that a source has no way to; no way is worth less."""
READS = 100
"""Items of a question's evidence that are read, unless a reader learned from another number."""


@pydantic_dataclass(frozen=True, slots=True)
class SourceWeights:
    """w, one of each of `NAMES`, b, and v: of one source."""

    weights: Annotated[tuple[FiniteFloat, ...], Field(min_length=len(NAMES), max_length=len(NAMES))]
    bias: FiniteFloat
    share: FiniteFloat = 1.0


NAMED_BY_MODELS = ("llm", "closed-book")
"""Sources of a language model's names (`engine.answering.integrating`), which only a reader of your own knows."""


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """Weights of sources by name or by kind, v_0, c and c_0, and the plan of paths. trained: not what is shipped."""

    sources: Mapping[str, SourceWeights]
    bias: float = 0.0
    calibration: tuple[float, float] = (1.0, 0.0)
    plan: PathPlanWeights | None = None
    trained: bool = False

    def of(self, name: str, kind: str) -> SourceWeights:
        """Return the weights of a source: its own, else those of its kind; raise `LookupError` where it has neither."""
        found = self.sources.get(name) or (None if name in NAMED_BY_MODELS else self.sources.get(kind))
        if found is None:
            raise LookupError(f"it has weights of {', '.join(self.sources)}, and none of {name} ({kind})")
        return found

    def read(self, sources: Sequence[NamedColumns], vectors: npt.NDArray[np.float32]) -> Floats:
        """Return the logits of candidates, (num_candidates,). vectors: of the questions, (num_questions, dimension).

        Shipped weights of several sources count alike; a reader of your own says how much each counts, and a source
        that found nothing for a whole batch is one without a way. Raises `LookupError` for a source it does not know.
        """
        logits = np.full(sources[0][2].num_candidates if sources else 0, self.bias)
        for name, kind, columns in sources:
            mine = self.of(name, kind)
            ways = replace(columns, plan=self.plan.score(vectors, columns)) if self.plan else columns
            scores = compute_way_features(ways) @ np.array(mine.weights) + mine.bias
            best, _ = find_best_ways(scores, ways.candidate, ways.num_candidates)
            logits += best * (mine.share if self.trained else 1 / len(sources))
        if self.trained:
            seen = {name if name in self.sources else kind for name, kind, _ in sources}
            logits += sum(ABSENT * each.share for name, each in self.sources.items() if name not in seen)
        return logits


def load_shipped_reader() -> Reader:
    data = json.loads(Path(__file__).with_name("weights.json").read_text(encoding="utf-8"))
    sources = {name: SourceWeights(**each) for name, each in data["sources"].items()}
    return Reader(sources, calibration=tuple(data["calibration"]))


def find_best_ways(scores: Floats, candidate: Ints, num_candidates: int) -> tuple[Floats, Ints]:
    """Return the highest score of the ways to each candidate, at least `ABSENT`, and which way that is, −1 for none."""
    found, which = np.full(num_candidates, ABSENT), np.full(num_candidates, -1)
    order = np.lexsort((-scores, candidate))
    reached, firsts = np.unique(candidate[order], return_index=True)
    which[reached] = order[firsts]
    found[reached] = np.maximum(scores[order[firsts]], ABSENT)
    return found, which


LEAST = 0.005
"""Candidates that are less likely are no answers, and not counted among what may be missing: their number is an
accident of retrieval."""


def choose_answer_count(probabilities: Floats) -> int:
    """Return how many of the candidates, whose probabilities fall, are the answer; 0 where there is none.

    The number k with the highest 2 · Σ_{i ≤ k} p_i / (k + Σ_i p_i), F1 of expected counts.
    """
    likely = probabilities[probabilities >= LEAST]
    if len(likely) < 2:
        return min(len(probabilities), 1)
    counts = np.arange(1, len(likely) + 1)
    return int(np.argmax(2 * np.cumsum(likely) / (counts + likely.sum()))) + 1
