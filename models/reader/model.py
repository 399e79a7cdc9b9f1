"""Score candidates with the reader's weights: a linear model over the features of each way, the best way counts.

    z(way) = w_source · features(way) + b_source
    a(candidate, source) = max z over the source's ways to it; ABSENT where the source has none
    logit(candidate) = Σ_source v_source · a(candidate, source) + v_0, P = σ(logit)
    P(the first answer is right) = σ(slope · logit(first) + intercept)

Our own. Shipped weights know the two kinds of evidence, chains and triples, fitted on training questions of several
graphs; a reader of your own graph has weights of each source of its recipe and learns which paths questions ask for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .features import NAMES, WayColumns, way_features
from .plan import PathPlan

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ABSENT = -6.0
"""The log-odds of a candidate that a source has no way to; no way is worth less."""
SHIPPED = "weights.json"
READS = 100
"""Items of a question's evidence that are read, unless a reader learned from another number."""


@dataclass(frozen=True, slots=True, eq=False)
class SourceWeights:
    """w (len(NAMES),), b, and v: of one source. calibration: slope and intercept of answers from it alone."""

    weights: Floats
    bias: float
    share: float = 1.0
    calibration: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ReaderScores:
    """What the reader says of a batch: logits (num_candidates,); of each source the features of its ways, and the best
    way to each candidate, −1 where there is none."""

    logits: Floats
    features: tuple[Floats, ...]
    best_way: tuple[Ints, ...]

    @property
    def probabilities(self) -> Floats:
        """P of each candidate."""
        return sigmoid(self.logits)


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """Weights of sources by name or by kind, v_0, the calibration of answers, and the plan of paths, if learned."""

    sources: Mapping[str, SourceWeights]
    bias: float = 0.0
    calibration: tuple[float, float] = (1.0, 0.0)
    plan: PathPlan | None = None
    trained: bool = field(default=False)

    def of(self, name: str, kind: str) -> SourceWeights:
        """Return the weights of a source: its own, else those of its kind; raise `LookupError` where it has neither."""
        found = self.sources.get(name) or self.sources.get(kind)
        if found is None:
            raise LookupError(f"it has weights of {', '.join(self.sources)}, and none of {name} ({kind})")
        return found

    def read(self, sources: Sequence[tuple[str, str, WayColumns]]) -> ReaderScores:
        """Return what the weights say of candidates. sources: name, kind and columns of each.

        Shipped weights of several sources count alike; a reader of your own says how much each counts, and a source
        that found nothing for a whole batch is one without a way. Raises `LookupError` for a source it does not know.
        """
        features = tuple(way_features(ways) for _, _, ways in sources)
        scores, best = [], []
        for (name, kind, ways), x in zip(sources, features, strict=True):
            mine = self.of(name, kind)
            each, which = best_ways(x @ mine.weights + mine.bias, ways.candidate, ways.num_candidates)
            scores.append(each * (mine.share if self.trained else 1 / len(sources)))
            best.append(which)
        logits = np.sum(scores, axis=0) + self.bias if scores else np.zeros(0)
        if self.trained:
            seen = {name if name in self.sources else kind for name, kind, _ in sources}
            logits = logits + sum(ABSENT * each.share for name, each in self.sources.items() if name not in seen)
        return ReaderScores(logits, features, tuple(best))

    def confidence(self, logits: Floats, sources: Sequence[tuple[str, str]] = ()) -> Floats:
        """Return the probability that an answer is right whose first entity has this logit.

        sources: names and kinds of what it is from; of shipped weights each has a calibration of its own, and several
        count alike.
        """
        own = [self.of(*each).calibration for each in sources]
        lines = [line for line in own if line is not None] or [self.calibration]
        slope, intercept = np.mean(lines, axis=0)
        return sigmoid(slope * logits + intercept)

    def as_json(self) -> dict[str, Any]:
        """Return the weights as plain data, without the plan."""
        return {
            "features": NAMES,
            "sources": {
                name: {
                    "weights": each.weights.round(5).tolist(),
                    "bias": round(each.bias, 5),
                    "share": each.share,
                    "calibration": list(each.calibration or self.calibration),
                }
                for name, each in self.sources.items()
            },
            "bias": self.bias,
            "calibration": list(self.calibration),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Reader:
        """Return the reader of plain data; raise `ValueError` where it was made with other features."""
        if list(data["features"]) != NAMES:
            raise ValueError("the reader's weights are of other features than those that are computed here")
        sources = {
            name: SourceWeights(
                np.array(each["weights"], dtype=np.float64),
                float(each["bias"]),
                float(each["share"]),
                (float(each["calibration"][0]), float(each["calibration"][1])),
            )
            for name, each in data["sources"].items()
        }
        if any(each.weights.shape != (len(NAMES),) for each in sources.values()):
            raise ValueError(f"expected {len(NAMES)} weights of each source of the reader")
        slope, intercept = map(float, data["calibration"])
        return cls(sources, float(data["bias"]), (slope, intercept))


def shipped_reader() -> Reader:
    """Return the reader whose weights come with Lodestar."""
    text = Path(__file__).with_name(SHIPPED).read_text(encoding="utf-8")
    return Reader.from_json(json.loads(text))


def add_plan(
    sources: Sequence[tuple[str, str, WayColumns]], plan: PathPlan | None, vectors: npt.NDArray[np.floating[Any]]
) -> list[tuple[str, str, WayColumns]]:
    """Return the columns with what a plan says of each chain. vectors: (num_questions, dimension)."""
    if plan is None:
        return list(sources)
    return [(name, kind, replace(ways, plan=plan.score(vectors, ways))) for name, kind, ways in sources]


def best_ways(scores: Floats, candidate: Ints, num_candidates: int) -> tuple[Floats, Ints]:
    """Return the highest score of the ways to each candidate, at least `ABSENT`, and which way that is, −1 for none."""
    found = np.full(num_candidates, ABSENT)
    np.maximum.at(found, candidate, scores)
    order = np.lexsort((np.arange(len(scores)), -scores, candidate))
    firsts = order[np.unique(candidate[order], return_index=True)[1]] if len(order) else order
    which = np.full(num_candidates, -1, dtype=np.int64)
    which[candidate[firsts]] = firsts
    return found, which


def sigmoid(z: Floats) -> Floats:
    """Return 1 / (1 + e^−z)."""
    found: Floats = 1 / (1 + np.exp(-np.clip(z, -500, 500)))
    return found
