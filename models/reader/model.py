"""Score candidates with the reader's weights: a linear model over the features of each way, the best way counts.

    z(way) = w_source · features(way) + b_source
    a(candidate, source) = max z over the source's ways to it; ABSENT where the source has none
    logit(candidate) = Σ_source v_source · a(candidate, source) + v_0, P = σ(logit)
    P(the first answer is right) = σ(c · ANSWER_FEATURES + c_0)

Our own. Shipped weights know the two kinds of evidence, chains and triples, fitted on training questions of several
graphs; a reader of your own graph has weights of each source of its recipe and learns which paths questions ask for.
What a language model's names are worth to a reader that did not learn it is `NAME_WEIGHTS`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .features import NAMES, SPAN, SourceChainColumns, way_features
from .plan import PathPlan

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ANSWER_FEATURES = ("logit", "lead", "two", "three", "ends")
"""What the confidence of an answer is computed from: the logit of its first candidate; how far that is ahead of the
best candidate whose best way has another chain; and features of the best way to it, the mean over sources."""
_OF_THE_WAY = [NAMES.index(name) for name in ANSWER_FEATURES[2:]]
_CHAIN = NAMES.index("chain")

ABSENT = -6.0
"""The log-odds of a candidate that a source has no way to; no way is worth less."""
SHIPPED = "weights.json"
READS = 100
"""Items of a question's evidence that are read, unless a reader learned from another number."""


@dataclass(frozen=True, slots=True, eq=False)
class SourceWeights:
    """w (len(NAMES),), b, and v: of one source. calibration: of answers from it alone, see `Reader`."""

    weights: Floats
    bias: float
    share: float = 1.0
    calibration: Floats | None = None


@dataclass(frozen=True, slots=True)
class NameWeights:
    """What a language model's reply adds to the log-odds of a question's candidates: of those that it names, and of the
    others. A reply that names none of them says nothing."""

    named: float
    unnamed: float

    def score(self, is_named: npt.NDArray[np.bool_], question: Ints) -> Floats:
        """Return what is added to each candidate. is_named, question: (num_candidates,)."""
        speaks = np.bincount(question, weights=is_named) > 0
        return np.where(speaks[question], np.where(is_named, self.named, self.unnamed), 0.0)


NAME_WEIGHTS: Mapping[str, NameWeights] = {"llm": NameWeights(1.0, 0.0), "closed-book": NameWeights(3.0, -1.0)}
"""By the source of the names (`engine.answering.integrating`): a model that reads the evidence mostly repeats it.

Chosen on training questions of two graphs (docs/reading.md)."""


@dataclass(frozen=True, slots=True, eq=False)
class ReaderScores:
    """What the reader says of a batch: logits (num_candidates,); of each source the features of its ways, the best way
    to each candidate, and the chain of that way, −1 where there is none."""

    logits: Floats
    features: tuple[Floats, ...]
    best_way: tuple[Ints, ...]
    best_chain: tuple[Ints, ...]

    @property
    def probabilities(self) -> Floats:
        """P of each candidate."""
        return sigmoid(self.logits)


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """Weights of sources by name or by kind, v_0, the calibration of answers, and the plan of paths, if learned.

    calibration: (len(ANSWER_FEATURES) + 1,), c and c_0.
    """

    sources: Mapping[str, SourceWeights]
    bias: float = 0.0
    calibration: Floats = field(default_factory=lambda: np.eye(1, len(ANSWER_FEATURES) + 1)[0])
    plan: PathPlan | None = None
    trained: bool = field(default=False)

    def of(self, name: str, kind: str) -> SourceWeights:
        """Return the weights of a source: its own, else those of its kind; raise `LookupError` where it has neither."""
        found = self.sources.get(name) or self.sources.get(kind)
        if found is None:
            raise LookupError(f"it has weights of {', '.join(self.sources)}, and none of {name} ({kind})")
        return found

    def names_of(self, source: str) -> NameWeights | None:
        """Return what names of a language model are worth that this reader did not learn, None for any other source."""
        return None if source in self.sources else NAME_WEIGHTS.get(source)

    def read(self, sources: Sequence[tuple[str, str, SourceChainColumns]]) -> ReaderScores:
        """Return what the weights say of candidates. sources: name, kind and columns of each.

        Shipped weights of several sources count alike; a reader of your own says how much each counts, and a source
        that found nothing for a whole batch is one without a way. Raises `LookupError` for a source it does not know.
        """
        features = tuple(way_features(ways) for _, _, ways in sources)
        num_weighed = sum(self.names_of(name) is None for name, _, _ in sources)
        logits = np.full(sources[0][2].num_candidates if sources else 0, self.bias)
        best, chains = [], []
        for (name, kind, ways), x in zip(sources, features, strict=True):
            if (names := self.names_of(name)) is None:
                mine = self.of(name, kind)
                each, which = best_ways(x @ mine.weights + mine.bias, ways.candidate, ways.num_candidates)
                logits += each * (mine.share if self.trained else 1 / num_weighed)
            else:
                _, which = best_ways(x[:, _CHAIN], ways.candidate, ways.num_candidates)
                logits += names.score(which >= 0, _find_questions(sources))
            best.append(which)
            chains.append(np.append(ways.chain, -1)[which])
        if self.trained:
            seen = {name if name in self.sources else kind for name, kind, _ in sources if self.names_of(name) is None}
            logits += sum(ABSENT * each.share for name, each in self.sources.items() if name not in seen)
        return ReaderScores(logits, features, tuple(best), tuple(chains))

    def confidence(self, features: Floats, sources: Sequence[tuple[str, str]] = ()) -> float:
        """Return the probability that the first entity of an answer is right. features: see `answer_features`.

        sources: names and kinds of what it is from; of shipped weights each has a calibration of its own, and several
        count alike.
        """
        own = [self.of(*each).calibration for each in sources if self.names_of(each[0]) is None]
        line = np.mean([each for each in own if each is not None] or [self.calibration], axis=0)
        return float(sigmoid(features @ line[:-1] + line[-1]))

    def as_json(self) -> dict[str, Any]:
        """Return the weights as plain data, without the plan."""
        return {
            "features": NAMES,
            "sources": {
                name: {
                    "weights": each.weights.round(5).tolist(),
                    "bias": round(each.bias, 5),
                    "share": each.share,
                    "calibration": (self.calibration if each.calibration is None else each.calibration).tolist(),
                }
                for name, each in self.sources.items()
            },
            "bias": self.bias,
            "calibration": self.calibration.tolist(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Reader:
        """Return the reader of plain data; raise `ValueError` where it was made with other features."""
        if list(data["features"]) != NAMES:
            raise ValueError("the reader's weights are of other features than those that are computed here")
        sources = {
            name: SourceWeights(
                np.array(each["weights"]),
                float(each["bias"]),
                float(each["share"]),
                np.array(each["calibration"]),
            )
            for name, each in data["sources"].items()
        }
        if any(each.weights.shape != (len(NAMES),) for each in sources.values()):
            raise ValueError(f"expected {len(NAMES)} weights of each source of the reader")
        return cls(sources, float(data["bias"]), np.array(data["calibration"]))


def shipped_reader() -> Reader:
    """Return the reader whose weights come with Lodestar."""
    text = Path(__file__).with_name(SHIPPED).read_text(encoding="utf-8")
    return Reader.from_json(json.loads(text))


def add_plan_scores(
    sources: Sequence[tuple[str, str, SourceChainColumns]],
    plan: PathPlan,
    vectors: npt.NDArray[np.floating[Any]],
) -> list[tuple[str, str, SourceChainColumns]]:
    """Return the columns with what a plan says of each chain. vectors: (num_questions, dimension)."""
    return [(name, kind, replace(ways, plan=plan.score(vectors, ways))) for name, kind, ways in sources]


def answer_features(read: ReaderScores, order: Ints) -> Floats:
    """Return `ANSWER_FEATURES` of the answer to a question. order: (n,), its candidates, the likeliest first."""
    first = int(order[0])
    with_way = [place for place, best in enumerate(read.best_way) if best[first] >= 0]
    beside = np.zeros(len(order), dtype=np.bool_)
    for place in with_way:
        beside |= read.best_chain[place][order] == read.best_chain[place][first]
    logit = float(read.logits[first])
    lead = min(logit - float(read.logits[order[~beside]].max(initial=-SPAN)), SPAN)
    ways = [read.features[place][read.best_way[place][first], _OF_THE_WAY] for place in with_way]
    return np.array([logit, lead, *(np.mean(ways, axis=0) if ways else np.zeros(len(_OF_THE_WAY)))])


def _find_questions(sources: Sequence[tuple[str, str, SourceChainColumns]]) -> Ints:
    """Return the question of each candidate, (num_candidates,)."""
    found = np.zeros(sources[0][2].num_candidates, dtype=np.int64)
    for _, _, ways in sources:
        found[ways.candidate] = ways.question[ways.chain]
    return found


def best_ways(scores: Floats, candidate: Ints, num_candidates: int) -> tuple[Floats, Ints]:
    """Return the highest score of the ways to each candidate, at least `ABSENT`, and which way that is, −1 for none."""
    found = np.full(num_candidates, ABSENT)
    np.maximum.at(found, candidate, scores)
    order = np.lexsort((np.arange(len(scores)), -scores, candidate))
    firsts = order[np.unique(candidate[order], return_index=True)[1]] if len(order) else order
    which = np.full(num_candidates, -1)
    which[candidate[firsts]] = firsts
    return found, which


def sigmoid(z: Floats) -> Floats:
    """Return 1 / (1 + e^−z)."""
    found: Floats = 1 / (1 + np.exp(-np.clip(z, -500, None)))
    return found
